"""Turns what a disk refuses into one clear line: full, read-only, unreadable."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hintbound.errors import CannotStart, cause

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_BROKEN: Final = (
    errno.EIO,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOLCK,
    errno.EOPNOTSUPP,
    errno.ESTALE,
)
FULL_DISK_TEXT: Final = "no space left on device"
"""What Go says when the disk is full."""


@contextmanager
def touching(place: Path, *, deed: str = "written") -> Iterator[None]:
    """Whatever the disk refuses inside becomes CannotStart about `place`, which could not be `deed`."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*_FULL, *_FORBIDDEN, *_BROKEN):
            raise
        raise refusal(error, place, deed=deed) from error


def refusal(error: OSError, place: Path, *, deed: str = "written") -> CannotStart:
    """The clear line for an error of the disk at `place`."""
    if error.errno in _FULL:
        return full(place)
    reason = cause(error)
    spot = error.filename if isinstance(error.filename, str) else place
    remedy = "readable" if deed == "read" else "writable"
    return CannotStart(
        f"{spot} cannot be {deed}: {reason}.",
        next_step=f"Make it {remedy}, or set HINTBOUND_CACHE to a folder that is.",
    )


def full(place: Path) -> CannotStart:
    """The clear line for a full disk; hintbound's own leftovers are the first thing to let go."""
    return CannotStart(
        f"the disk that holds {place} is full.",
        next_step="Free some space (`hintbound assets prune` removes old binaries), or set HINTBOUND_CACHE "
        "to a folder on another disk. A Kubernetes version takes about 250 MB, building one about 3 GB.",
    )
