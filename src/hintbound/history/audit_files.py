"""The lines of audit logs, wherever they lie: files, rotated and compressed ones, folders of them, stdin.

Order does not matter: what is made of the lines is sorted by the apiserver's own clock.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from hintbound.errors import CannotStart, cause
from hintbound.history.audit_lines import LONGEST_LINE

STDIN: Final = "-"

_NO_LOGS: Final = frozenset({".md", ".html", ".xml", ".yaml", ".yml", ".sh", ".txt", ".tar", ".zip"})
"""In a folder, files that so end are no logs."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log and where it stands."""

    file: str
    number: int
    """From 1."""
    text: bytes
    """Empty for one that is not whole."""
    flaw: str = ""
    """Why it is not whole, in words that can be counted; empty when it is."""

    @property
    def place(self) -> str:
        """`FILE:LINE`."""
        return f"{self.file}:{self.number}"


def files(paths: Iterable[str]) -> list[str]:
    """The log files that are meant, folders opened, each once. Raises CannotStart for what is not there."""
    found: dict[str, None] = {}
    for path in paths:
        if path == STDIN:
            found[STDIN] = None
            continue
        place = Path(path)
        if place.is_dir():
            inside = sorted(p for p in place.rglob("*") if p.is_file() and p.suffix not in _NO_LOGS)
            if not inside:
                raise CannotStart(f"{place} has no log in it.", next_step="Name a file, or a folder of them.")
            found.update((str(p), None) for p in inside)
        elif place.exists():
            found[str(place)] = None
        else:
            raise CannotStart(
                f"{place} is not there.",
                next_step="Name a run's folder, audit logs, folders of them, or - for stdin.",
            )
    return list(found)


def lines(file: str) -> Iterator[Line]:
    """The lines of one file, or of stdin; blank ones are left out. Raises CannotStart: it cannot be read.

    A file that ends in the middle, of a line or of its compression, gives what it has, and a line with the
    flaw.
    """
    number = 0
    try:
        with _opened(file) as stream:
            while text := stream.readline(LONGEST_LINE):
                number += 1
                if len(text) == LONGEST_LINE and not text.endswith(b"\n"):
                    _skip_line(stream)
                    yield Line(file, number, b"", f"longer than {LONGEST_LINE >> 20} MiB")
                elif text.strip():
                    yield Line(file, number, text)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Line(file, number + 1, b"", f"the compressed file is cut off or damaged ({cause(error)})")
    except OSError as error:
        raise CannotStart(
            f"{file} cannot be read: {cause(error)}.", next_step="Name a file that you may read."
        ) from error


def _skip_line(stream: BinaryIO) -> None:
    while (text := stream.readline(LONGEST_LINE)) and not text.endswith(b"\n"):
        pass


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == STDIN:
        yield sys.stdin.buffer
    elif file.endswith(".gz"):
        with gzip.open(file) as stream:
            yield cast(BinaryIO, stream)
    elif file.endswith((".zst", ".zstd")):
        with _zstd(file) as stream:
            yield stream
    else:
        with Path(file).open("rb") as stream:
            yield stream


@contextmanager
def _zstd(file: str) -> Iterator[BinaryIO]:
    program = shutil.which("zstd")
    if program is None:
        raise CannotStart(
            f"{file} is compressed by zstd, and the program zstd is not there.",
            next_step="Install zstd, or decompress the file first.",
        )
    with subprocess.Popen([program, "-dcq", "--", file], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield cast(BinaryIO, process.stdout)
        except GeneratorExit:
            process.kill()
            raise
        if process.wait() != 0:
            raise EOFError("zstd says so")
