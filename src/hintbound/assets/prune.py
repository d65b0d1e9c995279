"""Frees disk: removes entries of the cache that nobody uses any more.

In use means either of two things. A process that was given an entry's paths holds a shared lock on it until
it ends; a program may still run from it when its hintbound is gone, which the process table tells.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from hintbound.assets import cache, disk, locks, pins
from hintbound.assets.manifest import Made
from hintbound.assets.resolve import key


@dataclass(frozen=True, slots=True)
class Pruned:
    """What became of one entry: bytes freed, or why it was kept."""

    path: Path
    freed: int = 0
    kept: str = ""


def prune(*, everything: bool = False, keep: Collection[str] = ()) -> Iterator[Pruned]:
    """Remove what no pin wants any more, and all but the newest build of each checkout.

    With `keep`, Kubernetes versions that are not among them go too; `everything` spares only what is in use.
    Yields each entry that was removed, or that should have been but is in use. Raises CannotStart.
    """
    wanted = set() if everything else _wanted(keep)
    running = _running()
    with disk.touching(cache.root(), deed="removed"):
        cache.sweep()
        for entry in list(cache.entries()):
            if entry.path.name not in wanted:
                yield _remove(entry.path, running)
        own_go = cache.root() / ".go"
        if own_go.is_dir() and (everything or not keep):
            yield _remove(own_go, running)


def _wanted(keep: Collection[str]) -> set[str]:
    """Names of the entries that stay."""
    names = set()
    for pin in pins.everything():
        if not keep or pin.name not in pins.PER_VERSION or pin.version in keep:
            names.add(key(pin).folder)
    if keep:
        return names
    newest: dict[str, tuple[str, str]] = {}
    for entry in cache.entries():
        made = entry.manifest.made if entry.manifest else Made("", "")
        if entry.manifest and made.checkout and Path(made.checkout).is_dir():
            newest[made.checkout] = max(
                newest.get(made.checkout, ("", "")), (entry.manifest.time, entry.path.name)
            )
    return names | {name for _, name in newest.values()}


def _running() -> set[Path]:
    """The programs of all processes that may be seen."""
    found = set()
    for process in psutil.process_iter(["exe"]):
        if process.info["exe"]:
            found.add(Path(process.info["exe"]))
    return found


def _remove(path: Path, running: set[Path]) -> Pruned:
    busy = next((program for program in running if program.is_relative_to(path.resolve())), None)
    if busy is not None:
        return Pruned(path, kept=f"{busy.name} runs from it")
    (cache.root() / ".locks").mkdir(exist_ok=True)
    held = []
    try:
        for lock in (cache.make_lock(path), cache.use_lock(path)):
            descriptor = locks.attempt(lock)
            if descriptor is None:
                return Pruned(path, kept="another hintbound is using it")
            held.append(descriptor)
        freed = _size(path)
        cache.remove(path)
        return Pruned(path, freed=freed)
    finally:
        for descriptor in held:
            os.close(descriptor)


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.lstat().st_size
    return sum(
        os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(path) for name in names
    )
