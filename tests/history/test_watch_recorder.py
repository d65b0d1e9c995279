from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hintbound.history import Event, Kind, Source, Store, WatchRecorder
from hintbound.kube.errors import Forbidden
from hintbound.kube.resources import PODS
from hintbound.protocol import TEST_LABEL
from tests.history.apiserver import Apiserver
from tests.history.lines import pod


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    with Store(tmp_path / "history.ndjson") as store:
        yield store


@pytest.fixture
async def apiserver() -> AsyncIterator[Apiserver]:
    async with Apiserver() as apiserver:
        yield apiserver


async def _seen(store: Store, rv: str) -> Event:
    return await store.wait_for(
        lambda event: event.resource_version == rv, 5, namespace="ns", what=f"resourceVersion {rv}"
    )


def _told(store: Store) -> list[tuple[str, str]]:
    return [(event.kind, event.resource_version) for event in store.slice(namespace="ns")]


async def test_every_version_is_recorded_raw_and_in_order(store: Store, apiserver: Apiserver) -> None:
    async with apiserver.client() as client, WatchRecorder(store, client, cluster="shared"):
        made = [
            await apiserver.put("ADDED", pod()),
            await apiserver.put("MODIFIED", pod(hint="n1")),
            await apiserver.put("DELETED", pod(hint="n1")),
        ]
        await _seen(store, "3")

    events = store.slice(namespace="ns")
    assert [event.data for event in events] == made
    assert [event.kind for event in events] == [Kind.ADDED, Kind.MODIFIED, Kind.DELETED]
    assert {(event.source, event.cluster, event.resource, event.uid) for event in events} == {
        (Source.WATCH, "shared", "pods", "u1")
    }


async def test_what_is_there_at_the_start_is_listed_and_not_added(store: Store, apiserver: Apiserver) -> None:
    await apiserver.put("ADDED", pod())
    async with apiserver.client() as client, WatchRecorder(store, client):
        await _seen(store, "1")

    assert _told(store) == [(Kind.LISTED, "1")]


async def test_a_node_belongs_to_the_test_on_its_label(store: Store, apiserver: Apiserver) -> None:
    node = {"metadata": {"name": "n1", "uid": "n", "labels": {TEST_LABEL: "T"}}}
    async with apiserver.client() as client, WatchRecorder(store, client):
        seen = asyncio.create_task(store.wait_for(lambda event: event.name == "n1", 5))
        await apiserver.put("ADDED", node, plural="nodes")

        assert (await seen).test == "T"
        assert store.slice(test="T") == [await seen]


async def test_a_watch_that_breaks_goes_on_without_a_gap(store: Store, apiserver: Apiserver) -> None:
    async with apiserver.client() as client, WatchRecorder(store, client) as recorder:
        await apiserver.put("ADDED", pod())
        await _seen(store, "1")
        await apiserver.cut()
        await apiserver.put("MODIFIED", pod(hint="n1"))
        await apiserver.put("MODIFIED", pod(hint="n2"))
        await _seen(store, "3")

    assert _told(store) == [(Kind.ADDED, "1"), (Kind.MODIFIED, "2"), (Kind.MODIFIED, "3")]
    assert recorder.gaps == []


async def test_what_a_watch_missed_is_a_gap_told_before_what_came_after(
    store: Store, apiserver: Apiserver
) -> None:
    async with apiserver.client() as client, WatchRecorder(store, client, resources=[PODS]) as recorder:
        await apiserver.put("ADDED", pod())
        await apiserver.put("ADDED", pod("q", uid="u2"))
        await _seen(store, "2")
        apiserver.refuse = 503
        await apiserver.cut()
        await apiserver.put("MODIFIED", pod(hint="n1"))
        await apiserver.put("DELETED", pod("q", uid="u2"))
        await apiserver.put("MODIFIED", pod(hint="n2"))
        await apiserver.cut(forget=True)
        apiserver.refuse = None
        await _seen(store, "5")
        await store.wait_for(lambda event: event.kind == Kind.GONE, 5, namespace="ns")

    assert _told(store) == [
        (Kind.ADDED, "1"),
        (Kind.ADDED, "2"),
        (Kind.GAP, ""),
        (Kind.LISTED, "5"),
        (Kind.GONE, "6"),
    ]
    assert len(recorder.gaps) == 1
    assert "the watch of pods missed what happened between resourceVersions 2 and 6" in recorder.gaps[0]
    assert recorder.trouble == ""


async def test_a_gap_in_which_nothing_changed_is_told_by_the_end(store: Store, apiserver: Apiserver) -> None:
    async with apiserver.client() as client, WatchRecorder(store, client, resources=[PODS]) as recorder:
        await apiserver.cut(forget=True)
        while not recorder.informers[PODS].gaps:
            await asyncio.sleep(0.01)

    assert len(recorder.gaps) == 1


async def test_a_watch_that_may_not_be_opened_is_an_error(store: Store, apiserver: Apiserver) -> None:
    apiserver.refuse = 403
    async with apiserver.client() as client:
        with pytest.raises(Forbidden):
            await WatchRecorder(store, client).__aenter__()


async def test_a_recorder_that_loses_its_rights_says_that_it_died(store: Store, apiserver: Apiserver) -> None:
    async with apiserver.client() as client, WatchRecorder(store, client) as recorder:
        apiserver.refuse = 403
        died = asyncio.create_task(store.wait_for(lambda event: event.kind == Kind.DIED, 5))
        await apiserver.cut()

        assert "Forbidden" in (await died).data["reason"]
        assert recorder.trouble == (await died).data["reason"]
