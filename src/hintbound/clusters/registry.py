"""Which clusters of ours exist on this machine: one folder each, found again by a later command.

A folder holds keys, configurations, etcd's data, and `cluster.json` with who owns the cluster and which
processes it has. It never stands without that file: it is made under another name, and renamed when the
file is in it. Making and pruning exclude each other, so that a folder that has just been made is never
taken for a dead one of the same name.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import platformdirs
from filelock import FileLock

from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.kind import docker, node
from hintbound.errors import CannotStart, cause, one_of
from hintbound.protocol import Seconds

_FILE: Final = "cluster.json"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_PATIENCE: Final[Seconds] = 30.0
_FRESH: Final[Seconds] = 60.0
_ENDS_WITHIN: Final[Seconds] = 5.0


@dataclass(slots=True)
class Entry:
    """What `cluster.json` holds."""

    name: str
    spec: str
    server: str
    owner: ProcessId | None
    """The command that ends the cluster when it ends; None for one that was brought up to stay."""
    processes: dict[str, ProcessId] = field(default_factory=dict)
    kind: str = ""
    """The name of the kind cluster whose nodes belong to it."""
    attached: str = ""
    """The name of somebody else's kind cluster, whose components may be held down for it."""

    @property
    def alive(self) -> bool:
        """Whether any of its processes runs, or its owner may still be starting them. A kind cluster that was
        brought up to stay lives as long as its nodes are there: what runs beside them is of no use alone."""
        if self.kind and self.owner is None:
            return bool(self.nodes)
        return self.owned or any(process.runs for process in self.processes.values())

    @property
    def nodes(self) -> Sequence[str]:
        """Names of its containers; also those that nobody can be asked about are told, by the cluster's."""
        if not self.kind:
            return []
        try:
            return docker.containers(self.kind)
        except (docker.DockerError, CannotStart):
            return [f"{self.kind} (docker does not answer)"]

    @property
    def owned(self) -> bool:
        """Whether its owner runs."""
        return self.owner is not None and self.owner.runs


def root() -> Path:
    """Where the folders are; HINTBOUND_STATE moves it."""
    state = os.environ.get("HINTBOUND_STATE") or platformdirs.user_state_dir("hintbound")
    return Path(state).expanduser().absolute() / "clusters"


def create(name: str | None, *, spec: str) -> Path:
    """Make the folder of a new cluster that this process owns.

    Raises CannotStart for a name that is taken or is none, or a folder that cannot be made.
    """
    chosen = name or f"run-{secrets.token_hex(4)}"
    if not _NAME.fullmatch(chosen):
        raise CannotStart(
            f"{chosen!r} is no name for a cluster.", next_step="Use lower-case letters, digits and dashes."
        )
    folder = root() / chosen
    draft = root() / f".{chosen}-{secrets.token_hex(4)}"
    try:
        draft.mkdir(mode=0o700, parents=True)
        write(draft, Entry(chosen, spec, "", ProcessId.of(os.getpid())))
        with _alone():
            if folder.exists():
                raise _taken(chosen)
            draft.rename(folder)
    except OSError as error:
        raise CannotStart(
            f"cannot make {folder}: {cause(error)}.", next_step="Free space there, or set HINTBOUND_STATE."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def write(folder: Path, entry: Entry) -> None:
    """Store an entry; readers see the old or the new one, never half. Raises OSError."""
    new = folder / f".{_FILE}"
    new.write_text(json.dumps(asdict(entry), indent=1))
    new.replace(folder / _FILE)


def read(folder: Path) -> Entry | None:
    """The entry of a folder, or None when it has none that can be read."""
    try:
        raw = json.loads((folder / _FILE).read_text())
        return Entry(
            name=raw["name"],
            spec=raw["spec"],
            server=raw["server"],
            owner=ProcessId(**raw["owner"]) if raw["owner"] else None,
            processes={name: ProcessId(**process) for name, process in raw["processes"].items()},
            kind=raw.get("kind", ""),
            attached=raw.get("attached", ""),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def entries() -> Iterator[tuple[Path, Entry | None]]:
    """Every cluster folder with its entry, by name. Raises CannotStart when they cannot be read."""
    return ((folder, entry) for folder, entry in _folders() if not folder.name.startswith("."))


def find(name: str | None) -> tuple[Path, Entry]:
    """The cluster of this name, or the only one that was brought up to stay. Raises CannotStart."""
    known = dict(entries())
    if name is None:
        staying = [(folder, e) for folder, e in known.items() if e and e.owner is None and e.alive]
        if len(staying) == 1:
            return staying[0]
        what = "several clusters are up." if staying else "no cluster is up."
        raise CannotStart(
            what, next_step="See `hintbound cluster list`, or start one with `hintbound cluster up`."
        )
    folder = root() / name
    if folder not in known and not known:
        raise CannotStart(
            f"no cluster {name!r}: none is up.", next_step="Start one with `hintbound cluster up`."
        )
    if folder not in known:
        raise one_of("cluster", name, [known_folder.name for known_folder in known])
    entry = known[folder]
    if entry is None:
        raise CannotStart(
            f"{folder / _FILE} cannot be read.",
            next_step="End what runs from that folder yourself, then remove it.",
        )
    return folder, entry


def end(folder: Path, entry: Entry) -> None:
    """End the processes of a cluster (only those that are surely its own), remove its nodes and its folder;
    somebody else's nodes run again.

    SIGKILL: nothing of it is kept, and an apiserver that ends politely takes many seconds.
    Raises CannotStart for what will not go.
    """
    _kill(entry)
    deadline = time.monotonic() + _ENDS_WITHIN
    while left := {name: p.pid for name, p in entry.processes.items() if p.runs}:
        if time.monotonic() > deadline:
            pids = ", ".join(f"{name} (pid {pid})" for name, pid in left.items())
            raise CannotStart(f"{entry.name} does not end: {pids} ignores SIGKILL or is not yours to end.")
        time.sleep(0.01)
    try:
        _clear_nodes(entry)
    except docker.DockerError as error:
        what = f"removed: {error}" if entry.kind else f"put back: {error}"
        raise CannotStart(
            f"the nodes of {entry.name} cannot be {what}.", next_step="See whether docker runs."
        ) from error
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise CannotStart(f"{entry.name} has ended, but {folder} cannot be removed.", next_step="Remove it.")


def _kill(entry: Entry | None) -> None:
    """Its processes, where they are ours to kill."""
    for process in entry.processes.values() if entry else ():
        with contextlib.suppress(PermissionError):
            process.kill()


def prune() -> list[str]:
    """Remove the folders of clusters that nobody runs, with what a killed owner has left of their nodes, and
    put back what it held down in somebody else's; returns their names. Raises CannotStart."""
    try:
        if not root().is_dir():
            return []
        with _alone():
            found = [(folder, entry) for folder, entry in _folders() if _is_dead(folder, entry)]
            dead = [folder for folder, entry in found if entry is None or _without_nodes(entry)]
            for folder, entry in found:
                if folder in dead:
                    _kill(entry)
                    shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise _unreadable(error) from error
    return [folder.name for folder in dead if not folder.exists()]


def _is_dead(folder: Path, entry: Entry | None) -> bool:
    if entry is not None:
        return not entry.alive
    return not _is_fresh(folder) and not _is_in_use(folder)


def _without_nodes(entry: Entry) -> bool:
    """Whether they are cleared. Without docker the folder stays, so that they are found again."""
    try:
        _clear_nodes(entry)
    except (docker.DockerError, CannotStart):
        return False
    return True


def _clear_nodes(entry: Entry) -> None:
    """Remove those that are ours, put back somebody else's. Raises DockerError, CannotStart."""
    if entry.kind:
        docker.remove(entry.kind)
    if entry.attached:
        for control_plane in docker.containers(entry.attached, "control-plane"):
            node.put_back(control_plane)


def _is_fresh(folder: Path) -> bool:
    """Without an entry it may have been made this moment."""
    with contextlib.suppress(OSError):
        return time.time() - folder.stat().st_mtime < _FRESH
    return False


def _is_in_use(folder: Path) -> bool:
    """Whether a process was started on it; for entries that cannot be read, say of another hintbound."""
    import psutil

    path = f"{folder}{os.sep}"
    return any(path in " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"]))


def _folders() -> Iterator[tuple[Path, Entry | None]]:
    try:
        folders = sorted(path for path in root().iterdir() if path.is_dir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(error) from error
    for folder in folders:
        yield folder, read(folder)


def _alone() -> FileLock:
    """One of our processes at a time makes or prunes folders. Raises OSError."""
    return FileLock(root() / ".lock", timeout=_PATIENCE)


def _taken(name: str) -> CannotStart:
    return CannotStart(
        f"a cluster named {name!r} exists.",
        next_step=f"Use another name, or end it with `hintbound cluster down {name}`.",
    )


def _unreadable(error: OSError) -> CannotStart:
    return CannotStart(
        f"cannot read the clusters in {root()}: {cause(error)}.",
        next_step="Mend that, or set HINTBOUND_STATE.",
    )
