"""The event model: everything that happened in a run, one JSON line each, whoever recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import orjson

from hintbound.protocol import Seconds


class Source(StrEnum):
    """Who recorded an event. The first three know nothing of each other, as witnesses should."""

    WATCH = "watch"
    CLIENT = "client"
    AUDIT = "audit"
    ENGINE = "engine"
    PROXY = "proxy"


class Kind(StrEnum):
    """What an event tells. A history may carry kinds that this version does not know; they are kept."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    LISTED = "listed"
    """Seen in a list: how it was when the watch began, or after a gap. Who made this version is not asked."""
    GONE = "gone"
    """There before a gap, and not after it."""
    BOOKMARK = "bookmark"

    REQUEST = "request"
    RESPONSE = "response"
    LOST = "lost"
    """A request was sent and no answer came: whether it took effect is unknown."""
    CLOSED = "closed"
    """A watch that had been accepted ended."""

    PASSED = "passed"
    """A proxy has seen an exchange to its end, and what rules did to it."""
    ACTED = "acted"
    """A rule of a proxy did something to an open watch, or after an exchange was over."""

    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"

    GAP = "gap"
    """A recorder missed events; which ones is unknown, that some were possible is certain."""
    DIED = "died"
    """A recorder stopped for good; nothing after this is witnessed by it."""

    RUN_STARTED = "run-started"
    RUN_FINISHED = "run-finished"
    SCENARIO_STARTED = "scenario-started"
    SCENARIO_FINISHED = "scenario-finished"
    MARKER = "marker"
    FAULT_BEGAN = "fault-began"
    FAULT_ENDED = "fault-ended"
    COMPONENT_STARTED = "component-started"
    COMPONENT_READY = "component-ready"
    COMPONENT_KILLED = "component-killed"
    COMPONENT_PAUSED = "component-paused"
    COMPONENT_RESUMED = "component-resumed"
    COMPONENT_STOPPED = "component-stopped"
    COMPONENT_EXITED = "component-exited"


LOSSES: Final = frozenset({Kind.GAP, Kind.DIED})
"""Kinds after which a record is no longer whole."""

VERSIONS: Final = frozenset({Kind.ADDED, Kind.MODIFIED, Kind.DELETED, Kind.LISTED})
"""Kinds that carry a version of an object."""

_JSON_NAMES: Final = {"resource_version": "resourceVersion"}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of `history.ndjson`. Absent strings are empty; `data` is what the recorder saw, unchanged."""

    index: int
    """Position in the run, from 0 without holes."""
    time: str
    """When it was recorded: RFC 3339, UTC, microseconds."""
    mono: Seconds
    """The same on the monotonic clock, seconds since the run's start. Order and durations come from here."""
    source: str
    kind: str
    cluster: str = ""
    test: str = ""
    resource: str = ""
    """Plural name, with the subresource where there is one: `pods`, `pods/status`, `nodes`."""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Top-level fields that a later version wrote and this one does not know."""

    def to_line(self) -> bytes:
        """The event as one JSON line, newline included; empty fields are left out.

        Raises:
            TypeError: `data` holds something that JSON cannot say.
        """
        record: dict[str, Any] = dict(self.extra)
        for name, key in _FIELDS:
            value = getattr(self, name)
            if value or name in _ALWAYS:
                record[key] = value
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def from_line(cls, line: bytes | str) -> Event:
        """Read one line back.

        Raises:
            ValueError: not JSON, or not an event (orjson's own error is a ValueError too).
        """
        record = orjson.loads(line)
        if not isinstance(record, dict) or not record.keys() >= _ALWAYS:
            raise ValueError(f"not an event: needs {', '.join(sorted(_ALWAYS))}")
        known = {name: record.pop(key) for name, key in _FIELDS if key in record}
        return cls(**known, extra=record)


_FIELDS: Final = tuple((f.name, _JSON_NAMES.get(f.name, f.name)) for f in fields(Event) if f.name != "extra")
_ALWAYS: Final = frozenset({"index", "time", "mono", "source", "kind"})


def timestamp(at: datetime | None = None) -> str:
    """RFC 3339 in UTC with microseconds, as Kubernetes writes a MicroTime; of now unless told otherwise."""
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
