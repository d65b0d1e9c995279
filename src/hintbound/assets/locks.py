"""Advisory file locks that the kernel lets go when their owner dies, however it dies.

Three uses: one run makes a cache entry while others wait; a process that uses an entry keeps it from being
pruned; a temporary folder whose lock is free belongs to nobody any more.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def shared(path: Path) -> int | None:
    """Hold `path` together with others until the process ends; None where nobody can (read-only cache)."""
    try:
        descriptor = _open(path)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT):
            raise
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def attempt(path: Path) -> int | None:
    """Hold `path` alone, or None at once when somebody holds it. Close the descriptor to let go."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def alone(path: Path, *, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold `path` alone inside; when somebody else holds it, call `on_wait` and wait for it."""
    descriptor = attempt(path)
    if descriptor is None:
        on_wait()
        descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
