"""Pods that wait for what a hint holds, when the hint goes."""

from hintbound.plugin import Arena, Capability, Feature, Pod, behaviour

INCOMING = "scheduler_queue_incoming_pods_total"
HOSTNAME = "kubernetes.io/hostname"
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "holder"}}}
            ]
        }
    }
}
# Pods and nodes that come and go in other scenarios wake those that wait in this one: hence exclusive.
NEEDS: list[Capability | Feature] = [Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS]
COUNTED: list[Capability | Feature] = [
    *NEEDS,
    Capability.OWN_SCHEDULER,
    Feature.METRICS,
    Feature.POD_AFFINITY,
    Feature.UPSTREAM_DETAILS,
]


@behaviour(
    "NNN-HINT-LEFT-WAKES",
    must="Before 1.35 a hinted pod that is bound to another node than the hinted one wakes those that waited "
    "for the room that it held.",
    why="Who waited for that room can have it at once; it is what the upgrade to 1.35 takes away.",
    applies='version(scheduler, "<1.35")',
    level="extended",
    exclusive=True,
    needs=[*NEEDS, Feature.POD_AFFINITY],
    affects=["nominator", "autoscaler"],
    advice="From 1.35 on clear a hint that cannot be followed before its pod is released: that wakes.",
    source="kubernetes deletePodFromSchedulingQueue; measured 1.33.13-1.34.4; "
    "docs/findings/bound-elsewhere-wakes-nobody.md",
)
async def test_waiting_pod_is_woken(arena: Arena) -> None:
    """A gated pod is hinted to a node that its own selector excludes, another waits there for room; the
    first is released and bound elsewhere."""
    left, _elsewhere, holder, rival = await holder_and_rival(arena)

    await arena.ungate(holder)

    assert await arena.bound(rival) == left


@behaviour(
    "NNN-HINT-LEFT-WAKES-NOBODY",
    must="From 1.35 on a hinted pod that is bound to another node than the hinted one leaves those asleep "
    "that waited for the room that it held.",
    why="The room is free and nobody is told: the pods wait for an unrelated event, up to five minutes.",
    severity="hazard",
    applies='version(scheduler, ">=1.35")',
    level="extended",
    exclusive=True,
    needs=COUNTED,
    affects=["nominator", "autoscaler"],
    advice="Clear a hint that cannot be followed before its pod is released: that wakes who waits. Do not "
    "take an Unschedulable pod for one that has no room.",
    source="kubernetes deletePodFromSchedulingQueue, kubernetes#134859; measured 1.35.4-1.37.2; "
    "docs/findings/bound-elsewhere-wakes-nobody.md",
)
async def test_waiting_pod_sleeps_on(arena: Arena) -> None:
    """A gated pod with a hint is bound elsewhere and a later pod after it: only these two may have entered a
    queue, not one that waits where the hint was. A twin shows that the room is free."""
    scheduler = await arena.own_scheduler()
    left, elsewhere, holder, rival = await holder_and_rival(arena)
    incoming = await arena.tally(scheduler, INCOMING, by="queue")

    await arena.ungate(holder)
    assert await arena.bound(holder) == elsewhere
    barrier = await arena.pod("barrier", cpu="0", node_selector={HOSTNAME: elsewhere})
    await arena.bound(barrier)

    assert sum((await incoming.so_far()).values()) == 2, "more than holder and barrier entered a queue"
    twin = await arena.pod("twin", cpu="4", node_selector={HOSTNAME: left})
    assert await arena.bound(twin) == left
    assert "nodeName" not in (await arena.now(rival))["spec"]


@behaviour(
    "NNN-HINT-CLEARED-WAKES-AFFINITY",
    must="From 1.36 on clearing a hint wakes a pod that waited because of its anti-affinity to the hinted "
    "one.",
    why="A reservation excludes by labels, too; when it ends, who was excluded must be tried.",
    applies='version(scheduler, ">=1.36")',
    level="extended",
    exclusive=True,
    needs=[*NEEDS, Feature.POD_AFFINITY],
    affects=["nominator"],
    advice="Before 1.36 do not count on it: such a pod waits up to five minutes.",
    source="kubernetes#135392; measured 1.36.3 and 1.37.2; docs/findings/affinity-waiters-sleep-on.md",
)
async def test_pod_with_anti_affinity_is_woken(arena: Arena) -> None:
    """A gated pod is hinted, another that must not be beside it waits; then the hint is cleared."""
    node, holder, rival = await kept_apart(arena)

    await arena.hint(holder, None)

    assert await arena.bound(rival) == node


@behaviour(
    "NNN-HINT-CLEARED-LEAVES-AFFINITY",
    must="Before 1.36 clearing a hint leaves a pod asleep that waited because of its anti-affinity to the "
    "hinted one.",
    why="The node is free and nobody is told: the pod waits for an unrelated event, up to five minutes.",
    severity="hazard",
    applies='version(scheduler, "<1.36")',
    level="extended",
    exclusive=True,
    needs=COUNTED,
    affects=["nominator"],
    advice="Do not hint pods that others keep away from, or touch the labels of a node after clearing: that "
    "wakes.",
    source="kubernetes InterPodAffinity.isSchedulableAfterPodChange, kubernetes#135392; measured "
    "1.33.13-1.35.4; docs/findings/affinity-waiters-sleep-on.md",
)
async def test_pod_with_anti_affinity_sleeps_on(arena: Arena) -> None:
    """A gated pod is hinted, another that must not be beside it waits; when the hint has been cleared and a
    later pod bound, only that one may have entered a queue."""
    scheduler = await arena.own_scheduler()
    node, holder, rival = await kept_apart(arena)
    incoming = await arena.tally(scheduler, INCOMING, by="queue")

    await arena.hint(holder, None)
    barrier = await arena.pod("barrier", cpu="0")
    assert await arena.bound(barrier) == node

    assert sum((await incoming.so_far()).values()) == 1, "more than the barrier entered a queue"
    assert "nodeName" not in (await arena.now(rival))["spec"]


async def holder_and_rival(arena: Arena) -> tuple[str, str, Pod, Pod]:
    """The hinted node, another one, a gated pod that is hinted to the first and fits only the other, and a
    pod that waits for the room that this holds."""
    left, elsewhere = await arena.nodes(2, cpu="4")
    await arena.nodes.caught_up(elsewhere)
    holder = await arena.gated_pod("holder", cpu="4", node_selector={HOSTNAME: elsewhere})
    await arena.hint(holder, left)
    rival = await arena.pod("rival", cpu="4", node_selector={HOSTNAME: left})
    await arena.unschedulable(rival)
    return left, elsewhere, holder, rival


async def kept_apart(arena: Arena) -> tuple[str, Pod, Pod]:
    """A node, a gated pod that is hinted to it, and one that waits because it must not be beside that."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.nodes.caught_up(node)
    holder = await arena.gated_pod("holder", labels={"app": "holder"})
    await arena.hint(holder, node)
    rival = await arena.pod("rival", spec=APART)
    await arena.unschedulable(rival)
    return node, holder, rival
