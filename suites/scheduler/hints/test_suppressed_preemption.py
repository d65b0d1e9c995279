"""Hints on pods that have to preempt."""

from datetime import UTC, datetime

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, scheduled
from hintbound.protocol import Actor


@behaviour(
    "NNN-HINT-SUPPRESSES-PREEMPTION",
    must="A pod whose hint names a node where a preempted pod is still terminating preempts nowhere else, "
    "and keeps the hint.",
    why="The pod waits for somebody else's victim, however long that takes, while a cheap victim is next "
    "door.",
    severity="hazard",
    needs=[
        Capability.FAKE_NODES,
        Feature.HINTS,
        Feature.PREEMPTION,
        Feature.CONDITIONS,
        Feature.POD_AFFINITY,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["nominator", "operator"],
    advice="Hint no node on which pods are being preempted (DisruptionTarget with reason "
    "PreemptionByScheduler). A pod with the message `not eligible due to a terminating pod on the "
    "nominated node`: clear its hint, then it may preempt elsewhere.",
    source="kubernetes PodEligibleToPreemptOthers; measured 1.33.13-1.37.2; "
    "docs/findings/a-hint-suppresses-preemption.md",
)
async def test_terminating_victim_on_the_hinted_node(arena: Arena) -> None:
    """On the hinted node a pod marked as preempted is terminating, on the other runs a cheap victim; a gated
    preemptor is released."""
    hinted, other = await arena.nodes(2, cpu="4")
    leaving, cheap = [
        await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=600)
        for node in (hinted, other)
    ]
    # Without a time the controller-manager takes the condition for stale and resets it.
    preempted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    since = {"lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    await arena.patch_status(leaving, {"conditions": [{**preempted, **since}]}, actor=Actor.ADMIN)
    await arena.delete(leaving)
    await arena.nodes.caught_up(other)
    pod = await arena.gated_pod("preemptor", cpu="4", priority="hintbound-high")

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    refused = await arena.unschedulable(pod)
    assert nomination(refused) == hinted
    assert "not eligible due to a terminating pod on the nominated node" in scheduled(refused)["message"]
    assert "deletionTimestamp" not in (await arena.now(cheap))["metadata"]
