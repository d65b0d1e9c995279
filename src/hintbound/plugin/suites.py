"""Suites of installed packages, by name: `hintbound run acme`."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from hintbound.extensions import Extension, Group, installed

_asked: dict[Path, Extension] = {}
"""The folders that were asked for by name in this process: only these are named so to a reader."""


def find(path: str) -> Path | None:
    """What `NAME` or `NAME/file` means; None when no package has a suite of that name. Raises CannotStart."""
    name, _, rest = path.partition("/")
    for extension in installed(Group.SUITES):
        if extension.name == name:
            root = folder(extension)
            _asked[root.resolve()] = extension
            return root / rest
    return None


def names() -> list[str]:
    """The names of all installed suites."""
    return [extension.name for extension in installed(Group.SUITES)]


def as_named(path: Path) -> str | None:
    """A path below a suite that was asked for by name, as `NAME/file`; None for any other."""
    full = path.resolve()
    for root, extension in _asked.items():
        if full.is_relative_to(root):
            return str(Path(extension.name) / full.relative_to(root))
    return None


def asked() -> list[Extension]:
    """The suites that were asked for by name."""
    return sorted(_asked.values(), key=lambda extension: extension.name)


def folder(extension: Extension) -> Path:
    """The folder that an entry point names: that of a module, or a path. Raises CannotStart."""
    found = extension.load()
    if isinstance(found, ModuleType):
        path = Path(found.__file__).parent if found.__file__ else Path(next(iter(found.__path__)))
    elif isinstance(found, str | os.PathLike):
        path = Path(found)
    else:
        raise extension.wrong(f"is {type(found).__name__}, neither a module nor a path.")
    if not path.is_dir():
        raise extension.wrong(f"names {path}, which is no folder.")
    return path
