"""Whose code a file is: what a suite's author wrote, or a library that only serves it."""

from __future__ import annotations

import asyncio
import sysconfig
from functools import cache
from pathlib import Path

import hintbound
from hintbound import data
from hintbound.errors import line_of

_OURS = Path(hintbound.__file__).parent
_ASYNCIO = Path(asyncio.__file__).parent
_LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib", "platstdlib"))


def is_asyncio(file: str) -> bool:
    """Whether it only passes on what somebody else asked for."""
    return Path(file).is_relative_to(_ASYNCIO)


@cache
def is_of_suite(file: str, test: str) -> bool:
    """Whether a file is of the author of the suite that `test`, another file, belongs to.

    Not so: hintbound but for its suites, and what is installed but for the package that holds the test.
    """
    path = Path(file)
    if not path.is_absolute():  # `<frozen importlib._bootstrap>` and its like
        return False
    if path.is_relative_to(data.folder("suites")):
        return True
    if path.is_relative_to(_OURS):
        return False
    return all(_package(path, root) in (None, _package(Path(test), root)) for root in _LIBRARIES)


def _package(path: Path, root: Path) -> str | None:
    """The folder or module below `root` that it belongs to; None when it is not below."""
    return path.relative_to(root).parts[0] if path.is_relative_to(root) else None


def where_raised(error: BaseException, test: str) -> str:
    """`FILE:LINE` of the suite's code in which an error came up; empty when none of it took part."""
    return line_of(error, lambda frame: is_of_suite(frame.f_code.co_filename, test))
