"""Where programs are kept once they were got: whole entries only, each with a manifest that proves it.

An entry is made in a temporary folder and renamed into place: what has its final name is complete.
Reading a good entry takes no lock that could block and writes nothing: a read-only cache works.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from hintbound.assets import disk, locks, machine
from hintbound.assets.manifest import Made, Manifest
from hintbound.assets.progress import Show
from hintbound.errors import CannotStart

_in_use: dict[Path, int | None] = {}
"""Locks that this process holds until it ends: on the entries whose paths it was given."""


def root() -> Path:
    """The folder of all entries: in HINTBOUND_CACHE, else in the user's cache folder."""
    chosen = os.environ.get("HINTBOUND_CACHE")
    base = Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("hintbound"))
    return base / "assets"


@dataclass(frozen=True, slots=True)
class Key:
    """What an entry is of. `build` is a digest of all that decides its content."""

    name: str
    version: str
    build: str
    title: str

    @property
    def folder(self) -> str:
        """The entry's name in the cache."""
        parts = (self.name, self.version, *machine.os_arch(), self.build[:12])
        return re.sub(r"[^\w.+-]", "_", "-".join(parts))


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder of the cache. Its manifest is None when it cannot be believed."""

    path: Path
    manifest: Manifest | None
    problem: str = ""

    def file(self, name: str) -> Path:
        """One of its files."""
        return self.path / name


def obtain(key: Key, make: Callable[[Path], Made], show: Show) -> Entry:
    """The entry of `key`, made by `make(folder)` when it is missing or corrupt.

    Two runs make it once: the second waits. The entry stays safe from `prune` until this process ends.
    Raises CannotStart about the disk, and whatever `make` raises; then nothing is left behind.
    """
    path = root() / key.folder
    keep(path)
    entry = look(path)
    if entry is not None and not entry.problem:
        return entry
    with disk.touching(root()):
        (root() / ".locks").mkdir(parents=True, exist_ok=True)
        with locks.alone(
            make_lock(path),
            on_wait=lambda: show.say(f"another hintbound is getting {key.title}; waiting for it"),
        ):
            keep(path)
            entry = look(path)
            if entry is not None and not entry.problem:
                return entry
            if entry is not None:
                show.say(f"{key.title} in the cache is damaged ({entry.problem}); it is made anew")
                remove(path)
            sweep()
            _make(key, path, make)
    made = look(path)
    if made is None or made.problem:
        raise CannotStart(
            f"{path} was damaged right after it was made.", next_step="Check the disk, then try again."
        )
    return made


def look(path: Path, *, thoroughly: bool = False) -> Entry | None:
    """The entry at `path`: None when there is none, with a problem when it is damaged.

    Compares sizes and times, and reads a file only when those differ or `thoroughly` is set.
    """
    with disk.touching(path, deed="read"):
        try:
            os.listdir(path)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            return Entry(path, None, "it is no folder")
        manifest = Manifest.read(path)
        if manifest is None:
            return Entry(path, None, "it has no valid manifest")
        problem = manifest.problem(path, thoroughly=thoroughly)
    return Entry(path, manifest, problem)


def entries(*, thoroughly: bool = False) -> Iterator[Entry]:
    """All entries, damaged ones too, by name."""
    with disk.touching(root(), deed="read"):
        try:
            names = sorted(name for name in os.listdir(root()) if not name.startswith("."))
        except FileNotFoundError:
            return
    for name in names:
        entry = look(root() / name, thoroughly=thoroughly)
        if entry is not None:
            yield entry


def sweep() -> None:
    """Remove temporary folders whose owner is dead: nobody holds their lock."""
    workshop = root() / ".tmp"
    if not workshop.is_dir():
        return
    for lock in workshop.glob("*.lock"):
        with suppress(OSError, CannotStart):  # somebody else's in a shared cache: theirs to sweep
            descriptor = locks.attempt(lock)
            if descriptor is not None:
                remove(lock.with_suffix(""))
                lock.unlink(missing_ok=True)
                os.close(descriptor)


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder on the cache's disk, gone afterwards; swept by the next run if this one is killed."""
    workshop = root() / ".tmp"
    workshop.mkdir(parents=True, exist_ok=True)
    folder = workshop / secrets.token_hex(6)
    lock = folder.with_suffix(".lock")
    descriptor = locks.attempt(lock)
    assert descriptor is not None
    try:
        folder.mkdir()
        yield folder
    finally:
        remove(folder)
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all in it. Raises CannotStart."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    for _ in range(3):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        for folder, _, _ in os.walk(path):  # Go's module cache is full of read-only folders
            with suppress(OSError):
                os.chmod(folder, 0o700)
    raise CannotStart(f"{path} cannot be removed.", next_step="Remove it by hand.")


def use_lock(path: Path) -> Path:
    """The lock file that every user of the entry shares."""
    return root() / ".locks" / f"{path.name}.use"


def make_lock(path: Path) -> Path:
    """The lock file that whoever makes the entry holds alone."""
    return root() / ".locks" / f"{path.name}.lock"


def _make(key: Key, path: Path, make: Callable[[Path], Made]) -> None:
    with temporary() as folder:
        inside = folder / "entry"
        inside.mkdir()
        made = make(inside)
        Manifest.of(inside, name=key.name, version=key.version, build=key.build, made=made).write(inside)
        inside.rename(path)


def keep(path: Path) -> None:
    """Tell `prune` that this process uses `path`. Where no lock can be taken nobody can prune either."""
    with disk.touching(use_lock(path), deed="read"):
        if _in_use.get(path) is None and (path.parent / ".locks").is_dir():
            _in_use[path] = locks.shared(use_lock(path))
