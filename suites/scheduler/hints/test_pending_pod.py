"""Hints written to a pod that has been refused already."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

ATTEMPTS = "scheduler_schedule_attempts_total"
INCOMING = "scheduler_queue_incoming_pods_total"
NOWHERE = {"example.com/none": "none"}
# Pods that come and go in other scenarios wake those that wait for room in this one: hence exclusive.
OWN = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER]


@behaviour(
    "NNN-HINT-SET-WAKES-NOBODY",
    must="A hint given to an Unschedulable pod that had none does not make the scheduler try it again.",
    why="The pod waits for some other event, up to five minutes: a nominator must also change what makes the "
    "pod fit, or hint before.",
    severity="hazard",
    level="extended",
    exclusive=True,
    needs=[*OWN, Feature.CONDITIONS, Feature.METRICS, Feature.POD_AFFINITY, Feature.UPSTREAM_DETAILS],
    affects=["nominator"],
    advice="Hint before the pod is first tried, behind a scheduling gate. For a pod that is Unschedulable "
    "already, bring about an event that wakes it, such as a node that changes; without one it waits "
    "up to five minutes.",
    source="kubernetes PriorityQueue.Update; measured 1.33.13-1.37.2; "
    "docs/findings/a-late-hint-reserves-and-does-not-wake.md",
)
async def test_first_hint_wakes_nobody(arena: Arena) -> None:
    """A pod that fits nowhere is hinted; when a later pod has been bound, the scheduler's counters must show
    no attempt but that one."""
    scheduler = await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    await arena.nodes.caught_up(node)
    pod = await arena.pod(cpu="8")
    await arena.unschedulable(pod)
    attempts = await arena.tally(scheduler, ATTEMPTS, by="result")
    incoming = await arena.tally(scheduler, INCOMING, by="queue")

    await arena.hint(pod, node)
    barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
    assert await arena.bound(barrier) == node

    # It never left the unschedulable pods: neither was it tried, nor does it wait in backoff.
    assert sum((await incoming.so_far()).values()) == 1, "more than the barrier entered a queue"
    assert (await attempts.so_far())["unschedulable"] == 0


@behaviour(
    "NNN-HINT-SET-RESERVES",
    must="A hint given to an Unschedulable pod reserves at once, though the pod is not tried.",
    why="The room stands empty for a pod that may not be tried for minutes.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "autoscaler"],
    advice="Hint a waiting pod only when something is about to make it be tried (a node that joins, a pod "
    "that goes), and clear the hint when that does not come. An autoscaler counts that room as "
    "taken though the pod is not tried.",
    source="kubernetes PriorityQueue.Update; measured 1.33.13-1.37.2; "
    "docs/findings/a-late-hint-reserves-and-does-not-wake.md",
)
async def test_hint_of_an_unschedulable_pod_reserves(arena: Arena) -> None:
    """A pod that fits nowhere is hinted to a free node; an equal rival must be refused there until the hint
    is cleared."""
    (node,) = await arena.nodes(1, cpu="4")
    # One that never preempts keeps its hint when nodes of other scenarios make the scheduler try it again.
    holder = await arena.pod("holder", cpu="4", node_selector=NOWHERE, priority="hintbound-never")
    await arena.unschedulable(holder)

    await arena.hint(holder, node)
    rival = await arena.pod("rival", cpu="4", priority="hintbound-high")  # equal to the holder's
    await arena.unschedulable(rival)

    await arena.hint(holder, None)
    assert await arena.bound(rival) == node


@behaviour(
    "NNN-HINT-MOVED-FREES",
    must="When a hint is moved to another node, who waited for the room that it held is bound there.",
    why="A nominator that changes its mind gives the old place back at once, also while its pod waits.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS],
    source="kubernetes eventhandlers updatePodInSchedulingQueue, kubernetes#129058; measured 1.33.13-1.37.2",
)
async def test_moved_hint_frees_the_room(arena: Arena) -> None:
    """A hint keeps a rival from its node; the hint is moved to another node, and the rival must be bound."""
    before, after = await arena.nodes(2, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, before)
    rival = await arena.pod("rival", cpu="4", node_selector={"kubernetes.io/hostname": before})
    await arena.unschedulable(rival)

    await arena.hint(holder, after)

    assert await arena.bound(rival) == before


@behaviour(
    "NNN-HINT-MOVED-WAKES",
    must="Moving a hint from one node to another makes the scheduler try its Unschedulable pod and those of "
    "equal priority again.",
    why="Somebody may fit where the hint has been; each move costs an attempt of every one that waits.",
    level="extended",
    exclusive=True,
    needs=[*OWN, Feature.CONDITIONS, Feature.METRICS, Feature.POD_AFFINITY, Feature.UPSTREAM_DETAILS],
    source="kubernetes eventhandlers updatePodInSchedulingQueue, kubernetes#129058; measured 1.33.13-1.37.2",
)
async def test_moved_hint_wakes(arena: Arena) -> None:
    """Two pods that fit nowhere wait; the hint of one is moved, and the scheduler's counters must show an
    attempt of each."""
    scheduler = await arena.own_scheduler()
    before, after = await arena.nodes(2, cpu="4")
    await arena.nodes.caught_up(after)
    pod, equal = [await arena.pod(name, cpu="8", priority="hintbound-never") for name in ("pod", "equal")]
    for waiting in (pod, equal):
        await arena.unschedulable(waiting)
    await arena.hint(pod, before)
    attempts = await arena.tally(scheduler, ATTEMPTS, by="result")

    await arena.hint(pod, after)

    await attempts.until(lambda made: made["unschedulable"] == 2, "both to be tried and refused once more")
    assert await arena.nomination(pod) == after


@behaviour(
    "NNN-HINT-CLEARED-WAKES",
    must="Clearing a hint from outside makes the scheduler try its Unschedulable pod and those of equal "
    "priority again.",
    why="A reservation that ends must not leave those waiting who could now be placed.",
    level="extended",
    exclusive=True,
    needs=[*OWN, Feature.CONDITIONS, Feature.METRICS, Feature.POD_AFFINITY, Feature.UPSTREAM_DETAILS],
    source="kubernetes eventhandlers updatePodInSchedulingQueue, kubernetes#129058; measured 1.33.13-1.37.2",
)
async def test_cleared_hint_wakes(arena: Arena) -> None:
    """Two pods that fit nowhere wait; the hint of one is cleared, and the scheduler's counters must show an
    attempt of each."""
    scheduler = await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    await arena.nodes.caught_up(node)
    pod, equal = [await arena.pod(name, cpu="8", priority="hintbound-never") for name in ("pod", "equal")]
    for waiting in (pod, equal):
        await arena.unschedulable(waiting)
    await arena.hint(pod, node)
    attempts = await arena.tally(scheduler, ATTEMPTS, by="result")

    await arena.hint(pod, None)

    await attempts.until(lambda made: made["unschedulable"] == 2, "both to be tried and refused once more")
