"""KWOK as kubelet: nodes become Ready, pods run, and a deletion takes exactly its grace period."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import pytest_asyncio

from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.fake_nodes import NODE_LABEL, TERMINATION_LABEL
from hintbound.kube import resources
from hintbound.kube.client import PatchType
from hintbound.kube.exchange import Json
from hintbound.protocol import Actor
from tests.clusters.conftest import Pair
from tests.clusters.world import World, audit, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

BUSY = 0.5
"""Seconds that a busy machine may add to the latest of several deletions; the earliest gets none."""
SLOW = 5


@dataclass(frozen=True)
class Deletion:
    """One pod's, by the apiserver's own timestamps."""

    grace: int
    asked: datetime.datetime
    done: datetime.datetime

    @property
    def late(self) -> float:
        """Seconds after the grace period."""
        return (self.done - self.asked).total_seconds() - self.grace


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def deletions(pair: Pair) -> Mapping[str, Deletion]:
    """Many pods deleted at once, each in its own way."""
    wanted = {
        **{f"plain-{number}": 1 + number % 3 for number in range(6)},
        **{f"patched-{number}": 2 for number in range(4)},
        **{f"instant-{number}": 5 for number in range(2)},
        "slow-0": 1,
    }
    async with World(pair.cluster) as world:
        node = await world.node()
        for name in wanted:
            kind = name.partition("-")[0]
            labels = {TERMINATION_LABEL: kind} if kind in ("instant", "slow") else {}
            await world.pod(name, nodeName=node, labels=labels)
        await world.pod("stuck-0", nodeName=node, labels={TERMINATION_LABEL: "stuck"})
        for name in (*wanted, "stuck-0"):
            await world.running(name)
        await asyncio.gather(
            *(_delete(world, name, grace) for name, grace in wanted.items()), _delete(world, "stuck-0", 0)
        )
        await _patch_now_and_then(world, [name for name in wanted if name.startswith("patched")])
        for name in wanted:
            await world.gone(name)
        assert (await world.get("stuck-0"))["metadata"]["deletionTimestamp"]
        return _read(pair.cluster, world.namespace, wanted)


async def _delete(world: World, name: str, grace: int) -> None:
    # Zero would remove the pod at once, whatever KWOK thinks of it.
    await world.admin.delete(resources.PODS, name, namespace=world.namespace, grace_period=grace or 1)


async def _patch_now_and_then(world: World, names: list[str]) -> None:
    """From 0.3 s on of a grace period of 2 s, until they are gone: each change makes KWOK count anew."""
    for turn in range(4):
        await asyncio.sleep(0.3)
        labels = {"metadata": {"labels": {"turn": str(turn)}}}
        paths = [resources.PODS.path(world.namespace, name) for name in names]
        content_type = PatchType.MERGE.value
        await asyncio.gather(
            *(world.admin.request("PATCH", path, body=labels, content_type=content_type) for path in paths)
        )


def _read(cluster: EmbeddedCluster, namespace: str, wanted: Mapping[str, int]) -> Mapping[str, Deletion]:
    asked: dict[str, datetime.datetime] = {}
    done: dict[str, datetime.datetime] = {}
    for event in audit(*cluster.audit_logs()):
        reference = event.get("objectRef", {})
        if event["verb"] != "delete" or reference.get("namespace") != namespace:
            continue
        if event["user"]["username"] == Actor.ADMIN:
            asked.setdefault(reference["name"], _time(event))
        elif event["user"]["username"] == "hintbound-kwok" and event["responseStatus"]["code"] == 200:
            done.setdefault(reference["name"], _time(event))
    return {name: Deletion(grace, asked[name], done[name]) for name, grace in wanted.items()}


def _time(event: Json) -> datetime.datetime:
    return datetime.datetime.fromisoformat(event["requestReceivedTimestamp"])


def _lateness(deletions: Mapping[str, Deletion], kind: str) -> list[float]:
    return sorted(deletion.late for name, deletion in deletions.items() if name.startswith(kind))


async def test_pod_goes_when_its_grace_period_has_passed(deletions: Mapping[str, Deletion]) -> None:
    late = _lateness(deletions, "plain")

    assert late[0] >= 0, late
    assert late[0] < 0.5, late
    assert late[-1] < 0.5 + BUSY, late


async def test_pod_that_is_changed_meanwhile_goes_no_earlier_and_little_later(
    deletions: Mapping[str, Deletion],
) -> None:
    late = _lateness(deletions, "patched")

    assert late[0] >= 0, late
    assert late[-1] < 1.5 + BUSY, late


async def test_instant_pod_does_not_wait_for_its_grace_period(deletions: Mapping[str, Deletion]) -> None:
    late = _lateness(deletions, "instant")

    assert late[-1] < -5 + 0.5 + BUSY, late


async def test_slow_pod_takes_five_seconds_longer(deletions: Mapping[str, Deletion]) -> None:
    (late,) = _lateness(deletions, "slow")

    assert SLOW <= late < SLOW + 0.5 + BUSY, late


async def test_node_that_is_born_ready_is_changed_by_nobody(world: World) -> None:
    node = await world.node()
    # That of another node, so that one knows that the controllers are at work.
    other = await world.node(ready=False)
    path = {"metadata": {"labels": {"beta.kubernetes.io/os": None}}}
    await world.admin.patch(resources.NODES, other, path)
    await until(
        world.admin, resources.NODES, other, lambda o: "beta.kubernetes.io/os" in o["metadata"]["labels"]
    )

    seen = await world.admin.get(resources.NODES, node)
    assert {entry["manager"] for entry in seen["metadata"]["managedFields"]} == {"hintbound"}


async def test_node_without_conditions_becomes_ready_and_is_kept_so_by_a_lease(world: World) -> None:
    node = await world.node(ready=False)
    await until(world.admin, resources.NODES, node, _is("True"))
    lease = await until(world.admin, resources.LEASES, node, lambda _: True, namespace="kube-node-lease")

    assert lease["spec"]["leaseDurationSeconds"] == 40


async def test_node_is_not_ready_as_long_as_its_label_says_so(world: World) -> None:
    node = await world.node(ready=False, labels={NODE_LABEL: "not-ready"})
    await until(world.admin, resources.NODES, node, _is("False"))

    await _label(world, node, None)
    await until(world.admin, resources.NODES, node, _is("True"))

    await _label(world, node, "not-ready")
    await until(world.admin, resources.NODES, node, _is("False"))


def _is(status: str):  # type: ignore[no-untyped-def]
    return lambda node: (
        [c["status"] for c in node["status"].get("conditions", []) if c["type"] == "Ready"] == [status]
    )


async def _label(world: World, node: str, value: str | None) -> None:
    await world.admin.patch(resources.NODES, node, {"metadata": {"labels": {NODE_LABEL: value}}})


async def test_pod_of_a_scheduler_runs_on_its_node(world: World) -> None:
    node = await world.node()
    await world.pod("p")

    assert await world.bound("p") == node
    seen = await world.until("p", lambda pod: pod["status"]["phase"] == "Running")
    assert seen["status"]["containerStatuses"][0]["ready"] is True
    ready = [c["status"] for c in seen["status"]["conditions"] if c["type"] == "Ready"]
    assert ready == ["True"]


async def test_finalizer_outlives_the_grace_period(world: World) -> None:
    node = await world.node()
    await world.pod("p", nodeName=node)
    await world.running("p")
    finalizers = {"metadata": {"finalizers": ["hintbound.dev/hold"]}}
    await world.admin.patch(resources.PODS, "p", finalizers, namespace=world.namespace)
    await world.admin.delete(resources.PODS, "p", namespace=world.namespace, grace_period=1)
    await asyncio.sleep(1.6)
    assert (await world.get("p"))["metadata"]["deletionTimestamp"]

    await world.admin.patch(
        resources.PODS, "p", {"metadata": {"finalizers": None}}, namespace=world.namespace
    )
    await world.gone("p")
