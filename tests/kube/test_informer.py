"""The informer, one promise at a time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hintbound.kube import (
    Backoff,
    Change,
    ChangeType,
    Client,
    Informer,
    Initial,
    Json,
    Key,
    Timing,
    errors,
)
from hintbound.kube.resources import CONFIG_MAPS
from tests.kube.model import EXPIRED, Model, refuse, reset
from tests.kube.scripted import Peer, Request, ScriptedServer


class Pauses:
    """A sleep that does not wait, and remembers."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, pause: float) -> None:
        self.slept.append(pause)
        await asyncio.sleep(0)

    @property
    def real(self) -> list[float]:
        return [pause for pause in self.slept if pause]


@asynccontextmanager
async def following(
    model: Model, **options: Any
) -> AsyncIterator[tuple[Informer[Json], ScriptedServer, list[Change[Json]]]]:
    changes: list[Change[Json]] = []
    options.setdefault("timing", Timing(sleep=Pauses()))
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, namespace="a", **options)
        informer.on_change(changes.append)
        async with informer:
            await informer.synced()
            yield informer, server, changes


async def until(condition: Callable[[], bool], *, within: float = 5) -> None:
    """Wait for what happens inside a server or an informer; tests only read, so turns of the loop suffice."""
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.001)


async def watching(model: Model) -> None:
    await until(lambda: bool(model.watchers))


def names(changes: list[Change[Json]]) -> list[tuple[str, str, str]]:
    return [(change.type.value, change.key.name, change.source.value) for change in changes]


def hold(model: Model) -> asyncio.Event:
    """Let the next request wait until the event is set."""
    release = asyncio.Event()

    async def wait(request: Request, peer: Peer) -> None:
        await release.wait()
        await model.serve(request, peer)

    model.refusals.append(wait)
    return release


def watches(server: ScriptedServer) -> list[Request]:
    return [request for request in server.requests if "watch" in request.query]


def lists(server: ScriptedServer) -> list[Request]:
    return [request for request in server.requests if "watch" not in request.query]


def typed(client: Client) -> tuple[Informer[Json], Informer[int]]:
    """For the type checker: without a projection an informer is one of plain objects."""
    return Informer(client, CONFIG_MAPS), Informer(client, CONFIG_MAPS, project=len)


async def test_what_is_there_is_listed_and_what_happens_is_watched() -> None:
    model = Model()
    model.write("old")
    async with following(model) as (informer, _, changes):
        assert dict(informer.state) == model.objects
        await watching(model)
        model.write("new")
        model.write("new")
        model.delete("old")
        await until(lambda: len(changes) == 4)

    assert names(changes) == [
        ("ADDED", "old", "list"),
        ("ADDED", "new", "watch"),
        ("MODIFIED", "new", "watch"),
        ("DELETED", "old", "watch"),
    ]
    assert dict(informer.state) == model.objects
    assert informer.resource_version == str(model.version)
    assert informer.gaps == ()


async def test_a_change_carries_object_version_and_times() -> None:
    model = Model()
    ticks = iter(range(1000))
    timing = Timing(monotonic=lambda: float(next(ticks)), wall=lambda: 1e9 + next(ticks), sleep=Pauses())
    async with following(model, timing=timing) as (_, _, changes):
        await watching(model)
        model.write("n")
        await until(lambda: bool(changes))

    (change,) = changes
    assert change.object == change.value == model.objects[Key("a", "n")]
    assert change.resource_version == str(model.version)
    assert 0 < change.received < 1000
    assert change.received_at > 1e9
    assert not change.relisted


async def test_a_deletion_carries_the_last_state() -> None:
    model = Model()
    model.write("n")
    async with following(model) as (_, _, changes):
        await watching(model)
        model.delete("n")
        await until(lambda: len(changes) == 2)

    assert changes[-1].object is not None
    assert changes[-1].object["metadata"]["resourceVersion"] == str(model.version)


async def test_only_the_projection_is_kept() -> None:
    model = Model()
    model.write("n")
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, project=lambda obj: str(obj["metadata"]["uid"]))
        async with informer:
            change = await anext(informer.subscribe())
        assert dict(informer.state) == {Key("a", "n"): "uid-1"}
    assert change.value == "uid-1"
    assert change.object is not None


async def test_state_cannot_be_written() -> None:
    async with following(Model()) as (informer, _, _):
        with pytest.raises(TypeError):
            informer.state[Key("a", "n")] = {}  # type: ignore[index]


async def test_large_lists_come_in_pages_of_one_version() -> None:
    model = Model()
    for n in range(7):
        model.write(f"n{n}")
    async with following(model, page=3) as (informer, server, changes):
        pass

    assert [request.query["limit"] for request in lists(server)] == ["3", "3", "3"]
    assert len(informer.state) == len(changes) == 7
    assert informer.resource_version == str(model.version)


async def test_pages_that_expire_are_read_anew() -> None:
    model = Model()
    for n in range(4):
        model.write(f"n{n}")

    async def compact_then_serve(request: Request, peer: Peer) -> None:
        model.delete("n0")
        model.compact()
        await model.serve(request, peer)

    model.refusals.extend([model.serve, compact_then_serve])
    async with following(model, page=2) as (informer, _, changes):
        assert dict(informer.state) == model.objects
    assert [change.type for change in changes].count(ChangeType.DELETED) == 1
    assert informer.gaps == (), "nothing was known before the first list was whole"


async def test_initial_state_may_be_streamed() -> None:
    model = Model()
    model.write("one")
    model.write("two")
    async with following(model, initial=Initial.STREAM) as (_, server, changes):
        await watching(model)
        model.write("three")
        await until(lambda: len(changes) == 3)

    assert len(server.requests) == 1
    assert server.requests[0].query["sendInitialEvents"] == "true"
    assert [source for _, _, source in names(changes)] == ["list", "list", "watch"]


async def test_a_server_that_cannot_stream_is_listed() -> None:
    model = Model(streams_initial_events=False)
    model.write("one")
    async with following(model, initial=Initial.STREAM) as (informer, server, _):
        assert dict(informer.state) == model.objects
        await watching(model)
    assert [bool(request.query.get("watch")) for request in server.requests] == [True, False, True]


async def test_a_watch_that_ends_is_watched_on_from_the_last_version() -> None:
    model = Model()
    async with following(model) as (informer, server, changes):
        await watching(model)
        model.write("n")
        await until(lambda: bool(changes))
        model.end_watches()
        await until(lambda: len(watches(server)) == 2)
        model.write("n")
        await until(lambda: len(changes) == 2)

    assert watches(server)[1].query["resourceVersion"] == str(model.version - 1)
    assert informer.gaps == ()
    assert len(lists(server)) == 1


async def test_bookmarks_move_the_version_on_without_a_change() -> None:
    model = Model()
    async with following(model) as (informer, server, changes):
        await watching(model)
        for _ in range(10):
            model.tick()
        model.bookmark()
        await until(lambda: informer.resource_version == str(model.version))
        model.compact()
        model.end_watches()
        await until(lambda: len(watches(server)) == 2)

    assert changes == []
    assert (informer.gaps, len(lists(server))) == ((), 1)


@pytest.mark.parametrize("gone_as_event", [True, False])
async def test_a_version_that_is_gone_is_a_gap_and_the_difference_is_told(gone_as_event: bool) -> None:
    model = Model(gone_as_event=gone_as_event)
    for name in ("same", "changed", "deleted", "replaced"):
        model.write(name)
    async with following(model) as (informer, server, changes):
        await watching(model)
        before = model.version
        away = hold(model)
        model.cut_watches(after=0)
        await until(lambda: len(watches(server)) == 2)
        model.write("changed")
        model.delete("deleted")
        model.delete("replaced")
        model.write("replaced")
        model.write("added")
        model.compact()
        away.set()
        await until(lambda: len(lists(server)) == 2)
        await until(lambda: dict(informer.state) == model.objects)
        await watching(model)

    assert sorted(names(changes[4:])) == [
        ("ADDED", "added", "relist"),
        ("ADDED", "replaced", "relist"),
        ("DELETED", "deleted", "relist"),
        ("DELETED", "replaced", "relist"),
        ("MODIFIED", "changed", "relist"),
    ]
    deletion = next(change for change in changes if change.key.name == "deleted" and change.relisted)
    assert deletion.object is None
    assert deletion.value == changes[1].value
    assert deletion.resource_version == str(model.version)
    (gap,) = informer.gaps
    assert (gap.from_version, gap.to_version) == (str(before), str(model.version))
    assert "too old resource version" in gap.why


async def test_a_relist_that_finds_the_same_version_is_no_gap() -> None:
    model = Model()
    async with following(model) as (informer, server, changes):
        await watching(model)
        model.tell_error(EXPIRED)
        await until(lambda: len(watches(server)) == 2)
    assert (len(lists(server)), changes, informer.gaps) == (2, [], ())


async def test_silence_reopens_the_watch_from_the_last_version() -> None:
    model = Model()
    async with following(model, inactivity=0.03) as (informer, server, _):
        await until(lambda: len(watches(server)) == 3)
        assert isinstance(informer.trouble, errors.WatchInactive | None)
    assert {request.query["resourceVersion"] for request in watches(server)} == {str(model.version)}
    assert len(lists(server)) == 1


async def test_events_told_twice_are_dropped_and_counted() -> None:
    model = Model()
    model.write("n")
    async with following(model) as (informer, _, changes):
        await watching(model)
        model.repeat_event()
        model.write("m")
        await until(lambda: informer.duplicates == 1)
        model.delete("n")
        await until(lambda: len(changes) == 3)
        model.resend(2)
        await until(lambda: informer.duplicates == 2)
    assert len(changes) == 3
    assert dict(informer.state) == model.objects


async def test_transient_errors_are_waited_out_ever_longer_with_jitter_of_a_seed() -> None:
    async def pauses() -> list[float]:
        model = Model()
        model.refusals.extend([refuse(500), reset, refuse(503), refuse(504), reset])
        sleep = Pauses()
        backoff = Backoff(first=1.0, cap=4.0, random=random.Random(7))
        async with following(model, timing=Timing(sleep=sleep, backoff=backoff)):
            pass
        return sleep.real

    slept = await pauses()

    assert [low <= pause <= 2 * low for pause, low in zip(slept, [0.5, 1, 2, 2, 2], strict=True)] == [
        True
    ] * 5
    assert slept == await pauses()


async def test_retry_after_is_obeyed() -> None:
    model = Model()
    model.refusals.extend([refuse(429, Retry_After="7"), refuse(503, Retry_After="9")])
    sleep = Pauses()
    async with following(model, timing=Timing(sleep=sleep)):
        pass
    assert sleep.real[:2] == [7, 9]


async def test_trouble_is_shown_while_it_lasts() -> None:
    model = Model()
    async with ScriptedServer(model.handle) as server, server.client() as client:
        model.refusals.extend([refuse(503)] * 50)
        async with Informer(client, CONFIG_MAPS, namespace="a", timing=Timing(sleep=Pauses())) as informer:
            await until(lambda: isinstance(informer.trouble, errors.ServiceUnavailable))
            await informer.synced()
            await watching(model)
            await until(lambda: informer.trouble is None)


async def test_watches_that_end_at_once_are_not_reopened_at_once() -> None:
    model = Model()
    sleep = Pauses()

    async def end(request: Request, peer: Peer) -> None:
        await peer.begin_stream()
        await peer.end_stream()

    async with following(model, timing=Timing(sleep=sleep)) as (_, server, _):
        await watching(model)
        model.refusals.extend([end] * 5)
        model.end_watches()
        await until(lambda: len(watches(server)) == 7)
    assert len(sleep.real) >= 5
    assert max(sleep.real) > 0.5


@pytest.mark.parametrize("code", [401, 403, 404, 400, 405, 422])
@pytest.mark.parametrize("at", ["list", "watch"])
async def test_a_refusal_ends_it_and_is_told_to_all(code: int, at: str) -> None:
    model = Model()
    model.refusals.extend([refuse(code)] if at == "list" else [model.serve, refuse(code)])
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, namespace="a")
        with pytest.raises(errors.ApiError, match=str(code)):  # noqa: PT012
            async with informer:
                subscriptions = [informer.subscribe(), informer.subscribe()]
                for subscription in subscriptions:
                    with pytest.raises(errors.ApiError, match=str(code)):
                        await anext(subscription)
        with pytest.raises(errors.ApiError, match=str(code)):
            await informer.synced()


@pytest.mark.parametrize("code", [400, 403])
async def test_a_refusal_within_the_watch_ends_it(code: int) -> None:
    model = Model()
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, namespace="a")
        with pytest.raises(errors.ApiError, match=str(code)):  # noqa: PT012
            async with informer:
                await watching(model)
                model.tell_error({"kind": "Status", "code": code, "message": "no"})
                await anext(informer.subscribe())


async def test_a_version_that_ever_fails_is_given_up_for_a_list() -> None:
    """E.g. after etcd was restored from a backup: the version that we know lies in the future."""
    model = Model()
    failure = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "cannot decode"}
    async with following(model) as (informer, server, _):
        for n in range(1, 4):
            await until(lambda n=n: len(watches(server)) == n and bool(model.watchers))  # type: ignore[misc]
            if n == 3:
                model.tick()
            model.tell_error(failure)
        await until(lambda: len(watches(server)) == 4)
    assert len(lists(server)) == 2
    (gap,) = informer.gaps
    assert "cannot decode" in gap.why


async def test_a_failing_callback_ends_it_and_is_not_hidden() -> None:
    model = Model()
    model.write("n")

    def full(change: Change[Json]) -> None:
        raise OSError("disk full")

    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, namespace="a")
        informer.on_change(full)
        with pytest.raises(OSError, match="disk full"):
            async with informer:
                await asyncio.sleep(0.05)


async def test_what_fails_inside_the_block_is_the_news() -> None:
    model = Model()
    model.refusals.append(refuse(403))
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, namespace="a")
        with pytest.raises(ZeroDivisionError):  # noqa: PT012
            async with informer:
                await asyncio.sleep(0.05)
                raise ZeroDivisionError


async def test_iteration_sees_everything_from_the_start_and_ends_with_it() -> None:
    model = Model()
    model.write("one")
    seen = []
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS, namespace="a")
        async with informer:
            async for change in informer:
                seen.append(change.key.name)
                if len(seen) == 1:
                    await watching(model)
                    model.write("two")
                    model.write("three")
                if len(seen) == 2:
                    await informer.aclose()
    assert seen == ["one", "two", "three"]


async def test_each_subscriber_gets_each_change() -> None:
    model = Model()
    async with following(model) as (informer, _, _):
        await watching(model)
        first, second = informer.subscribe(), informer.subscribe()
        model.write("n")
        assert (await anext(first)).key == (await anext(second)).key == Key("a", "n")


async def test_a_callback_that_is_taken_back_is_called_no_more() -> None:
    model = Model()
    heard: list[Change[Json]] = []
    async with following(model) as (informer, _, changes):
        await watching(model)
        take_back = informer.on_change(heard.append)
        model.write("n")
        await until(lambda: len(changes) == 1)
        take_back()
        model.write("n")
        await until(lambda: len(changes) == 2)
    assert len(heard) == 1


async def test_closing_before_the_first_list_is_told_to_who_waits_for_it() -> None:
    async def never(request: Request, peer: Peer) -> None:
        await asyncio.sleep(30)

    async with ScriptedServer(never) as server, server.client() as client:
        informer = Informer(client, CONFIG_MAPS)
        async with informer:
            waiter = asyncio.create_task(informer.synced())
            await asyncio.sleep(0.02)
            await informer.aclose()
            with pytest.raises(RuntimeError, match="informer of configmaps was closed before"):
                await waiter


async def test_an_informer_is_started_once() -> None:
    async with following(Model()) as (informer, _, _):
        with pytest.raises(RuntimeError, match="once"):
            await informer.__aenter__()


async def test_selectors_are_sent_with_lists_and_watches() -> None:
    model = Model()
    options = {"label_selector": "a=b", "field_selector": "metadata.name=n"}
    async with following(model, **options) as (_, server, _):
        await watching(model)
    for request in server.requests:
        assert (request.query["labelSelector"], request.query["fieldSelector"]) == ("a=b", "metadata.name=n")
        assert request.path == "/api/v1/namespaces/a/configmaps"


async def test_closing_leaves_no_task_and_no_connection() -> None:
    model = Model()
    before = asyncio.all_tasks()
    async with following(model):
        await watching(model)
    await asyncio.sleep(0.01)
    assert model.watchers == []
    assert asyncio.all_tasks() == before


def test_backoff_has_a_cap_and_starts_at_nothing() -> None:
    backoff = Backoff(first=0.1, cap=10)

    assert backoff.pause(0) == 0
    assert 0.05 <= backoff.pause(1) <= 0.1
    assert 5 <= backoff.pause(10_000) <= 10
