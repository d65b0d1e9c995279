"""The components of a real kind cluster obey, and what somebody else made is left as it was found.

Needs a Docker engine and HINTBOUND_KIND_IMAGE.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hintbound.clusters import from_kind, parse
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.embedded.process import ComponentDied
from hintbound.clusters.kind import docker, node
from hintbound.clusters.kind.cluster import KindCluster
from hintbound.clusters.protocol import Capability, SchedulerSpec
from hintbound.kube import resources
from hintbound.kube.errors import NotFound
from hintbound.protocol import CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING as CLEARING
from hintbound.protocol import NOMINATED_NODE_NAME_FOR_EXPECTATION as EXPECTATION
from hintbound.protocol import Actor, ComponentKind

pytestmark = pytest.mark.asyncio(loop_scope="module")

_GATED = (ComponentKind.APISERVER, ComponentKind.CONTROLLER_MANAGER, ComponentKind.SCHEDULER)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told() -> list[tuple[str, str]]:
    """What the listener was told: event and component."""
    return []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(
    kind_spec: str, told: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[KindCluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HINTBOUND_STATE", str(tmp_path_factory.mktemp("state")))
        options = Options(listener=lambda event, part, _: told.append((event, part.name)))
        made = KindCluster(parse(kind_spec), options)
        made.resolve()
        await made.start()
        yield made
        name = kind_name(made)
        await made.close()
        assert docker.containers(name) == []
        assert docker.docker("network", "ls", "--quiet", f"--filter=name=^{name}$") == ""


def kind_name(cluster: KindCluster) -> str:
    """kind's name of it."""
    return f"hintbound-{cluster.kubeconfig().parent.parent.name}"


async def test_every_component_says_itself_what_the_config_sets(cluster: KindCluster) -> None:
    states = {state.kind: state for state in await cluster.components()}

    for kind in _GATED:
        gates = states[kind].gates
        assert gates is not None, states[kind].source
        assert (gates[EXPECTATION], gates[CLEARING]) == (True, True)
        assert states[kind].version == f"v{cluster._nodes.version}"


async def test_the_node_holds_two_workers_with_kubelets(cluster: KindCluster) -> None:
    nodes = (await cluster.client(Actor.ADMIN).request("GET", resources.NODES.path())).body["items"]

    assert len(nodes) == 3
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes} == {f"v{cluster._nodes.version}"}


async def test_the_audit_log_comes_out_of_the_node(cluster: KindCluster) -> None:
    (log,) = cluster.audit_logs()

    assert '"resource":"pods"' in log.read_text()


@pytest.mark.parametrize("kind", [ComponentKind.SCHEDULER, ComponentKind.CONTROLLER_MANAGER])
async def test_a_component_is_held_and_let_go(
    cluster: KindCluster, told: list[tuple[str, str]], kind: ComponentKind
) -> None:
    part = cluster.component(kind)

    part.pause()
    assert await part.lifeless() == f"{kind} stands still (SIGSTOP)"
    part.resume()
    assert await part.lifeless() == ""

    await part.kill()
    assert (await part.state()).gates is None
    assert await part.lifeless() == "", "it was ended"
    await part.restart()
    assert (await part.state()).gates is not None

    part.pause()
    await part.stop()
    await part.restart()
    assert await part.lifeless() == ""
    assert [event for event, name in told if name == kind] == [
        *("paused", "resumed", "killed", "started"),
        *("paused", "stopped", "started"),
    ]


async def test_a_scheduler_of_ones_own_is_the_nodes_program(cluster: KindCluster) -> None:
    refused = {"percentageOfNodesToScore": 700}
    with pytest.raises(ComponentDied, match="percentageOfNodesToScore"):
        await cluster.add_scheduler(SchedulerSpec("mine", config=refused))
    part = await cluster.add_scheduler(SchedulerSpec("mine", gates={EXPECTATION: False}))

    state = await part.state()
    assert state.version == f"v{cluster._nodes.version}"
    assert state.gates is not None
    assert (state.gates[EXPECTATION], state.gates[CLEARING]) == (False, True)
    await cluster.remove(part)
    with pytest.raises(KeyError):
        cluster.component(part.name)


async def test_a_cluster_of_somebody_elses_is_left_as_it_was_found(
    cluster: KindCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_kind import KindCluster as Theirs

    monkeypatch.chdir(tmp_path)  # it makes a folder
    admin = cluster.client(Actor.ADMIN)
    await admin.delete(resources.PRIORITY_CLASSES, "hintbound-low")
    nodes = docker.containers(kind_name(cluster))

    attached = from_kind(Theirs(kind_name(cluster)))
    assert isinstance(attached, KindCluster)
    await attached.start()
    assert Capability.AUDIT not in attached.capabilities
    states = {state.kind: state for state in await attached.components()}
    assert all(states[kind].gates for kind in _GATED)
    await admin.get(resources.PRIORITY_CLASSES, "hintbound-low")
    attached.component(ComponentKind.SCHEDULER).pause()
    await attached.component(ComponentKind.CONTROLLER_MANAGER).stop()
    await attached.close()

    with pytest.raises(NotFound):
        await admin.get(resources.PRIORITY_CLASSES, "hintbound-low")
    await admin.get(resources.PRIORITY_CLASSES, "hintbound-mid")
    assert docker.containers(kind_name(cluster)) == nodes
    async with asyncio.timeout(60):
        while (await cluster.component(ComponentKind.CONTROLLER_MANAGER).state()).gates is None:
            await asyncio.sleep(0.2)
    assert await cluster.component(ComponentKind.SCHEDULER).lifeless() == ""


async def test_what_a_killed_run_held_down_runs_again(cluster: KindCluster) -> None:
    scheduler = cluster.component(ComponentKind.SCHEDULER)
    manager = cluster.component(ComponentKind.CONTROLLER_MANAGER)
    (control_plane,) = docker.containers(kind_name(cluster), "control-plane")
    scheduler.pause()
    await manager.stop()

    node.put_back(control_plane)

    async with asyncio.timeout(60):
        while (await manager.state()).gates is None:
            await asyncio.sleep(0.2)
    assert await scheduler.lifeless() == ""
