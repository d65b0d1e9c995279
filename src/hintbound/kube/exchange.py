"""What was said to an apiserver and what it answered, as values that recorders take.

Every exchange has an id that travels as the `Audit-ID` header: the apiserver uses it as the `auditID` of its
audit events, so a call of ours and the audit log's view of it can be joined exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hintbound.protocol import Seconds

Json = dict[str, Any]
"""A Kubernetes object or any other JSON object, as plain data."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request, before anything of it is sent."""

    id: str
    """Also the `auditID` of its audit events."""
    actor: str
    user_agent: str
    method: str
    path: str
    query: Mapping[str, str]
    content_type: str | None
    body: Any
    """The caller's own object, not a copy: who keeps it past `Tap.start` must serialise it there."""
    watch: bool
    started: Seconds
    """On the monotonic clock."""
    started_at: Seconds
    """On the wall clock, since the epoch."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. No status: no answer. An error beside a status: a refusal, or it broke off."""

    ended: Seconds
    """On the monotonic clock."""
    ended_at: Seconds
    """On the wall clock, since the epoch."""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """With lower-case names."""
    body: Any = None
    """Parsed when JSON, else text. None for a watch: its events are the watcher's to record."""
    error: BaseException | None = None
    """An ApiError or TransportError, or CancelledError when the caller gave up."""


class Tap(Protocol):
    """Told of every exchange of a client as it happens. An exception from it fails the call."""

    def start(self, call: Call) -> None:
        """Nothing has been sent yet."""

    def opened(self, call: Call, outcome: Outcome) -> None:
        """A watch was accepted; its `finished` follows when it is closed."""

    def finished(self, call: Call, outcome: Outcome) -> None:
        """The answer is whole, or there will be none."""
