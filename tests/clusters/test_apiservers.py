"""More than one apiserver on one etcd: other gates, other versions, the same objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hintbound.clusters import ApiserverSpec, Component
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.protocol import Actor
from tests.clusters.world import World, audit

pytestmark = pytest.mark.asyncio(loop_scope="session")

_CLEARING = "ClearingNominatedNodeNameAfterBinding"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def servers(pair: object) -> AsyncIterator[tuple[Component, Component]]:
    """One with the clearing gate off, one of the version before."""
    cluster: EmbeddedCluster = pair.cluster  # type: ignore[attr-defined]
    added = await asyncio.gather(
        cluster.add_apiserver(ApiserverSpec(gates={_CLEARING: False})),
        cluster.add_apiserver(ApiserverSpec(version="1.34.4")),
    )
    yield added
    await asyncio.gather(*(cluster.remove(server) for server in added))


async def test_each_says_its_own_version_and_gates(
    cluster: EmbeddedCluster, servers: tuple[Component, Component]
) -> None:
    states = {state.name: state for state in await cluster.components()}
    said = [states[name] for name in ("kube-apiserver", *(server.name for server in servers))]

    assert [state.version for state in said] == ["v1.35.4", "v1.35.4", "v1.34.4"]
    assert [(state.gates or {})[_CLEARING] for state in said] == [True, False, False]


async def test_binding_clears_the_hint_only_through_a_server_with_the_gate(
    cluster: EmbeddedCluster, world: World, servers: tuple[Component, Component]
) -> None:
    node = await world.node()
    hints = {}
    for name in ("kube-apiserver", *(server.name for server in servers)):
        await world.pod(f"via-{name}", schedulerName="nobody")
        await _hint(world, f"via-{name}", node)
        await _bind(world, f"via-{name}", node, cluster.client(Actor.ADMIN, server=name))
        hints[name] = (await world.get(f"via-{name}"))["status"].get("nominatedNodeName")

    assert hints == {"kube-apiserver": None, servers[0].name: node, servers[1].name: node}


async def test_what_one_writes_the_others_watchers_see(
    cluster: EmbeddedCluster, world: World, servers: tuple[Component, Component]
) -> None:
    clients = [cluster.client(Actor.ADMIN, server=server.name) for server in servers]
    for number, writer in enumerate(clients):
        await world.pod(f"p{number}", client=writer, schedulerName="nobody")
        for reader in (*clients, world.admin):
            await world.until(f"p{number}", lambda _: True, client=reader)


async def test_actors_are_the_same_users_everywhere(
    cluster: EmbeddedCluster, world: World, servers: tuple[Component, Component]
) -> None:
    node = await world.node()
    await world.pod("p", schedulerName="nobody")
    for server in servers:
        nominator = cluster.client(Actor.NOMINATOR, server=server.name)
        await nominator.patch(
            resources.PODS,
            "p",
            {"status": {"nominatedNodeName": node}},
            namespace=world.namespace,
            subresource="status",
        )


async def test_each_has_an_audit_log_of_what_it_served(
    cluster: EmbeddedCluster, world: World, servers: tuple[Component, Component]
) -> None:
    for name in ("kube-apiserver", *(server.name for server in servers)):
        await world.pod(name, client=cluster.client(Actor.ADMIN, server=name), schedulerName="nobody")

    created = [
        [
            event["objectRef"]["name"]
            for event in audit(log)
            if event["verb"] == "create"
            and event.get("objectRef", {}).get("namespace") == world.namespace
            and event["objectRef"]["resource"] == "pods"
        ]
        for log in cluster.audit_logs()
    ]
    assert created == [["kube-apiserver"], [servers[0].name], [servers[1].name]]


async def _hint(world: World, name: str, node: str) -> None:
    await world.admin.patch(
        resources.PODS,
        name,
        {"status": {"nominatedNodeName": node}},
        namespace=world.namespace,
        subresource="status",
    )


async def _bind(world: World, name: str, node: str, client: Client) -> None:
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"name": node}}
    await client.create(resources.PODS, body, namespace=world.namespace, subresource="binding")
