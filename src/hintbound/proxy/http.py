"""HTTP/1.1 as bytes: heads read strictly, bodies by their framing. No I/O.

What two parties could read differently is refused, for a proxy that lets it pass can be used to smuggle a
request past it: both lengths, several lengths, folded fields, bare line feeds, spaces before the colon
(RFC 9112 6.3, 11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of a request line and its fields; the apiserver allows 1 MiB, clients of it stay far below this."""
_LONGEST_LINE: Final = 4096
"""Bytes of a chunk's size line, or of a trailer."""

_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,20}) (/[\x21-\x7e\x80-\xff]*) HTTP/1\.([01])")
_FIELDS: Final = re.compile(rb"(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*")
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-5]\d\d)(?: [^\r\n]*)?")
_SIZE_LINE: Final = re.compile(rb"([0-9a-fA-F]{1,12})[\t ]*(?:;[^\r\n]*)?\r\n")
_DIGITS: Final = re.compile(rb"\d{1,15}")

_ANSWER_FIELDS: Final = re.compile(
    rb"\r\n(content-length|transfer-encoding|connection|keep-alive|upgrade):[ \t]*([^\r\n]*)", re.IGNORECASE
)
_HOP: Final = re.compile(rb"\r\n(?:connection|keep-alive|proxy-[a-z-]+):[^\r\n]*", re.IGNORECASE)
_USUAL: Final = frozenset({b"keep-alive", b"close", b"", b"content-length", b"transfer-encoding"})
_MOST_KNOWN: Final = 256
_LARGEST_KNOWN: Final = 8 * 1024

HOP_BY_HOP: Final = frozenset(
    b"connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    b" transfer-encoding upgrade expect content-length host".split()
)
"""Fields that are about one connection and are made anew for the next."""


class BadMessage(Exception):
    """Not HTTP as it is read here; `status` is what a server answers to it."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """A request's or answer's first line and fields."""

    fields: Mapping[bytes, bytes]
    """By lower-case name; of fields that came several times, all values, with commas. Of an answer only those
    in _ANSWER_FIELDS."""
    raw: bytes
    """The fields as they came, each behind a line end."""
    keep_alive: bool
    method: str = ""
    path: str = ""
    """As it was sent, with its query."""
    status: int = 0

    @property
    def upgrade(self) -> bytes:
        """The protocol that is asked for or switched to; empty for none."""
        asked = _tokens(self.fields.get(b"connection", b""))
        return self.fields.get(b"upgrade", b"") if b"upgrade" in asked else b""

    def end_to_end(self, *without: bytes) -> list[bytes]:
        """The lines that are not about this connection alone, and without those named."""
        left_out = {*HOP_BY_HOP, *_tokens(self.fields.get(b"connection", b"")), *without}
        return [
            line for line in self.raw.split(b"\r\n")[1:] if line.partition(b":")[0].lower() not in left_out
        ]


class RequestHeads:
    """Reads the heads of one listener's requests.

    A client sends the same fields again and again: what they mean, and what of them is sent on, is looked for
    once.
    """

    def __init__(self, *, without: tuple[bytes, ...] = ()) -> None:
        """`without`: fields that are not sent on."""
        self._without = without
        self._known: dict[bytes, tuple[Mapping[bytes, bytes], bool, bytes]] = {}

    def read(self, raw: bytes) -> tuple[Head, bytes]:
        """What stands before the empty line, and the lines that are sent on, joined. Raises BadMessage."""
        at = raw.find(b"\r\n")
        line, rest = (raw, b"") if at < 0 else (raw[:at], raw[at:])
        found = _REQUEST_LINE.fullmatch(line)
        if found is None:
            raise BadMessage("the request line is none, or its target is no path")
        method, path, minor = found.groups()
        if minor == b"0":
            raise BadMessage("HTTP/1.0 knows no chunks, and is not spoken here", 505)
        known = self._known.get(rest)
        if known is None:
            known = self._look(rest)
        fields, keep_alive, sent_on = known
        return Head(fields, rest, keep_alive, method.decode(), path.decode("latin-1")), sent_on

    def _look(self, rest: bytes) -> tuple[Mapping[bytes, bytes], bool, bytes]:
        if _FIELDS.fullmatch(rest) is None:
            raise BadMessage("a field is malformed")
        fields: dict[bytes, bytes] = {}
        for one in rest.split(b"\r\n")[1:]:
            name, _, value = one.partition(b":")
            name, value = name.lower(), value.strip(b" \t")
            fields[name] = value if name not in fields else fields[name] + b"," + value
        if b"host" not in fields or b"," in fields[b"host"]:
            raise BadMessage("there is not exactly one Host")
        head = Head(fields, rest, _keeps_alive(fields, b"1"))
        found = fields, head.keep_alive, b"\r\n".join(head.end_to_end(*self._without))
        if len(rest) < _LARGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[rest] = found
        return found


def answer_head(raw: bytes) -> Head:
    """Read what stands before the empty line. Raises BadMessage."""
    at = raw.find(b"\r\n")
    line, rest = (raw, b"") if at < 0 else (raw[:at], raw[at:])
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        raise BadMessage("the status line is none")
    fields: dict[bytes, bytes] = {}
    for name, value in _ANSWER_FIELDS.findall(rest):
        name = name.lower()
        fields[name] = value.strip() if name not in fields else fields[name] + b"," + value
    return Head(fields, rest, _keeps_alive(fields, found[1]), status=int(found[2]))


def without_hop(head: Head, raw: bytes) -> bytes:
    """An answer's head without what is about its connection; how its body is framed stays."""
    named = _tokens(head.fields.get(b"connection", b"")) - _USUAL
    raw = _HOP.sub(b"", raw)
    for name in named:
        raw = re.sub(rb"(?i)\r\n%b:[^\r\n]*" % re.escape(name), b"", raw)
    return raw


def _keeps_alive(fields: Mapping[bytes, bytes], minor: bytes) -> bool:
    asked = fields.get(b"connection")
    if asked is None:
        return minor == b"1"
    return b"close" not in _tokens(asked) if minor == b"1" else b"keep-alive" in _tokens(asked)


def _tokens(value: bytes) -> set[bytes]:
    return {token.strip().lower() for token in value.split(b",")}


class Framing(Protocol):
    """Where a body ends."""

    done: bool

    def feed(self, data: bytes) -> tuple[list[bytes], int]:
        """The body's own bytes in what came, and how much of it belongs to the message. Raises BadMessage."""


class Length:
    """A body of a known length, 0 for none."""

    __slots__ = ("done", "left")

    def __init__(self, length: int) -> None:
        self.left = length
        self.done = length == 0

    def feed(self, data: bytes) -> tuple[list[bytes], int]:
        """See Framing."""
        taken = data if len(data) <= self.left else data[: self.left]
        self.left -= len(taken)
        self.done = self.left == 0
        return [taken] if taken else [], len(taken)


class UntilClose:
    """A body that ends with its connection."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False

    def feed(self, data: bytes) -> tuple[list[bytes], int]:
        """See Framing."""
        return [data], len(data)


class Chunked:
    """A body in chunks; trailers are dropped."""

    __slots__ = ("_left", "_line", "_state", "done")

    def __init__(self) -> None:
        self.done = False
        self._left = 0
        self._line = b""
        self._state = "size"

    def feed(self, data: bytes) -> tuple[list[bytes], int]:
        """See Framing."""
        pieces: list[bytes] = []
        at, end = 0, len(data)
        while at < end and not self.done:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                self._left -= len(piece)
                at += len(piece)
                continue
            line_end = data.find(b"\n", at) + 1
            self._line += data[at : line_end or end]
            if len(self._line) > _LONGEST_LINE:
                raise BadMessage("a line between chunks is too long")
            at = line_end or end
            if line_end:
                self._take(self._line)
                self._line = b""
        return pieces, at

    def _take(self, line: bytes) -> None:
        if self._state == "size":
            found = _SIZE_LINE.fullmatch(line)
            if found is None:
                raise BadMessage("a chunk has no size")
            self._left = int(found[1], 16)
            self._state = "end" if self._left else "trailer"
        elif not line.endswith(b"\r\n") or (self._state == "end" and line != b"\r\n"):
            raise BadMessage("a chunk does not end where it says")
        elif self._state == "end":
            self._state = "size"
        else:
            self.done = line == b"\r\n"


def request_framing(head: Head) -> Framing:
    """Raises BadMessage for what could be read in two ways."""
    length, coding = head.fields.get(b"content-length"), head.fields.get(b"transfer-encoding")
    if coding is not None:
        if length is not None:
            raise BadMessage("there are both Content-Length and Transfer-Encoding")
        if coding.lower() != b"chunked":
            raise BadMessage("the transfer coding is not chunked alone", 501)
        return Chunked()
    return Length(0 if length is None else _length(length))


def answer_framing(head: Head, method: str) -> Framing:
    """Raises BadMessage."""
    if method == "HEAD" or head.status in (204, 304) or head.status < 200:
        return Length(0)
    coding, length = head.fields.get(b"transfer-encoding"), head.fields.get(b"content-length")
    if coding is not None:
        if coding.lower() != b"chunked":
            raise BadMessage("the transfer coding is not chunked alone")
        return Chunked()
    return UntilClose() if length is None else Length(_length(length))


def _length(value: bytes) -> int:
    if _DIGITS.fullmatch(value) is None:
        raise BadMessage("Content-Length is no number, or there are several")
    return int(value)


@dataclass(slots=True)
class Fields:
    """Fields of a message that we write ourselves, in order; names as they are to be written."""

    lines: list[bytes] = field(default_factory=list)

    @classmethod
    def of(cls, joined: bytes) -> Fields:
        """Of lines that are joined."""
        return cls(joined.split(b"\r\n") if joined else [])

    def set(self, name: str, value: str) -> None:
        """Put a field in place of those of its name."""
        self.remove(name)
        self.lines.append(f"{name}: {value}".encode("latin-1"))

    def remove(self, name: str) -> None:
        """Take the fields of this name away."""
        start = name.lower().encode() + b":"
        self.lines = [line for line in self.lines if not line.lower().startswith(start)]

    def get(self, name: str) -> str:
        """A field's value; empty when there is none."""
        start = name.lower().encode() + b":"
        found = (line for line in self.lines if line.lower().startswith(start))
        return next(found, b":").partition(b":")[2].strip().decode("latin-1")


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK: Final = b"0\r\n\r\n"
