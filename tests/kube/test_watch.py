"""Watches: whole events, whatever the network does to their bytes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hintbound.kube import Watch, errors
from hintbound.kube.resources import PODS
from hintbound.kube.watch import Lines
from tests.kube.scripted import Peer, Request, ScriptedServer
from tests.kube.test_client import Recorder


def event(n: int, kind: str = "ADDED", **more: Any) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"name": f"p{n}", "resourceVersion": str(n)}, **more}}


def line(n: int, **more: Any) -> bytes:
    return orjson.dumps(event(n, **more)) + b"\n"


def streaming(*chunks: bytes, end: str = "end_stream") -> Any:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.begin_stream()
        for chunk in chunks:
            await peer.chunk(chunk)
            await asyncio.sleep(0)
        if end == "end_stream":
            await peer.end_stream()
        elif end == "hang":
            await asyncio.sleep(30)
        else:
            getattr(peer, end)()

    return handler


async def names(watch: Watch) -> list[str]:
    return [seen.object["metadata"]["name"] async for seen in watch]


@given(st.lists(st.binary(max_size=9)), st.data())
def test_lines_are_the_same_wherever_the_stream_is_cut(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    lines = Lines()

    seen = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        seen += lines.feed(stream[begin:end])

    *whole, rest = stream.split(b"\n")
    assert seen == [part for part in whole if part]
    assert lines.rest() == rest


@settings(max_examples=25, deadline=None)
@given(st.data())
async def test_events_are_the_same_wherever_chunks_are_cut(data: st.DataObject) -> None:
    events = [event(n, text="ü→😀" * n) for n in range(5)]
    stream = b"".join(orjson.dumps(one) + b"\n" for one in events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    async with ScriptedServer(streaming(*chunks)) as server, server.client() as client:
        seen = [one async for one in client.watch(PODS)]

    assert [{"type": one.type, "object": one.object} for one in seen] == events
    assert b"".join(one.raw + b"\n" for one in seen) == stream


async def test_a_line_of_many_megabytes_is_one_event() -> None:
    big = line(1, text="x" * 40_000_000)
    chunks = [big[at : at + 100_000] for at in range(0, len(big), 100_000)]

    begun = time.process_time()
    async with ScriptedServer(streaming(*chunks, line(2))) as server, server.client() as client:
        first, second = [one async for one in client.watch(PODS)]

    assert len(first.object["text"]) == 40_000_000
    assert second.object["metadata"]["name"] == "p2"
    assert time.process_time() - begun < 5


async def test_watch_asks_for_what_it_is_told() -> None:
    async with ScriptedServer(streaming()) as server, server.client() as client:
        await names(
            client.watch(
                PODS,
                namespace="a",
                resource_version="7",
                label_selector="a=b",
                field_selector="metadata.name=p",
                timeout_seconds=5,
            )
        )
        await names(client.watch(PODS, bookmarks=False))
        await names(client.watch(PODS, send_initial_events=True))

    assert [(request.path, request.query) for request in server.requests] == [
        (
            "/api/v1/namespaces/a/pods",
            {
                "watch": "true",
                "resourceVersion": "7",
                "labelSelector": "a=b",
                "fieldSelector": "metadata.name=p",
                "allowWatchBookmarks": "true",
                "timeoutSeconds": "5",
            },
        ),
        ("/api/v1/pods", {"watch": "true"}),
        (
            "/api/v1/pods",
            {
                "watch": "true",
                "allowWatchBookmarks": "true",
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
            },
        ),
    ]


async def test_entering_returns_once_the_server_has_accepted() -> None:
    accept = asyncio.Event()

    async def handler(request: Request, peer: Peer) -> None:
        await accept.wait()
        await peer.begin_stream()
        await asyncio.sleep(30)

    async with ScriptedServer(handler) as server, server.client() as client:
        watch = client.watch(PODS)
        opening = asyncio.create_task(watch.open())
        done, _ = await asyncio.wait([opening], timeout=0.05)
        assert not done
        accept.set()
        await asyncio.wait_for(opening, 1)
        await watch.aclose()


async def test_refusal_is_raised_at_opening() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.json({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}, 410)

    async with ScriptedServer(handler) as server, server.client() as client:
        with pytest.raises(errors.Expired, match="too old"):
            async with client.watch(PODS):
                pass


async def test_error_event_is_given_and_can_be_read() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    stream = orjson.dumps({"type": "ERROR", "object": status}) + b"\n"

    async with ScriptedServer(streaming(line(1), stream)) as server, server.client() as client:
        watch = client.watch(PODS)
        added, error = [one async for one in watch]

    assert watch.error_in(added) is None
    assert isinstance(watch.error_in(error), errors.Expired)


@pytest.mark.parametrize("end", ["close", "abort"])
async def test_cut_watch_is_a_lost_connection_that_changed_nothing(end: str) -> None:
    async with ScriptedServer(streaming(line(1), end=end)) as server, server.client() as client:
        with pytest.raises(errors.ConnectionLost) as caught:
            await names(client.watch(PODS))
    assert not caught.value.may_have_been_applied
    assert len(server.requests) == 1


async def test_events_before_a_half_one_are_given_first() -> None:
    async with ScriptedServer(streaming(line(1) + line(2)[:20])) as server, server.client() as client:
        watch = client.watch(PODS)
        assert (await anext(watch)).object["metadata"]["name"] == "p1"
        with pytest.raises(errors.ConnectionLost, match="middle of an event"):
            await anext(watch)


async def test_last_event_needs_no_line_end() -> None:
    async with ScriptedServer(streaming(line(1), line(2)[:-1])) as server, server.client() as client:
        assert await names(client.watch(PODS)) == ["p1", "p2"]


@pytest.mark.parametrize("odd", [b"{]", b"[]", b"7", b'{"type": "ADDED"}', b"<html>"])
async def test_a_line_that_is_no_event_is_an_error_after_those_before_it(odd: bytes) -> None:
    stream = line(1) + odd + b"\n" + line(2)

    async with ScriptedServer(streaming(stream)) as server, server.client() as client:
        watch = client.watch(PODS)
        assert (await anext(watch)).object["metadata"]["name"] == "p1"
        with pytest.raises(errors.MalformedAnswer):
            await anext(watch)


async def test_empty_lines_are_nothing() -> None:
    async with ScriptedServer(streaming(b"\n\n" + line(1) + b"\n")) as server, server.client() as client:
        assert await names(client.watch(PODS)) == ["p1"]


async def test_silence_is_told_after_the_events_before_it() -> None:
    async with ScriptedServer(streaming(line(1), end="hang")) as server, server.client() as client:
        watch = client.watch(PODS, inactivity=0.05)
        assert (await anext(watch)).object["metadata"]["name"] == "p1"
        with pytest.raises(errors.WatchInactive, match=r"silent for 0\.05 s"):
            await anext(watch)


async def test_a_caller_that_gives_up_on_one_event_misses_none() -> None:
    more = asyncio.Event()

    async def handler(request: Request, peer: Peer) -> None:
        await peer.begin_stream()
        await peer.chunk(line(1)[:9])
        await more.wait()
        await peer.chunk(line(1)[9:] + line(2))
        await peer.end_stream()

    async with ScriptedServer(handler) as server, server.client() as client, client.watch(PODS) as watch:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(watch), 0.05)
        more.set()
        assert await names(watch) == ["p1", "p2"]


async def test_opening_has_a_deadline() -> None:
    async def never(request: Request, peer: Peer) -> None:
        await asyncio.sleep(30)

    async with ScriptedServer(never) as server, server.client() as client:
        with pytest.raises(errors.DeadlineExceeded):
            await client.watch(PODS, timeout=0.05).open()


async def test_closing_ends_iteration_and_connection() -> None:
    async with ScriptedServer(streaming(line(1) + line(2), end="hang")) as server, server.client() as client:
        watch = client.watch(PODS)
        await anext(watch)
        await watch.aclose()
        await watch.aclose()
        assert await names(watch) == []


async def test_closing_a_watch_ends_a_reader_that_waits() -> None:
    async with ScriptedServer(streaming(end="hang")) as server, server.client() as client:
        watch = client.watch(PODS)
        await watch.open()
        reader = asyncio.create_task(names(watch))
        await asyncio.sleep(0.02)
        await watch.aclose()
        assert await asyncio.wait_for(reader, 1) == []


async def test_tap_sees_a_watch_open_and_close() -> None:
    tap = Recorder()
    async with ScriptedServer(streaming(line(1), end="hang")) as server, server.client(tap=tap) as client:
        watch = client.watch(PODS)
        assert tap.told == []
        async with watch:
            assert [kind for kind, _, _ in tap.told] == ["start", "opened"]
            await anext(watch)

    assert [kind for kind, _, _ in tap.told] == ["start", "opened", "finished"]
    assert all(call.watch for _, call, _ in tap.told)
    assert (tap.last.status, tap.last.error) == (200, None)


async def test_tap_sees_why_a_watch_broke_once() -> None:
    tap = Recorder()
    async with ScriptedServer(streaming(line(1), end="close")) as server, server.client(tap=tap) as client:
        watch = client.watch(PODS)
        with pytest.raises(errors.ConnectionLost):
            await names(watch)
        await watch.aclose()

    assert [kind for kind, _, _ in tap.told] == ["start", "opened", "finished"]
    assert isinstance(tap.last.error, errors.ConnectionLost)


async def test_tap_sees_a_refused_watch_with_its_status() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.json({"kind": "Status", "code": 403, "reason": "Forbidden"}, 403)

    tap = Recorder()
    async with ScriptedServer(handler) as server, server.client(tap=tap) as client:
        with pytest.raises(errors.Forbidden):
            await names(client.watch(PODS))

    assert [kind for kind, _, _ in tap.told] == ["start", "finished"]
    assert (tap.last.status, tap.last.body["reason"]) == (403, "Forbidden")
    assert isinstance(tap.last.error, errors.Forbidden)
