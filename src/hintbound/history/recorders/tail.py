"""Follows a growing file line by line, across absence, rotation and truncation, and says what may be lost."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 18
"""Few enough lines at once that an event loop does not wait long for them."""


class Tail:
    """The whole lines of one file as they come. Nothing here blocks or waits."""

    def __init__(self, path: Path, *, from_start: bool = True) -> None:
        self.path = path
        self._from_start = from_start
        self._fd = -1
        self._position = 0
        self._identity = (0, 0)
        self._partial = b""
        self._losses: list[str] = []
        self._newest = 0
        """When the file that is open was last seen to change (ns): older siblings are of no interest."""
        self._done: set[tuple[int, int, int]] = set()
        """Device, inode and time of change of the files that were read to their end."""

    def lines(self) -> list[bytes]:
        """Lines that were finished since the last call, newline included; about 256 KiB at most."""
        if self._fd < 0 and not self._open(self.path, seek_end=not self._from_start):
            self._from_start = True  # a log that did not exist at the start is new from its first line on
            return []
        self._from_start = True
        lines = self._read()
        if not lines:
            self._look_for_changes()
            lines = self._read() if self._fd >= 0 else []
        return lines

    def take_losses(self) -> list[str]:
        """What may have been lost since the last call, in words."""
        losses, self._losses = self._losses, []
        return losses

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self, path: Path, *, seek_end: bool = False) -> bool:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        status = os.fstat(self._fd)
        self._identity = (status.st_dev, status.st_ino)
        self._newest = status.st_mtime_ns
        self._position = os.lseek(self._fd, 0, os.SEEK_END) if seek_end else 0
        self._partial = b""
        return True

    def _read(self) -> list[bytes]:
        data = os.read(self._fd, _CHUNK)
        if not data:
            return []
        self._position += len(data)
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._partial += data
            return []
        whole = self._partial + whole
        self._partial = rest
        return [line + b"\n" for line in whole.split(b"\n")]

    def _look_for_changes(self) -> None:
        """At the end of the file: was it cut, or is this the rotated one and another has its name?"""
        status = os.fstat(self._fd)
        if status.st_size < self._position:
            self._losses.append(
                f"{self.path.name} was cut from {self._position} to {status.st_size} bytes; "
                "lines written shortly before may be lost"
            )
            self._position, self._partial = os.lseek(self._fd, 0, os.SEEK_SET), b""
            return
        self._newest = status.st_mtime_ns
        try:
            current = os.stat(self.path)
        except FileNotFoundError:
            return  # rotated, and its successor is not there yet
        if (current.st_dev, current.st_ino) == self._identity:
            return
        if os.fstat(self._fd).st_size == self._position:
            self._turn_page()

    def _turn_page(self) -> None:
        """Go on with the next file: usually the one of that name, else one rotated meanwhile."""
        if self._partial:
            self._losses.append(
                f"{self.path.name} was rotated in the middle of a line of {len(self._partial)} bytes"
            )
        self._done.add((*self._identity, self._newest))
        following = self._rotated_since()
        self.close()
        for path in (*following[:1], self.path):
            if self._open(path):
                return

    def _rotated_since(self) -> list[Path]:
        """Rotated files that were never open here, the oldest first."""
        stem, suffix = re.escape(self.path.stem), re.escape(self.path.suffix)
        dated = rf"{stem}-\d{{4}}-\d\d-\d\dT[\d.-]+{suffix}"  # as the apiserver names them
        numbered = rf"{re.escape(self.path.name)}\.\d+"  # as logrotate names them
        name = re.compile(rf"({dated}|{numbered})(\.gz)?")
        found: list[tuple[int, Path]] = []
        for entry in os.scandir(self.path.parent):
            if not name.fullmatch(entry.name):
                continue
            status = entry.stat()
            known = (status.st_dev, status.st_ino, status.st_mtime_ns) in self._done
            if known or status.st_mtime_ns < self._newest:
                continue
            if entry.name.endswith(".gz"):
                self._losses.append(f"{entry.name} was rotated and compressed before it could be read")
            else:
                found.append((status.st_mtime_ns, Path(entry.path)))
        return [path for _, path in sorted(found)]
