"""Effects upon open watches, one event at a time."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self
from urllib.parse import parse_qsl, urlencode

from hintbound.data.documents import Part
from hintbound.protocol import Seconds
from hintbound.proxy.act import Act
from hintbound.proxy.effects.effect import ObjectEffect, effect
from hintbound.proxy.messages import Request
from hintbound.proxy.watched import Event, Stream

_EXPIRED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version",
    "reason": "Expired",
    "code": 410,
}
"""What the apiserver sends in an ERROR event when a watch's resourceVersion is no longer to be had."""


@effect("dropEvents")
@dataclass(frozen=True, slots=True)
class DropEvents(ObjectEffect):
    """Events never arrive, and the watch goes on."""

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        act.hit(_said(event, "dropped"))
        return ()


@effect("delayEvents")
@dataclass(frozen=True, slots=True)
class DelayEvents(ObjectEffect):
    """Each event, and all that come after it, arrives so many seconds later."""

    bookmarks: ClassVar[bool] = True
    seconds: Seconds

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        return cls(part.fields(required=["seconds"])["seconds"].number())

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        act.hit(_said(event, f"delayed {self.seconds:g} s"))
        await asyncio.sleep(event.came + self.seconds - time.monotonic())
        return (event,)


@effect("pauseEvents")
@dataclass(frozen=True, slots=True)
class PauseEvents(ObjectEffect):
    """From the first event that fits, nothing more arrives until the rule is released or removed; then all
    does."""

    bookmarks: ClassVar[bool] = True

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        act.hit(_said(event, "held, and all after it"))
        await act.until_lifted()
        return (event,)


@effect("duplicateEvents")
@dataclass(frozen=True, slots=True)
class DuplicateEvents(ObjectEffect):
    """An event arrives `times` in all."""

    times: int

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(optional=["times"])
        return cls(found["times"].whole(least=2) if "times" in found else 2)

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        act.hit(_said(event, f"sent {self.times} times"))
        return (event,) * self.times


@effect("reorderEvents")
@dataclass(frozen=True, slots=True)
class ReorderEvents(ObjectEffect):
    """Of each `of` events that fit, the last arrives first. What waits for others to come arrives when the
    rule is released or removed."""

    size: int

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(optional=["of"])
        return cls(found["of"].whole(least=2) if "of" in found else 2)

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        waiting = stream.kept(act.tally.rule.name)
        waiting.append(event)
        if len(waiting) < self.size:
            return ()
        reordered = waiting[::-1]
        waiting.clear()
        act.hit(f"{self.size} events were sent in reverse order")
        return reordered


@effect("freeze")
@dataclass(frozen=True, slots=True)
class Freeze(ObjectEffect):
    """The reader sees the world as of a resourceVersion: newer events wait until the rule is released or
    removed, lists answer as of then. Without `at`, that is before the first change which comes while the rule
    is in force: a watch that begins with what there is may tell that first.
    """

    verbs: ClassVar[frozenset[str]] = frozenset({"list", "watch"})
    bookmarks: ClassVar[bool] = True
    needs_object: ClassVar[bool] = True
    at: int | None

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(optional=["at"])
        return cls(found["at"].whole(least=1) if "at" in found else None)

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        version, key = event.resource_version, (act.actor, act.target.resource)
        if self.at is None and stream.initial:
            act.tally.memory[key] = version
            return (event,)
        at = act.tally.memory.setdefault(key, self.at or version - 1)
        if version and version <= at:
            return (event,)
        act.hit(_said(event, f"held, for it is newer than {at}"))
        stream.keep(act.tally.rule.name, event)
        return ()

    def asked(self, act: Act, request: Request) -> Request:
        """See OnObjects."""
        at = act.tally.memory.get((act.actor, act.target.resource), self.at)
        path, _, query = request.path.partition("?")
        wanted = dict(parse_qsl(query, keep_blank_values=True))
        if at is None or "continue" in wanted:
            return request
        act.hit(f"listed as of {at}")
        wanted.update(resourceVersion=str(at), resourceVersionMatch="Exact")
        return replace(request, path=f"{path}?{urlencode(wanted)}")


@dataclass(frozen=True, slots=True)
class _Ending(ObjectEffect, ABC):
    """Ends watches: those that are open when the rule is added and each that is opened while it is in force;
    with `at: event`, in place of the first event that fits."""

    at_event: bool

    @property
    def upon_events(self) -> bool:
        """See OnObjects."""
        return self.at_event

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        return cls(_at_event(part))

    async def opened(self, act: Act, stream: Stream) -> None:
        """See OnObjects."""
        if not self.at_event and act.tally.allows(act.actor, None):
            self.end(act, stream, None)

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        self.end(act, stream, event)
        return ()

    @abstractmethod
    def end(self, act: Act, stream: Stream, event: Event | None) -> None:
        """End one, in place of an event or of none."""


@effect("closeWatch")
@dataclass(frozen=True, slots=True)
class CloseWatch(_Ending):
    """Ends watches, as the apiserver does when their time is up: those that are open when the rule is added
    and each that is opened while it is in force; with `at: event`, in place of the first event that fits."""

    def end(self, act: Act, stream: Stream, event: Event | None) -> None:
        """See _Ending."""
        act.hit(_said(event, "the watch was closed in its place") if event else "closed")
        stream.close()


@effect("expireWatch")
@dataclass(frozen=True, slots=True)
class ExpireWatch(_Ending):
    """Ends watches with an ERROR event that holds the Status 410 Expired; when, as for closeWatch. (410 in
    answer to the request itself: `reply: {status: 410}`.)"""

    def end(self, act: Act, stream: Stream, event: Event | None) -> None:
        """See _Ending."""
        if not stream.json:
            act.unreadable("an ERROR event cannot be written into a watch that is not JSON")
            return
        act.hit("ended with 410")
        stream.deliver(Event.of("ERROR", _EXPIRED))
        stream.close()


def _at_event(part: Part) -> bool:
    found = part.fields(optional=["at"])
    if "at" not in found:
        return False
    at = found["at"].text()
    if at not in ("once", "event"):
        raise found["at"].none_of("time", at, ("once", "event"))
    return at == "event"


def _said(event: Event, what: str) -> str:
    return f"an event {event.type} was {what}" if event.json else f"an event was {what}"
