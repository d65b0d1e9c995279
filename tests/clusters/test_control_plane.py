"""A started control plane is what was asked for, and says so itself."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from hintbound.clusters import parse, registry
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.embedded.options import Options
from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.connection import Connection
from hintbound.kube.errors import ApiError, KubeError
from hintbound.protocol import Actor, ComponentKind
from tests.clusters.conftest import Pair
from tests.clusters.world import World, audit, gone, namespace, processes_of, until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_gates_are_what_each_component_says_of_itself(cluster: EmbeddedCluster) -> None:
    states = {state.name: state for state in await cluster.components()}

    assert list(states) == ["etcd", "kube-apiserver", "kwok", "kube-scheduler", "kube-controller-manager"]
    for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager"):
        gates = states[name].gates
        assert gates is not None
        assert states[name].version == "v1.35.4"
        assert gates["OpportunisticBatching"] is False
        assert gates["SchedulerAsyncAPICalls"] is (name == "kube-scheduler")
        assert gates["ClearingNominatedNodeNameAfterBinding"] is True
    assert states["etcd"].gates is None
    assert states["etcd"].version
    assert states["kwok"].source == "the pin it was built from"


async def test_spec_is_told_with_the_exact_version(cluster: EmbeddedCluster) -> None:
    assert cluster.spec == (
        "embedded:1.35.4,OpportunisticBatching=false,kube-scheduler.SchedulerAsyncAPICalls=true"
    )


async def test_two_clusters_share_nothing(pair: Pair) -> None:
    assert pair.cluster.server != pair.ordinary.server

    async with World(pair.cluster) as world:
        stranger = pair.ordinary.client(Actor.ADMIN)
        with pytest.raises(ApiError):
            await stranger.get(resources.NAMESPACES, world.namespace)

    key = pair.ordinary.folder / "pki" / f"{Actor.ADMIN}.crt"
    assert key.read_bytes() != (pair.cluster.folder / "pki" / f"{Actor.ADMIN}.crt").read_bytes()


async def test_only_loopback_is_served(cluster: EmbeddedCluster) -> None:
    addresses = _listening(processes_of(cluster.folder))

    assert addresses
    assert {address.partition(":")[0] for address in addresses} == {"0100007F"}, "127.0.0.1 in hex"


def _listening(pids: Iterable[int]) -> set[str]:
    return {
        line.split()[1]
        for pid in pids
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and _owns(pid, line.split()[9])
    }


def _owns(pid: int, inode: str) -> bool:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(descriptor) == f"socket:[{inode}]":
                return True
        except OSError:
            continue
    return False


async def test_controllers_may_do_their_work(cluster: EmbeddedCluster, world: World) -> None:
    name = f"{world.namespace}-ends"
    await world.admin.create(resources.NAMESPACES, namespace(name))
    # The root CA is published by one controller, the namespace is emptied and ended by another.
    await until(world.admin, resources.CONFIG_MAPS, "kube-root-ca.crt", lambda _: True, namespace=name)
    await world.admin.delete(resources.NAMESPACES, name)
    await gone(world.admin, resources.NAMESPACES, name)

    log = (cluster.folder / "logs" / "kube-controller-manager.log").read_text()
    assert [line for line in log.splitlines() if "forbidden: User" in line] == []


async def test_audit_log_has_both_bodies_of_every_write_to_a_pod(
    cluster: EmbeddedCluster, world: World
) -> None:
    node = await world.node()
    await world.pod("p")
    await world.bound("p")
    await world.running("p")

    (log,) = cluster.audit_logs()
    ours = [
        event
        for event in audit(log)
        if event.get("objectRef", {}).get("namespace") == world.namespace
        and event["objectRef"]["resource"] == "pods"
    ]
    acts = {(e["verb"], e["objectRef"].get("subresource"), e["user"]["username"]): e for e in ours}
    assert set(acts) >= {
        ("create", None, Actor.ADMIN),
        ("create", "binding", "system:kube-scheduler"),
        ("patch", "status", "hintbound-kwok"),
    }
    for event in acts.values():
        assert event["level"] == "RequestResponse"
        assert event["requestObject"]
        assert event["responseObject"]
    assert acts["create", "binding", "system:kube-scheduler"]["requestObject"]["target"]["name"] == node


async def test_rejected_gate_is_told_in_one_line_and_nothing_is_left(state: Path) -> None:
    cluster = EmbeddedCluster(parse("embedded:1.35,BogusGate=true"))

    with pytest.raises(CannotStart) as error:
        await cluster.start()

    told = str(error.value)
    assert told.startswith(
        "kube-apiserver 1.35.4 rejects a gate: unrecognized feature gate: BogusGate. Leave it out, or choose "
        "a version that knows it. `"
    )
    assert told.endswith("kube-apiserver --help` lists what this one knows.")
    assert processes_of(state) == {}
    assert list(registry.entries()) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ComponentKind.ETCD, "flag provided but not defined: -no-such-flag"),
        (ComponentKind.KWOK, "unknown flag: --no-such-flag"),
    ],
)
async def test_component_that_dies_at_once_is_told_with_code_and_log(
    state: Path, kind: ComponentKind, words: str
) -> None:
    cluster = EmbeddedCluster(parse("embedded:1.35"), Options(flags={kind: ["--no-such-flag"]}))

    with pytest.raises(CannotStart) as error:
        await cluster.start()

    first, *log = str(error.value).splitlines()
    assert first.startswith(f"the control plane did not start: {kind} exited with ")
    assert any(words in line for line in log), log
    assert processes_of(state) == {}
    assert list(registry.entries()) == []


async def test_busy_port_is_told_before_anything_starts(state: Path, cluster: EmbeddedCluster) -> None:
    port = cluster.component("kube-apiserver").port
    second = EmbeddedCluster(parse("embedded:1.35"), Options(apiserver_port=port))

    with pytest.raises(CannotStart, match=rf"^port {port} on 127\.0\.0\.1 is taken\."):
        await second.start()

    assert list(registry.entries()) == []


async def test_error_in_the_middle_of_the_start_leaves_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[int, str]] = []

    async def broken(_: EmbeddedCluster) -> None:
        seen.append(processes_of(state))
        raise ZeroDivisionError

    monkeypatch.setattr(EmbeddedCluster, "_apply_fixtures", broken)
    cluster = EmbeddedCluster(parse("embedded:1.35"))
    with pytest.raises(ZeroDivisionError):
        await cluster.start()

    assert len(seen[0]) >= 2, "etcd and the apiserver ran by then"
    assert processes_of(state) == {}
    assert list(registry.entries()) == []


async def test_component_that_does_not_answer_is_listed_as_such(cluster: EmbeddedCluster) -> None:
    manager = cluster.component("kube-controller-manager")
    await manager.kill()
    try:
        states = {state.name: state for state in await cluster.components()}
    finally:
        await manager.restart()

    assert states[manager.name].gates is None
    assert states[manager.name].source.startswith("does not answer: ")
    assert states["kube-scheduler"].version == "v1.35.4"


async def test_strangers_are_not_let_in(pair: Pair) -> None:
    stranger = pair.ordinary.client(Actor.ADMIN).connection
    foreign = Connection(pair.cluster.server, tls=stranger.tls)
    async with Client(foreign, actor="stranger", user_agent="x") as client:
        with pytest.raises(KubeError):
            await client.list(resources.NODES)
