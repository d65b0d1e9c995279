"""Rules upon open watches: also those that are added while the watch is open."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from hintbound.kube.errors import Expired
from hintbound.kube.resources import PODS
from tests.kube.scripted import Peer, Request
from tests.proxy.world import World, event, pod, world


class Feed:
    """A watch's server side: each put line goes out at once; None ends it."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.open = asyncio.Event()

    async def __call__(self, request: Request, peer: Peer) -> None:
        await peer.begin_stream()
        self.open.set()
        while (line := await self.lines.get()) is not None:
            await peer.chunk(line)
        await peer.end_stream()

    def put(self, *versions: int, kind: str = "MODIFIED", name: str = "a") -> None:
        for version in versions:
            self.lines.put_nowait(event(kind, pod(name, version=version)))


@contextlib.asynccontextmanager
async def watching(*rules: dict[str, Any]) -> AsyncIterator[tuple[World, Feed, Any]]:
    feed = Feed()
    async with world(*rules, handler=feed) as w, w.client.watch(PODS) as events:
        await feed.open.wait()
        yield w, feed, events


async def versions(events: Any, count: int) -> list[int]:
    found = []
    async with asyncio.timeout(3):
        async for one in events:
            found.append(int(one.object["metadata"]["resourceVersion"]))
            if len(found) == count:
                break
    return found


def rule(what: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "r",
        "match": {"verb": "watch", "resource": "pods", **more.pop("match", {})},
        "do": what,
        **more,
    }


async def test_dropped_events_never_arrive() -> None:
    only = {"object": [{"path": "metadata.name", "is": "a"}], "event": "MODIFIED"}
    async with watching(rule({"dropEvents": {}}, match=only, when={"first": 1})) as (w, feed, events):
        feed.put(1, name="b")
        feed.put(2, 3, 4)

        assert await versions(events, 3) == [1, 3, 4]
        assert w.proxy.hits("r") == 1


async def test_rule_that_is_added_later_acts_upon_an_open_watch() -> None:
    async with watching() as (w, feed, events):
        feed.put(1)
        assert await versions(events, 1) == [1]
        w.proxy.book.add(rule({"dropEvents": {}}))
        feed.put(2)
        while not w.proxy.hits("r"):
            await asyncio.sleep(0.005)
        w.proxy.book.remove("r")
        feed.put(3)

        assert await versions(events, 1) == [3]


async def test_duplicated_and_reordered() -> None:
    async with watching(rule({"duplicateEvents": {"times": 3}}, when={"nth": 2})) as (_, feed, events):
        feed.put(1, 2, 3)
        assert await versions(events, 5) == [1, 2, 2, 2, 3]
    async with watching(rule({"reorderEvents": {"of": 2}})) as (w, feed, events):
        feed.put(1, 2, 3)
        assert await versions(events, 2) == [2, 1]
        w.proxy.book.remove("r")
        assert await versions(events, 1) == [3]


async def test_paused_watch_delivers_all_in_order_when_it_is_released() -> None:
    async with watching(rule({"pauseEvents": {}})) as (w, feed, events):
        feed.put(1, 2, 3)
        while not w.proxy.book.tally("r").waiting["scheduler"]:
            await asyncio.sleep(0.005)
        w.proxy.book.release("r")
        feed.put(4)

        assert await versions(events, 4) == [1, 2, 3, 4]
        assert w.proxy.hits("r") == 1


async def test_delayed_events_are_late_once_and_not_one_after_the_other() -> None:
    edit = {**rule({"editObjects": [{"set": "status.phase", "value": "Odd"}]}), "name": "edit"}
    async with watching(edit, rule({"delayEvents": {"seconds": 0.3}})) as (w, feed, events):
        began = time.monotonic()
        for version in range(1, 11):
            feed.put(version)
            await asyncio.sleep(0.01)
        assert await versions(events, 10) == list(range(1, 11))

        assert 0.3 <= time.monotonic() - began < 1.5
        assert w.proxy.hits("r") == 10


async def test_pause_ends_by_itself_when_its_time_is_up() -> None:
    async with watching(rule({"pauseEvents": {}}, when={"for": 0.2})) as (_, feed, events):
        feed.put(1, 2, 3)
        assert await versions(events, 3) == [1, 2, 3]


async def test_frozen_watch_holds_newer_events_until_the_rule_is_gone() -> None:
    async with watching(rule({"freeze": {"at": 2}})) as (w, feed, events):
        feed.put(1, 2, 3)
        assert await versions(events, 2) == [1, 2]
        while w.proxy.hits("r") < 1:
            await asyncio.sleep(0.005)
        w.proxy.book.remove("r")
        feed.put(4)

        assert await versions(events, 2) == [3, 4]


async def test_frozen_from_now_on_lets_a_watch_tell_first_what_there_is() -> None:
    ends = {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}
    feed = Feed()
    async with (
        world(rule({"freeze": {}}), handler=feed) as w,
        w.client.watch(PODS, send_initial_events=True) as events,
    ):
        feed.put(3, 5, kind="ADDED")
        feed.lines.put_nowait(event("BOOKMARK", ends))
        feed.put(8)
        assert await versions(events, 3) == [3, 5, 7]
        while not w.proxy.hits("r"):
            await asyncio.sleep(0.005)
        w.proxy.book.remove("r")
        assert await versions(events, 1) == [8]


async def test_frozen_lists_are_asked_for_as_of_then() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.json({"kind": "PodList", "items": []})

    frozen = {"name": "r", "match": {"resource": "pods"}, "do": {"freeze": {"at": 7}}}
    async with world(frozen, handler=handler) as w:
        await w.client.list(PODS)

        assert w.server.requests[0].query == {"resourceVersion": "7", "resourceVersionMatch": "Exact"}


async def test_open_watch_is_closed_at_once() -> None:
    async with watching() as (w, feed, events):
        feed.put(1)
        assert await versions(events, 1) == [1]
        w.proxy.book.add(rule({"closeWatch": {}}))

        async with asyncio.timeout(3):
            assert [e async for e in events] == []
        assert w.proxy.hits("r") == 1


async def test_open_watch_ends_with_an_error_410() -> None:
    async with watching(rule({"expireWatch": {"at": "event"}}, when={"after": 1})) as (w, feed, events):
        feed.put(1, 2)
        assert await versions(events, 1) == [1]
        last = await anext(events)
        assert isinstance(events.error_in(last), Expired)
        assert w.proxy.hits("r") == 1


async def test_protobuf_watch_is_passed_on_and_counted() -> None:
    frames = [b"\x00\x00\x00\x03abc", b"\x00\x00\x00\x01d"]

    async def handler(request: Request, peer: Peer) -> None:
        await peer.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf;stream=watch\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        await peer.chunk(frames[0] + frames[1][:3])
        await peer.chunk(frames[1][3:])
        await peer.end_stream()

    edit = rule({"editObjects": [{"remove": "status.nominatedNodeName"}]})
    async with world(edit, handler=handler) as w:
        answer = await w.ask("GET", "/api/v1/pods?watch=true")

        assert answer.endswith(b"7\r\n" + frames[0] + b"\r\n5\r\n" + frames[1] + b"\r\n0\r\n\r\n")
        assert w.proxy.book.tally("r").unreadable["scheduler"] == 2
