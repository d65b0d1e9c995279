"""What does not fit into memory, on disk: rows by partition, gone when the command ends, however it ends."""

from __future__ import annotations

import marshal
import os
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hintbound.errors import CannotStart, cause

ROOM: Final = "Set TMPDIR to a folder with room for about as much as the logs are long, decompressed."

_MOST_ROWS: Final = 8_000
"""Held back by a writer before it writes: some MB."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of our own, removed at the end. Raises CannotStart."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="hintbound-check-"))
    except OSError as error:
        raise CannotStart(
            f"there is no folder for temporary files: {cause(error)}.", next_step=ROOM
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises CannotStart for what cannot be written there."""
    try:
        yield
    except OSError as error:
        raise CannotStart(f"{path} cannot be written: {cause(error)}.", next_step=ROOM) from error


class Blob:
    """A file to which bytes are appended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        with writing(path):
            self._file = path.open("wb", buffering=1 << 18)

    def append(self, data: bytes) -> int:
        """Where they begin. Raises CannotStart."""
        begin = self.size
        with writing(self.path):
            self._file.write(data)
        self.size += len(data)
        return begin

    def flush(self) -> None:
        """Let others read what there is. Raises CannotStart."""
        with writing(self.path):
            self._file.flush()


class Slices:
    """Where in files the rows of each partition are: what writers tell of what they wrote."""

    def __init__(self, partitions: int) -> None:
        self._of: list[list[tuple[str, array[int]]]] = [[] for _ in range(partitions)]
        self._file: dict[str, list[array[int] | None]] = {}

    def add(self, path: str, written: list[tuple[int, int, int]]) -> None:
        """Take down (partition, offset, length) of one file."""
        known = self._file.setdefault(path, [None] * len(self._of))
        for partition, offset, length in written:
            places = known[partition]
            if places is None:
                places = known[partition] = array("Q")
                self._of[partition].append((path, places))
            places.extend((offset, length))

    def of(self, partition: int) -> list[tuple[str, array[int]]]:
        """Per file: offset, length, offset, length, …"""
        return self._of[partition]

    def __len__(self) -> int:
        return len(self._of)


class Writer:
    """Rows by partition, into one file."""

    def __init__(self, path: Path, partitions: int) -> None:
        self._blob = Blob(path)
        self._rows: list[list[Any]] = [[] for _ in range(partitions)]
        self._count = 0
        self._written: list[tuple[int, int, int]] = []

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self._rows)

    def add(self, partition: int, row: Any, weight: int = 1) -> None:
        """A row (what `marshal` knows), as heavy as so many. Raises CannotStart."""
        self._rows[partition].append(row)
        self._count += weight
        if self._count >= _MOST_ROWS:
            self._write()

    def _write(self) -> None:
        for partition, rows in enumerate(self._rows):
            if rows:
                data = marshal.dumps(rows)
                self._written.append((partition, self._blob.append(data), len(data)))
                rows.clear()
        self._count = 0

    def finish(self) -> tuple[str, list[tuple[int, int, int]]]:
        """Write what is held back; where everything is that was written since the last time."""
        self._write()
        self._blob.flush()
        written, self._written = self._written, []
        return str(self._blob.path), written


def read(slices: list[tuple[str, array[int]]]) -> Iterator[list[Any]]:
    """The rows of one partition, some at a time."""
    for path, places in slices:
        with open(path, "rb", buffering=0) as file:
            for position in range(0, len(places), 2):
                data = os.pread(file.fileno(), places[position + 1], places[position])
                yield marshal.loads(data)


def size(slices: list[tuple[str, array[int]]]) -> int:
    """Bytes of one partition."""
    return sum(sum(places[1::2]) for _, places in slices)


def crowded(keys: Counter[Any], most: int) -> set[Any]:
    """Those that have more rows than can be held at once."""
    return {key for key, count in keys.items() if count > most}
