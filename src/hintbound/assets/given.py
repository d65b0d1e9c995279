"""Programs that the user brought: the folder HINTBOUND_ASSETS.

Either `<dir>/<version>/kube-apiserver` ..., `<dir>/etcd/etcd`, `<dir>/kwok/kwok`, `<dir>/kind/kind`, or all
in one folder.
They are taken as they are, but a Kubernetes program must say the version that its place or the caller claims.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from hintbound.assets import proof
from hintbound.errors import CannotStart, cause

VARIABLE = "HINTBOUND_ASSETS"


def folder() -> Path | None:
    """The folder, or None when the variable is not set. Raises CannotStart when it is set to no folder."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return None
    path = Path(chosen).expanduser().absolute()
    try:
        next(path.iterdir(), None)
    except OSError as error:
        raise CannotStart(
            f"{VARIABLE}={chosen} cannot be read: {cause(error)}.",
            next_step=f"Point it at a folder of Kubernetes programs, or unset {VARIABLE}.",
        ) from error
    return path


def versions() -> list[str]:
    """The Kubernetes versions that have a folder of their own there."""
    root = folder()
    return (
        [entry.name for entry in root.iterdir() if re.fullmatch(r"\d+\.\d+\.\d+", entry.name)] if root else []
    )


def control_plane(version: str, names: Iterable[str]) -> dict[str, Path] | None:
    """The programs of that version, or None when the folder holds none. Raises CannotStart."""
    root = folder()
    if root is None:
        return None
    own, names = root / version, tuple(names)
    if not own.is_dir() and not any((root / name).is_file() for name in names):
        return None
    programs = {name: (own if own.is_dir() else root) / name for name in names}
    missing = [name for name, path in programs.items() if not path.is_file()]
    if missing:
        raise CannotStart(
            f"{VARIABLE}: {next(iter(programs.values())).parent} lacks {', '.join(missing)}.",
            next_step=f"Add what is missing, or unset {VARIABLE} to have hintbound get all of them.",
        )
    _same_version(programs, version, root)
    return programs


def beside_control_plane(version: str, names: Iterable[str]) -> dict[str, Path] | None:
    """As `control_plane`, but programs that only few bring: None also when that version's folder has none of
    them. Raises CannotStart."""
    root, names = folder(), tuple(names)
    if root is None or not any(
        (place / name).is_file() for place in (root / version, root) for name in names
    ):
        return None
    return control_plane(version, names)


def of_version(version: str, name: str) -> Path | None:
    """`<dir>/<version>/<name>` or `<dir>/<name>`, of that version, or None. Raises CannotStart."""
    root = folder()
    path = program(name, folder_name=version)
    if root is not None and path is not None:
        _same_version({name: path}, version, root)
    return path


def program(name: str, *, folder_name: str) -> Path | None:
    """`<dir>/<folder_name>/<name>` or `<dir>/<name>`, of whatever version, or None. Raises CannotStart."""
    root = folder()
    if root is None:
        return None
    for path in (root / folder_name / name, root / name):
        if path.is_file():
            _versions({name: path})
            return path
    return None


def _same_version(programs: dict[str, Path], version: str, root: Path) -> None:
    for name, said in _versions(programs).items():
        if said.partition("+")[0] != version:
            raise CannotStart(
                f"{VARIABLE}: {programs[name]} is version {said}, not {version}.",
                next_step=f"Ask for {said}, put {version} into {root / version}, or unset {VARIABLE}.",
            )


def _versions(programs: dict[str, Path]) -> dict[str, str]:
    try:
        return proof.reported_versions(programs)
    except proof.NotRunnableError as error:
        raise CannotStart(
            f"{VARIABLE}: {error}.", next_step=f"Put a program for this machine there, or unset {VARIABLE}."
        ) from error
