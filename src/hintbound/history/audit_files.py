"""The lines of audit logs, wherever they lie: files, rotated and compressed ones, folders of them, stdin.

Order does not matter: what is made of the lines is sorted by the apiserver's own clock.
"""

from __future__ import annotations

import gzip
import io
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

_BLOCK: Final = 1 << 18
_GZIP: Final = (".gz",)
_ZSTD: Final = (".zst", ".zstd")
_TOO_LONG: Final = f"longer than {LONGEST_LINE >> 20} MiB"
_NO_LOGS: Final = frozenset({".md", ".html", ".xml", ".yaml", ".yml", ".sh", ".txt", ".tar", ".zip"})
"""In a folder, files that so end are no logs."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a log, one after the other."""

    number: int
    """Of the first line, from 1, within what is read."""
    offset: int
    """Where the first line begins in the file; of what it holds where it is compressed."""
    lines: list[bytes]
    flaw: str = ""
    """Why the one line is not whole, in words that can be counted; its text is left out then."""


def files(paths: Iterable[str]) -> list[str]:
    """The log files that are meant, folders opened, each once. Raises CannotStart for what is not there."""
    found: dict[str, None] = {}
    for path in paths:
        if path == STDIN:
            if sys.stdin is None:  # the shell closed it: <&-
                raise CannotStart("stdin is closed.", next_step="Pipe a log into it, or name files.")
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


def plain(file: str) -> bool:
    """Whether a file can be read from its middle: it is no stream, and not compressed."""
    return file != STDIN and not file.endswith((*_GZIP, *_ZSTD)) and Path(file).is_file()


def blocks(file: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """The lines of a file, or of stdin, that begin from byte `start` on and before `end`. Raises
    CannotStart: it cannot be read.

    A file that ends in the middle, of a line or of its compression, gives what it has, and a line with the
    flaw. `start` and `end` are for plain files.
    """
    seen = 0
    try:
        with _opened(file) as stream:
            if start:
                stream.seek(start - 1)
                start += _skipped(stream) - 1
            for block in _blocks(stream, start, end):
                seen = block.number + len(block.lines) - (not block.flaw)
                yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        why = f"the compressed file is cut off or damaged ({cause(error)})"
        yield Block(seen + 1, 0, [], why)
    except OSError as error:
        raise CannotStart(
            f"{file} cannot be read: {cause(error)}.", next_step="Name a file that you may read."
        ) from error


def _blocks(stream: BinaryIO, offset: int, end: int | None) -> Iterator[Block]:
    number, rest = 1, b""
    again = isinstance(stream, io.FileIO) and stream.seekable()
    # Of a file that is cut off, `read` would give nothing of the last block.
    read = stream.read1 if isinstance(stream, gzip.GzipFile) else stream.read
    while end is None or offset < end:
        try:
            more = read(_BLOCK)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            if rest:
                yield Block(number, offset, [rest])
            raise
        text = rest + more
        whole = text.rfind(b"\n") + 1
        if not more and text:
            whole = len(text)
        if end is not None and offset + whole > end:  # the line that the end falls into is the last
            last = text.find(b"\n", max(end - offset - 1, 0)) + 1
            whole = last or whole
        if whole:
            lines = text[: whole - 1 if text[whole - 1] == 10 else whole].split(b"\n")
            begin = offset
            if len(lines[0]) > LONGEST_LINE:  # no other line of a block can be
                yield Block(number, begin, [], _TOO_LONG)
                number += 1
                begin += len(lines.pop(0)) + 1
            yield Block(number, begin, lines)
            number += len(lines)
            offset += whole
        elif len(text) > LONGEST_LINE:
            yield Block(number, offset, [], _TOO_LONG)
            number += 1
            offset += len(text) + _skipped(stream)
            whole = len(text)
        if not more:
            return
        if whole and again:  # reading a piece once more is cheaper than joining it to what follows
            stream.seek(offset)
            rest = b""
        else:
            rest = text[whole:]


def _skipped(stream: BinaryIO) -> int:
    """How many bytes there were up to the end of the line."""
    count = 0
    if isinstance(stream, io.FileIO):  # unbuffered: its readline takes a byte at a time
        while text := stream.read(_BLOCK):
            if end := text.find(b"\n") + 1:
                stream.seek(end - len(text), io.SEEK_CUR)
                return count + end
            count += len(text)
        return count
    while text := stream.readline(_BLOCK):
        count += len(text)
        if text.endswith(b"\n"):
            break
    return count


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == STDIN:
        yield sys.stdin.buffer
    elif file.endswith(_GZIP):
        with gzip.open(file) as stream:
            yield cast(BinaryIO, stream)
    elif file.endswith(_ZSTD):
        with _zstd(file) as stream:
            yield stream
    else:
        with Path(file).open("rb", buffering=0) as stream:
            yield cast(BinaryIO, stream)


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
        except BaseException:
            process.kill()
            raise
        if process.wait() != 0:
            raise EOFError("zstd says so")
