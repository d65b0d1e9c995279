"""A watch's answer as events: cut out of what comes, and read only when a rule asks."""

from __future__ import annotations

import struct
from typing import Any, Final, Protocol

import orjson

from hintbound.protocol import Seconds
from hintbound.proxy.http import BadMessage
from hintbound.proxy.messages import Unreadable
from hintbound.proxy.target import Target

_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of one event. An object has 1.5 MiB at most in etcd; more can only be something else."""
_PREFIX: Final = struct.Struct(">I")
CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})


class Event:
    """One event of a watch."""

    __slots__ = ("_data", "came", "json", "raw")

    def __init__(self, raw: bytes, *, json: bool) -> None:
        self.raw = raw
        """As it is sent, with what ends or begins it."""
        self.json = json
        self.came: Seconds = 0.0
        """When it came from the apiserver, on the monotonic clock; 0 for one of our own."""
        self._data: dict[str, Any] | None = None

    @classmethod
    def of(cls, kind: str, obj: Any) -> Event:
        """A new one."""
        return cls(orjson.dumps({"type": kind, "object": obj}) + b"\n", json=True)

    @property
    def data(self) -> dict[str, Any]:
        """`type` and `object`, to be read only. Raises Unreadable."""
        if self._data is None:
            self._data = self._read()
        return self._data

    @property
    def type(self) -> str:
        """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. Raises Unreadable."""
        return str(self.data.get("type") or "")

    @property
    def object(self) -> Any:
        """A copy of the object, to be changed at will. Raises Unreadable."""
        return self._read().get("object")

    @property
    def resource_version(self) -> int:
        """0 when the object has none that is a number. Raises Unreadable."""
        obj = self.data.get("object")
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        version = str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""
        return int(version) if version.isdigit() else 0

    def _read(self) -> dict[str, Any]:
        if not self.json:
            raise Unreadable("the watch is not JSON")
        try:
            data = orjson.loads(self.raw)
        except ValueError as error:
            raise Unreadable(f"an event is not JSON: {error}") from error
        if not isinstance(data, dict):
            raise Unreadable("an event is no object")
        return data

    @property
    def ends_initial(self) -> bool:
        """Whether it is the bookmark after the first events of a WatchList."""
        return b"k8s.io/initial-events-end" in self.raw and (not self.json or self.type == "BOOKMARK")


class Splitter:
    """Cuts a watch's body into events: lines of JSON, or protobuf behind its length."""

    __slots__ = ("_json", "_rest")

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._rest = b""

    def feed(self, piece: bytes) -> list[Event]:
        """The events that are whole now. Raises BadMessage."""
        data = self._rest + piece if self._rest else piece
        if len(data) > _LARGEST:
            raise BadMessage("an event of a watch does not end")
        if self._json:
            *lines, self._rest = data.split(b"\n")
            return [Event(line + b"\n", json=True) for line in lines if line.strip()]
        events, at = [], 0
        while len(data) >= at + _PREFIX.size:
            end = at + _PREFIX.size + _PREFIX.unpack_from(data, at)[0]
            if len(data) < end:
                break
            events.append(Event(data[at:end], json=False))
            at = end
        self._rest = data[at:]
        return events

    @property
    def rest(self) -> bytes:
        """What came of an event that is not whole."""
        return self._rest


class Stream(Protocol):
    """An open watch, as effects see it."""

    target: Target
    json: bool
    initial: bool
    """Whether it is a WatchList that still tells what there was when it began."""

    def keep(self, rule: str, event: Event) -> None:
        """Keep an event back until the rule is lifted, or somebody takes it."""

    def kept(self, rule: str) -> list[Event]:
        """What is kept for a rule: its own list, to be changed at will."""

    def deliver(self, *events: Event) -> None:
        """Send events out of turn."""

    def close(self) -> None:
        """End it as a server does whose time is up."""
