"""Preemptors among pods of other priorities."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

HOLD = ["hintbound.dev/hold"]
SKIPS = (
    'gate(scheduler, SchedulerAsyncPreemption) and (version(scheduler, ">=1.35") or '
    'version(scheduler, ">=1.34") and version(scheduler, "<=1.34.1"))'
)


@behaviour(
    "NNN-PREEMPT-HIGHER-TAKES-OVER",
    must="A preemptor of higher priority that deletes a victim on a node clears the nominations of pods of "
    "lower priority to that node.",
    why="A nomination is a place in a queue: who watches it must expect to see it go to somebody else.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION],
    source="kubernetes getLowerPriorityNominatedPods; measured 1.33.13-1.37.2",
)
async def test_higher_preemptor_takes_over(arena: Arena) -> None:
    """Finalizers hold two victims; a preemptor that needs the room of one waits, then a higher one arrives
    that needs both."""
    (node,) = await arena.nodes(1, cpu="4")
    victims = [
        await arena.running_pod(node, cpu="2", priority="hintbound-low", finalizers=HOLD) for _ in range(2)
    ]
    loser = await arena.pod("loser", cpu="2", priority="hintbound-mid")
    waiting = await arena.until(loser, lambda o: nomination(o) == node, f"{loser} to be nominated")

    winner = await arena.pod("winner", cpu="4", priority="hintbound-high")

    since = int(waiting["metadata"]["resourceVersion"])
    await arena.until(
        loser,
        lambda o: int(o["metadata"]["resourceVersion"]) > since and not nomination(o),
        f"the nomination of {loser} to be cleared",
        unless=lambda o: bool(o["spec"].get("nodeName")),
    )
    for victim in victims:
        await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")
        await arena.release(victim)
    assert await arena.bound(winner) == node


@behaviour(
    "NNN-PREEMPT-GOING-VICTIM-CLEARS",
    must="A preemptor of higher priority clears the nomination of the one that waits on the same node also "
    "when all victims there are terminating already.",
    why="Otherwise two pods count on room for one, and autoscalers help neither.",
    applies=f"not ({SKIPS})",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION],
    affects=["autoscaler", "dashboard"],
    advice="A nomination that vanishes from a waiting preemptor means that it was outbid: treat the pod as "
    "any other that waits. With SchedulerAsyncPreemption on and from 1.35 on do not wait for this "
    "sign.",
    source="kubernetes preemption.prepareCandidate; measured 1.33.13, 1.34.4, and any with "
    "SchedulerAsyncPreemption off",
)
async def test_nomination_is_cleared_while_the_victim_goes(arena: Arena) -> None:
    """A finalizer holds a victim that one preemptor has deleted; a higher preemptor is nominated, and the
    first one's nomination is read."""
    assert await nomination_after_a_higher_one(arena) == ""


@behaviour(
    "NNN-PREEMPT-GOING-VICTIM-TWO-NOMINATED",
    must="When all victims on the node are terminating already, asynchronous preemption for a pod of higher "
    "priority leaves the nomination of the lower one: two pods are nominated to room for one.",
    why="The loser seems to be served until the victim is gone, however long its grace period: autoscalers "
    "and operators wait with it.",
    applies=SKIPS,
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    affects=["autoscaler", "dashboard", "operator"],
    advice="Do not take a nomination for a promise: where several pods are nominated to one node, count "
    "only what fits, the highest priority first. SchedulerAsyncPreemption=false on kube-scheduler "
    "avoids it.",
    source="kubernetes preemption.prepareCandidateAsync; measured 1.34.0, 1.35.4-1.37.2; "
    "docs/findings/two-nominated-to-one-place.md",
)
async def test_two_are_nominated_while_the_victim_goes(arena: Arena) -> None:
    """A finalizer holds a victim that one preemptor has deleted; a higher preemptor is nominated, and the
    first one's nomination is read."""
    assert await nomination_after_a_higher_one(arena) != ""


async def nomination_after_a_higher_one(arena: Arena) -> str:
    """What a waiting preemptor shows when a higher one has been nominated to its node, before the victim
    goes."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", finalizers=HOLD)
    loser = await arena.pod("loser", cpu="4", priority="hintbound-mid")
    assert await arena.nominated(loser) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    winner = await arena.pod("winner", cpu="4", priority="hintbound-high")
    assert await arena.nominated(winner) == node
    barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
    assert await arena.bound(barrier) == node

    return await arena.nomination(loser)


@behaviour(
    "NNN-PREEMPT-ROOM-KEPT",
    must="Room that victims have left already is not given to a pod of lower priority while the preemptor "
    "waits for the rest of it.",
    why="Otherwise small pods would fill the gap again and again, and the preemptor would starve.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.RESERVATIONS, Feature.CONDITIONS],
    source="kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2",
)
async def test_room_is_kept_for_the_preemptor(arena: Arena) -> None:
    """Of two victims one goes and a finalizer holds the other; a low pod that would fit into the gap must be
    refused."""
    (node,) = await arena.nodes(1, cpu="4")
    quick = await arena.running_pod(node, "quick", cpu="2", priority="hintbound-low")
    held = await arena.running_pod(node, "held", cpu="2", priority="hintbound-low", finalizers=HOLD)
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.gone(quick)

    thief = await arena.pod("thief", cpu="1", priority="hintbound-low")
    await arena.unschedulable(thief)
    await arena.release(held)

    assert await arena.bound(preemptor) == node
    assert "nodeName" not in (await arena.now(thief))["spec"], "the thief was bound as well"
