"""A kubelet writes the status of its pods, and it is not alone."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hintbound.history.join import PodVersion
from hintbound.kube.client import PatchType
from hintbound.kube.exchange import Json
from hintbound.plugin import Arena, Capability, Feature, Pod, Unproven, behaviour, nomination
from hintbound.plugin.evidence import condition_of
from hintbound.plugin.real_nodes import real_node, runs

GATE = "hintbound.dev/ready"
COUNT = "hintbound.dev/count"
TURNS = 5
KUBELETS = ("Ready", "ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled")
"""The conditions that are a kubelet's on a pod of its node."""
CLEARING = "gate(apiserver, ClearingNominatedNodeNameAfterBinding)"
NEEDS = [Capability.REAL_NODES, Capability.AUDIT]


@behaviour(
    "NNN-KUBELET-BOTH-WRITERS-STAND",
    must="What a kubelet and another writer of `pods/status` write to one pod at the same time both stands: "
    "no condition, container status, address or annotation is lost or goes back by the other's patch.",
    why="Whoever notes on a running pod why it was placed need not fear its kubelet, as long as they patch "
    "what is theirs, and never the whole list of conditions.",
    needs=NEEDS,
    exclusive=True,
    deadline=300,
    source="kubernetes statusutil.PatchPodStatus, mergePodStatus; measured 1.35.4",
)
async def test_both_writers_stand(arena: Arena) -> None:
    """A condition of the nominator's is a readiness gate, so that each change of it makes kubelet write
    Ready; meanwhile the nominator counts in an annotation, without a pause."""
    node = await real_node(arena)
    pod = await node.running_pod("pod", spec={"readinessGates": [{"conditionType": GATE}]})
    enough = asyncio.Event()

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count(arena, pod, enough))
        for turn in range(TURNS):
            await answered(arena, pod, "True" if turn % 2 == 0 else "False")
        enough.set()

    kubelet = f"system:node:{node.name}"
    versions = since_it_ran((await arena.life(pod)).versions)
    writers = [version.writer.user if version.writer else "nobody known" for version in versions]
    if writers.count(kubelet) < TURNS:
        raise Unproven(f"{kubelet} wrote {writers.count(kubelet)} times, not {TURNS}: there was no contest")
    for writer, (before, after) in zip(writers[1:], pairwise(versions), strict=True):
        part = others_part if writer == kubelet else kubelets_part
        assert part(after) == part(before), f"what {writer} did to the other's part of {after}"
    assert others_part(versions[-1])["annotations"][COUNT] == str(counting.result())


@behaviour(
    "NNN-KUBELET-CLEARS-HINT",
    must="Without ClearingNominatedNodeNameAfterBinding the kubelet of its node clears a hint from a bound "
    "pod, both the one that the binding left and one that is written later.",
    why="On real nodes a bound pod keeps its hint for a moment only: who reads it there races with a "
    "kubelet.",
    applies=f"not {CLEARING}",
    needs=[*NEEDS, Feature.HINTS],
    exclusive=True,
    deadline=300,
    affects=["nominator", "dashboard"],
    advice="Do not look for the hint of a bound pod, on no release: the binding or the kubelet clears it. "
    "Keep a note of what was hinted, and compare that with spec.nodeName.",
    source="kubernetes kubelet mergePodStatus, TestIsPodStatusByKubeletEqualFutureProof; measured 1.35.4; "
    "docs/findings/kubelets-clear-hints.md",
)
async def test_kubelet_clears_a_hint(arena: Arena) -> None:
    """A pod is bound to its hint and runs, then is hinted anew; who made the versions without a hint is taken
    from the audit log."""
    node = await real_node(arena)
    pod = await node.pod("pod", gated=True)
    await arena.hint(pod, node.name)
    await arena.ungate(pod)
    await runs(arena, pod)

    written = await arena.accepted(arena.hint(pod, "another-node"))
    since = int(written["metadata"]["resourceVersion"])
    await arena.until(
        pod,
        lambda o: int(o["metadata"]["resourceVersion"]) > since and not nomination(o),
        f"the hint of {pod} to be cleared",
        patience=60,
    )

    versions = (await arena.life(pod)).versions
    cleared = [
        now for then, now in pairwise(versions) if then.nominated_node_name and not now.nominated_node_name
    ]
    assert [version.writer and version.writer.user for version in cleared] == [f"system:node:{node.name}"] * 2


@behaviour(
    "NNN-KUBELET-SILENT-ON-HINT",
    must="With ClearingNominatedNodeNameAfterBinding no write of a kubelet, from a pod's start to its end, "
    "names nominatedNodeName.",
    why="The hint is gone before the kubelet first sees the pod: one writer less to reckon with.",
    applies=CLEARING,
    needs=[*NEEDS, Feature.HINTS],
    exclusive=True,
    deadline=300,
    affects=["nominator", "dashboard"],
    advice="Nothing is to be done. Without the gate a bound pod shows its hint until its kubelet first "
    "writes the status; with it a dashboard no longer sees that moment.",
    source="KEP-5278, kubernetes statusutil.PatchPodStatus; measured 1.35.4",
)
async def test_kubelet_does_not_name_the_hint(arena: Arena) -> None:
    """A pod is bound to its hint, runs and is deleted; the bodies of its kubelet's patches are taken from the
    audit log."""
    node = await real_node(arena)
    pod = await node.pod("pod", gated=True, grace=30)
    await arena.hint(pod, node.name)
    await arena.ungate(pod)
    await runs(arena, pod)

    await arena.delete(pod)
    await arena.gone(pod)

    life = await arena.life(pod)
    assert life.bound is not None
    assert life.bound.node_name == node.name
    bodies = [request.body for request in life.requests if request.user == f"system:node:{node.name}"]
    patched = [body["status"] for body in bodies if body and "status" in body]
    if len(patched) < 3:
        raise Unproven(f"its kubelet patched the status {len(patched)} times, not at its start, run and end")
    named = [status["nominatedNodeName"] for status in patched if "nominatedNodeName" in status]
    assert named == [], "what its kubelet wrote of the hint"


async def count(arena: Arena, pod: Pod, enough: asyncio.Event) -> int:
    """Write numbers into an annotation, one after the other; the last."""
    number = 0
    while not enough.is_set():
        number += 1
        await arena.accepted(arena.write_status(pod, {"metadata": {"annotations": {COUNT: str(number)}}}))
    return number


async def answered(arena: Arena, pod: Pod, status: str) -> None:
    """Change the nominator's condition, and wait until kubelet has answered it with Ready."""
    body = {"status": {"conditions": [{"type": GATE, "status": status}]}}
    written = await arena.accepted(arena.write_status(pod, body, PatchType.STRATEGIC))
    since = int(written["metadata"]["resourceVersion"])

    def ready(now: Json) -> bool:
        return (
            int(now["metadata"]["resourceVersion"]) > since
            and condition_of(now, "Ready").get("status") == status
        )

    await arena.until(pod, ready, f"the kubelet's Ready of {pod} to become {status}", patience=60)


def since_it_ran(versions: Sequence[PodVersion]) -> Sequence[PodVersion]:
    """From the first version in which kubelet says Running."""
    ran = next(i for i, version in enumerate(versions) if version.object["status"]["phase"] == "Running")
    return versions[ran:]


def kubelets_part(version: PodVersion) -> dict[str, Any]:
    """What of a pod's status is its kubelet's."""
    status = version.object["status"]
    own = {key: status.get(key) for key in ("phase", "podIPs", "hostIP", "startTime", "containerStatuses")}
    return {**own, "conditions": {kind: version.condition(kind) for kind in KUBELETS}}


def others_part(version: PodVersion) -> dict[str, Any]:
    """What of a pod is the nominator's."""
    annotations = version.object["metadata"].get("annotations") or {}
    return {"annotations": dict(annotations), "condition": version.condition(GATE)}
