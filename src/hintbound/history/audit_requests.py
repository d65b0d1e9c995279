"""Requests out of an audit log: what most checks ask is at hand, all else is read again when it is asked for.

A request travels between the steps of `hintbound check` as a row, a plain tuple of strings, numbers and
tuples (`Row`), so that it can be sent and spilled cheaply.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import orjson

from hintbound.history.events import Event, Kind, Source
from hintbound.history.writers import Request, Shown
from hintbound.protocol import Seconds

Row = tuple[Any, ...]
"""The fields of a LoggedRequest without its shelf, in their order; those from `verb` to `code` are a tuple of
their own, which many rows share."""

TRUNCATED, DRY_RUN, BODY_IS_JUNK = 1, 2, 4
"""Bits of `flags`."""

_MOST_OPEN: Final = 16


class Shelf:
    """Where the text of each request lies, and where a person finds it.

    `stores` are files with audit events in them; `ranges` tell of each range of lines that was read the
    file's name, and how many lines stand before it.
    """

    def __init__(self, stores: Sequence[str], ranges: Sequence[tuple[str, int]]) -> None:
        self.stores = stores
        self.ranges = ranges
        self._open: dict[int, int] = {}

    def __reduce__(self) -> tuple[type[Shelf], tuple[Sequence[str], Sequence[tuple[str, int]]]]:
        return Shelf, (self.stores, self.ranges)

    def __del__(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)

    def text(self, store: int, offset: int, length: int) -> bytes:
        """The bytes of one audit event. Raises OSError."""
        if store not in self._open:
            if len(self._open) == _MOST_OPEN:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[store] = os.open(self.stores[store], os.O_RDONLY)
        return os.pread(self._open[store], length, offset)

    def place(self, within: int, line: int) -> str:
        """`FILE:LINE`."""
        name, before = self.ranges[within]
        return f"{name}:{before + line}"


class LoggedRequest(msgspec.Struct, Request, gc=False, eq=False):
    """A write to a pod in an audit log. Its fields are those of Request."""

    namespace: str
    name: str
    verb: str
    subresource: str
    resource: str
    user: str
    user_agent: str
    level: str
    code: int
    uid: str
    received: str
    completed: str
    uri: str
    audit_id: str
    flags: int
    named_uid: str
    named_rv: str
    sent_rv: str
    hint: str | None
    rv: str
    pod: Shown | None
    within: int
    """The range of lines that it was found in."""
    line: int
    """Where in that range, from 1."""
    store: int
    offset: int
    length: int
    shelf: Shelf
    read: dict[str, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        values = tuple(getattr(self, name) for name in self.__struct_fields__[:-1])
        return LoggedRequest, values

    @property
    def event(self) -> Event:  # type: ignore[override]
        """The event as a history would have it; reads it from the log."""
        return Event(
            index=self.line - 1,
            time=self.completed,
            mono=self.mono,
            source=Source.AUDIT,
            kind=Kind.RESPONSE_COMPLETE,
            resource=self.resource,
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            resource_version=self.rv,
            data=self.data,
            extra={"place": self.shelf.place(self.within, self.line)},
        )

    @property
    def data(self) -> dict[str, Any]:
        """The audit event whole."""
        if self.read is None:
            self.read = _loaded(self.shelf.text(self.store, self.offset, self.length))
            if self.flags & BODY_IS_JUNK:
                self.read["requestObject"] = None
        return self.read

    @property
    def truncated(self) -> bool:
        """Whether the apiserver cut off what was sent or answered."""
        return bool(self.flags & TRUNCATED)

    @property
    def dry_run(self) -> bool:
        """Whether it was only tried."""
        return bool(self.flags & DRY_RUN)

    @property
    def body(self) -> Any:
        """What was sent."""
        return None if self.level == "Metadata" else self.data.get("requestObject")

    @property
    def answer(self) -> dict[str, Any]:
        """What was answered."""
        return (self.data.get("responseObject") if self.level == "RequestResponse" else None) or {}

    @property
    def shown(self) -> Shown | None:
        """What the answer shows of the pod."""
        return self.pod

    @property
    def mono(self) -> Seconds:
        """When it was answered, seconds since 1970."""
        return moment(self.completed)


def logged(row: Row, shelf: Shelf) -> LoggedRequest:
    """The request that a row tells of."""
    make: Callable[..., LoggedRequest] = LoggedRequest
    return make(row[0], row[1], *row[2], *row[3:], shelf)


def row_of(request: LoggedRequest) -> Row:
    """The row that tells of a request."""
    values = msgspec.structs.astuple(request)
    return (*values[:2], values[2:9], *values[9:-2])


def _loaded(text: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = orjson.loads(text)
    except ValueError:  # a number that is none for orjson: it was no matter when the line was decoded
        found = json.loads(text)
    return found


_seconds: dict[str, float] = {}
_MOST_SECONDS: Final = 100_000


def moment(stamp: str) -> Seconds:
    """A time as the apiserver writes it, `2026-11-30T09:00:00.000000Z`, in seconds since 1970. Raises
    ValueError."""
    whole = _seconds.get(stamp[:19])
    if whole is None:
        if len(_seconds) >= _MOST_SECONDS:
            _seconds.clear()
        whole = _seconds[stamp[:19]] = datetime.fromisoformat(f"{stamp[:19]}+00:00").timestamp()
    return whole + int(stamp[20:26]) / 1e6


def stamped(text: str) -> str:
    """A time in that form. Raises ValueError for what is none, or is in no year of UTC."""
    if len(text) == 27 and text[26] == "Z" and text[19] == "." and text[20:26].isdecimal():
        if text[:19] not in _seconds:
            moment(text)
        return text
    from datetime import UTC

    from hintbound.history.events import timestamp

    found = datetime.fromisoformat(text)
    try:
        return timestamp(found if found.tzinfo else found.replace(tzinfo=UTC))
    except OverflowError as error:
        raise ValueError(str(error)) from None
