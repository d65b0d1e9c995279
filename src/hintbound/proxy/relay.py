"""An open watch on its way through: each event past the rules that are in force when it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, Protocol, cast

from hintbound.protocol import Seconds
from hintbound.proxy.act import Act
from hintbound.proxy.book import Book
from hintbound.proxy.messages import Answer, Unreadable
from hintbound.proxy.tally import Tally
from hintbound.proxy.target import Target
from hintbound.proxy.watched import CHANGES, Event, Splitter


class Writer(Protocol):
    """Where the client is."""

    def write(self, data: bytes) -> None:
        """Send more of the body."""

    async def drain(self) -> None:
        """Wait until the client has taken enough of it. Raises ConnectionError."""


class Relay:
    """One watch; a Stream for effects."""

    def __init__(
        self,
        book: Book,
        writer: Writer,
        *,
        target: Target,
        path: str,
        user_agent: str,
        act: Callable[[Tally], Act],
    ) -> None:
        self.target = target
        self.json = True
        self.initial = "sendInitialEvents=true" in path
        self._book = book
        self._writer = writer
        self._path = path
        self._user_agent = user_agent
        self._act = act
        self._tallies: tuple[Tally, ...] = ()
        self._kept: dict[str, list[Event]] = {}
        self._seen: set[Tally] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._give_up: Callable[[], None] = lambda: None

    async def run(self, actor: str, answer: Answer) -> None:
        """Pass all events on until the watch ends. Raises Lost, ConnectionError, BadMessage, Reset."""
        kind = answer.fields.get("Content-Type").lower()
        self.json = "json" in kind
        if answer.fields.get("Content-Encoding"):
            self.json = False
        self._give_up = answer.give_up
        self._choose(actor)
        unlisten = self._book.listen(lambda: self._choose(actor))
        try:
            await self._pass_on(cast(AsyncIterator[bytes], answer.body), answer.arrived)
        finally:
            unlisten()
            for task in self._tasks:
                task.cancel()
            answer.give_up()

    async def _pass_on(self, body: AsyncIterator[bytes], arrived: Callable[[], Seconds]) -> None:
        splitter = Splitter(json=self.json)
        async with aclosing(body):  # type: ignore[type-var]
            async for piece in body:
                events, came = splitter.feed(piece), arrived()
                for event in events:
                    if self._closed:
                        return
                    if self._tallies or self._kept:
                        event.came = came
                        self.deliver(*await self._through(event))
                    else:
                        self._writer.write(event.raw)
                    if self.initial and event.ends_initial:
                        self.initial = False
                await self._writer.drain()

    async def _through(self, event: Event) -> Sequence[Event]:
        self._give_back()
        events: Sequence[Event] = (event,)
        for tally in self._tallies:
            passed: list[Event] = []
            for one in events:
                passed += await self._by(tally, one)
            events = passed
        return events

    async def _by(self, tally: Tally, event: Event) -> Sequence[Event]:
        act = self._act(tally)
        try:
            if not self._fits(tally, event) or not tally.allows(act.actor, _identity(event)):
                return (event,)
            events: Sequence[Event] = (event,)
            for effect in tally.rule.objects:
                passed: list[Event] = []
                for one in events:
                    passed += await effect.event(act, self, one)
                events = passed
            for one in events:
                one.came = one.came or event.came
            return events
        except Unreadable as error:
            act.unreadable(str(error))
            return (event,)

    def _fits(self, tally: Tally, event: Event) -> bool:
        """Raises Unreadable."""
        match = tally.rule.match
        if not any(effect.upon_events for effect in tally.rule.objects):
            return False
        reads = match.asks_of_object or any(effect.needs_object for effect in tally.rule.objects)
        if not event.json:
            if reads or match.events:
                raise Unreadable("the watch is not JSON")
            return True
        kind, obj = event.type, event.data.get("object")
        if reads and isinstance(obj, dict) and obj.get("kind") == "Table":
            raise Unreadable("it is a table, not the object")
        if not match.events and kind not in CHANGES:
            return any(effect.bookmarks for effect in tally.rule.objects)
        return match.fits_object(obj, kind)

    def _choose(self, actor: str) -> None:
        """Take the rules that are in force now; those that are new begin."""
        self._tallies = tuple(
            tally
            for tally in self._book.for_objects(actor, self.target)
            if tally.in_force and tally.rule.match.fits_sender(self._path, self._user_agent)
        )
        for tally in self._tallies:
            if tally not in self._seen:
                self._seen.add(tally)
                self._begin(self._opened(tally))

    async def _opened(self, tally: Tally) -> None:
        act = self._act(tally)
        for effect in tally.rule.objects:
            await effect.opened(act, self)
        await tally.until_lifted(act.actor, None, counts=False)
        self._give_back()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _give_back(self) -> None:
        """Deliver what was kept for rules that are no longer in force."""
        if not self._kept:
            return
        in_force = {tally.rule.name for tally in self._book if tally.in_force}
        for rule in [rule for rule in self._kept if rule not in in_force]:
            self.deliver(*self._kept.pop(rule))

    def keep(self, rule: str, event: Event) -> None:
        """See Stream."""
        self._kept.setdefault(rule, []).append(event)

    def kept(self, rule: str) -> list[Event]:
        """See Stream."""
        return self._kept.setdefault(rule, [])

    def deliver(self, *events: Event) -> None:
        """See Stream."""
        for event in events if not self._closed else ():
            self._writer.write(event.raw)

    def close(self) -> None:
        """See Stream."""
        self._closed = True
        self._give_up()


def _identity(event: Event) -> tuple[str, str]:
    if not event.json:
        return "", ""
    obj = event.data.get("object")
    return identity(obj)


def identity(obj: object) -> tuple[str, str]:
    """Namespace and name of an object."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        return "", ""
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
