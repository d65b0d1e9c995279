"""Which embedded clusters exist on this machine: one folder each, found again by a later command.

A folder holds keys, configurations, etcd's data, and `cluster.json` with who owns the cluster and which processes it
has. A process is recognised by pid and start time together, so that a reused pid is never taken for ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import platformdirs
import psutil

from hintbound.errors import CannotStart, one_of

_FILE = "cluster.json"


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that can be told from any later one with the same pid. `started` is seconds since the epoch."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        """Take down a process that runs now. Raises psutil.NoSuchProcess."""
        return cls(pid, psutil.Process(pid).create_time())

    def process(self) -> psutil.Process | None:
        """The process, if it still is the same one and runs."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.started) < 0.02 and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None


@dataclass(slots=True)
class Entry:
    """What `cluster.json` holds."""

    name: str
    spec: str
    server: str
    owner: ProcessId | None
    """The command that ends the cluster when it ends; None for one that was brought up to stay."""
    processes: dict[str, ProcessId] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        """Whether any of its processes runs, or its owner may still be starting them."""
        owners = [self.owner] if self.owner else []
        return any(process.process() for process in [*owners, *self.processes.values()])


def root() -> Path:
    """Where the folders are; HINTBOUND_STATE moves it."""
    return Path(os.environ.get("HINTBOUND_STATE") or platformdirs.user_state_dir("hintbound")) / "clusters"


def create(name: str | None) -> Path:
    """Make the folder of a new cluster. Raises CannotStart for a name that is taken or a folder that cannot be made."""
    chosen = name or f"run-{secrets.token_hex(4)}"
    folder = root() / chosen
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError as error:
        raise CannotStart(
            f"an embedded cluster named {chosen!r} exists.",
            next_step=f"Use another name, or end it with `hintbound cluster down {chosen}`.",
        ) from error
    except OSError as error:
        raise CannotStart(
            f"cannot make {folder}: {error.strerror}.", next_step="Free space there, or set HINTBOUND_STATE."
        ) from error
    return folder


def write(folder: Path, entry: Entry) -> None:
    """Store an entry; readers see the old or the new one, never half."""
    new = folder / f".{_FILE}"
    new.write_text(json.dumps(asdict(entry), indent=1))
    new.replace(folder / _FILE)


def read(folder: Path) -> Entry | None:
    """The entry of a folder, or None while it has none (or a broken one)."""
    try:
        raw = json.loads((folder / _FILE).read_text())
        return Entry(
            name=raw["name"],
            spec=raw["spec"],
            server=raw["server"],
            owner=ProcessId(**raw["owner"]) if raw["owner"] else None,
            processes={name: ProcessId(**process) for name, process in raw["processes"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def entries() -> Iterator[tuple[Path, Entry | None]]:
    """Every cluster folder with its entry, by name."""
    if root().is_dir():
        for folder in sorted(folder for folder in root().iterdir() if folder.is_dir()):
            yield folder, read(folder)


def find(name: str | None) -> tuple[Path, Entry]:
    """The cluster of this name, or the only one that was brought up to stay. Raises CannotStart."""
    known = {folder.name: (folder, entry) for folder, entry in entries() if entry}
    if name is None:
        staying = [found for found in known.values() if found[1].owner is None and found[1].alive]
        if len(staying) == 1:
            return staying[0]
        what = "no cluster is up." if not staying else "several clusters are up."
        raise CannotStart(what, next_step="See `hintbound cluster list`, or start one with `hintbound cluster up`.")
    if name not in known:
        if not known:
            raise CannotStart(f"no cluster {name!r}: none is up.", next_step="Start one with `hintbound cluster up`.")
        raise one_of("cluster", name, sorted(known))
    return known[name]


def end(folder: Path, entry: Entry) -> None:
    """End the processes of a cluster (only those that are surely its own) and remove its folder."""
    processes = [process for process in (known.process() for known in entry.processes.values()) if process]
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=5)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=5)
    shutil.rmtree(folder, ignore_errors=True)


def prune() -> list[str]:
    """Remove the folders of clusters that nothing runs for any more; returns their names."""
    removed = []
    for folder, entry in entries():
        if entry is None and _fresh(folder):
            continue
        if entry is None or not entry.alive:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
    return removed


def _fresh(folder: Path) -> bool:
    """A folder without an entry may belong to a cluster that is being made right now."""
    with contextlib.suppress(OSError):
        return time.time() - folder.stat().st_mtime < 60
    return False
