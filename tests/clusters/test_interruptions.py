"""One component killed, stopped, paused, restarted: its clients see just that, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.kube import resources
from hintbound.kube.errors import ConnectionFailed, ConnectionLost, DeadlineExceeded, TransportError
from hintbound.kube.watch import BOOKMARK, Watch, WatchEvent
from tests.clusters.conftest import Pair
from tests.clusters.world import World

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_pods_wait_for_a_killed_scheduler(cluster: EmbeddedCluster, world: World) -> None:
    scheduler = cluster.component("kube-scheduler")
    node = await world.node()
    await scheduler.kill()
    await world.pod("p")
    await asyncio.sleep(0.3)
    assert "nodeName" not in (await world.get("p"))["spec"]

    await scheduler.restart()
    assert await world.bound("p") == node


async def test_pods_wait_for_a_paused_scheduler(cluster: EmbeddedCluster, world: World) -> None:
    scheduler = cluster.component("kube-scheduler")
    node = await world.node()
    pid = scheduler.pid
    scheduler.pause()
    await world.pod("p")
    await asyncio.sleep(0.3)
    assert "nodeName" not in (await world.get("p"))["spec"]

    scheduler.resume()
    assert await world.bound("p") == node
    assert scheduler.pid == pid


async def test_politely_restarted_scheduler_goes_on_under_a_new_process(
    cluster: EmbeddedCluster, world: World
) -> None:
    scheduler = cluster.component("kube-scheduler")
    before, port = scheduler.pid, scheduler.port
    await scheduler.restart()
    await world.node()
    await world.pod("p")
    await world.bound("p")

    assert scheduler.pid != before
    assert scheduler.port == port


async def test_killed_apiserver_refuses_and_comes_back_on_the_same_port(
    cluster: EmbeddedCluster, world: World
) -> None:
    apiserver = cluster.component("kube-apiserver")
    await world.pod("p", schedulerName="nobody")
    async with world.admin.watch(resources.PODS, namespace=world.namespace) as watch:
        await anext(watch)
        await apiserver.kill()
        async with asyncio.timeout(5):
            await _ends(watch)
    with pytest.raises(ConnectionFailed):
        await _asked_anew(world)

    await apiserver.restart()
    assert (await world.get("p"))["metadata"]["name"] == "p"


async def _asked_anew(world: World) -> None:
    """Ask by a connection of its own: those that were kept may not know yet that they are broken, and each
    tells it once."""
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(ConnectionLost):
                await world.get("p")


async def _up_to(watch: Watch, name: str) -> AsyncIterator[WatchEvent]:
    async for event in watch:
        yield event
        if event.object["metadata"].get("name") == name:
            return


async def _ends(watch: Watch) -> None:
    with contextlib.suppress(TransportError):
        async for _ in watch:
            pass


async def test_paused_apiserver_keeps_its_clients_waiting(cluster: EmbeddedCluster, world: World) -> None:
    apiserver = cluster.component("kube-apiserver")
    await world.pod("p", schedulerName="nobody")
    async with world.admin.watch(resources.PODS, namespace=world.namespace) as watch:
        await anext(watch)
        apiserver.pause()
        try:
            with pytest.raises(DeadlineExceeded):
                await world.admin.get(resources.PODS, "p", namespace=world.namespace, timeout=0.5)
        finally:
            apiserver.resume()
        await world.pod("q", schedulerName="nobody")
        async with asyncio.timeout(20):
            seen = [event async for event in _up_to(watch, "q")]

    assert {event.object["metadata"].get("name") for event in seen if event.type != BOOKMARK} == {"q"}


async def test_killed_etcd_loses_nothing(cluster: EmbeddedCluster, world: World) -> None:
    etcd = cluster.component("etcd")
    created = await world.pod("p", schedulerName="nobody")
    await etcd.kill()
    await etcd.restart()

    async with asyncio.timeout(20):
        while True:
            try:
                found = await world.get("p")
                break
            except Exception:
                await asyncio.sleep(0.05)
    assert found["metadata"]["uid"] == created["metadata"]["uid"]


async def test_listener_is_told_of_what_we_did_and_of_no_death(pair: Pair, world: World) -> None:
    pair.told.clear()
    scheduler = pair.cluster.component("kube-scheduler")
    scheduler.pause()
    scheduler.resume()
    await scheduler.kill()
    await scheduler.restart()

    name = "kube-scheduler"
    assert pair.told == [(event, name) for event in ("paused", "resumed", "killed", "started", "ready")]
