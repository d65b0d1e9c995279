"""Hints across a restart of the scheduler."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, Feature, Pod, behaviour
from hintbound.protocol import Actor

NEEDS = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.RESTART_COMPONENT]
LOST = 'version(scheduler, "<1.37")'


@behaviour(
    "NNN-RESTART-GATED-LOST",
    must="Before 1.37 a restarted scheduler forgets what the hint of a gated pod reserves: a pod of equal "
    "priority takes the room.",
    why="Every upgrade of the scheduler gives the planned places away, and the hint still claims them.",
    level="extended",
    severity="hazard",
    applies=LOST,
    needs=[*NEEDS, Feature.RESERVATIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "operator"],
    advice="After each restart or upgrade of kube-scheduler update every gated pod that is hinted, for "
    "example an annotation: that makes its reservation count again. Better: remove gates soon after "
    "hinting.",
    source="kubernetes PriorityQueue.Add of gated pods; measured 1.33.13-1.36.3; "
    "docs/findings/gated-reservation-lost-at-restart.md",
)
async def test_gated_reservation_is_lost(arena: Arena) -> None:
    """A hint of a gated pod fills the only node; the scheduler is restarted, and a rival arrives."""
    node, holder = await held_node(arena)

    rival = await arena.pod("rival", cpu="4")

    assert await arena.bound(rival) == node
    assert await arena.nomination(holder) == node


@behaviour(
    "NNN-RESTART-GATED-KEPT",
    must="From 1.37 on a restarted scheduler knows what the hint of a gated pod reserves: a pod of equal "
    "priority does not take the room.",
    why="A plan survives the upgrade of the scheduler.",
    level="extended",
    applies=f"not {LOST}",
    needs=[*NEEDS, Feature.RESERVATIONS, Feature.CONDITIONS],
    affects=["nominator", "operator"],
    advice="From 1.37 on the step that touched every gated pod after a restart of the scheduler can go. "
    "Keep it as long as any scheduler of the cluster is older.",
    source="kubernetes PriorityQueue.Add of gated pods; measured 1.37.2",
)
async def test_gated_reservation_is_kept(arena: Arena) -> None:
    """A hint of a gated pod fills the only node; the scheduler is restarted, and a rival arrives."""
    node, holder = await held_node(arena)

    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)

    await arena.hint(holder, None)
    assert await arena.bound(rival) == node


@behaviour(
    "NNN-RESTART-GATED-UPDATED",
    must="After a restart of the scheduler any update of a gated hinted pod, say of an annotation, makes "
    "its hint reserve (again).",
    why="Before 1.37 it is the only way to get lost reservations back: touch every gated pod.",
    level="extended",
    needs=[*NEEDS, Feature.RESERVATIONS, Feature.CONDITIONS],
    source="kubernetes PriorityQueue.Update of gated pods; measured 1.33.13-1.37.2",
)
async def test_an_update_brings_the_reservation_back(arena: Arena) -> None:
    """A hint of a gated pod fills the only node; the scheduler is restarted, the pod gets an annotation, and
    a rival arrives."""
    node, holder = await held_node(arena)

    touch = {"metadata": {"annotations": {"example.com/touched": "yes"}}}
    author = arena.client(Actor.AUTHOR)
    await author.patch(resources.PODS, holder.name, touch, namespace=holder.namespace)
    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)

    await arena.hint(holder, None)
    assert await arena.bound(rival) == node


@behaviour(
    "NNN-RESTART-UNGATED-KEPT",
    must="A restarted scheduler knows what the hint of a pending pod without gates reserves.",
    why="The hint is on the object so that whoever comes after can go on from there.",
    level="extended",
    needs=[*NEEDS, Feature.RESERVATIONS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    source="kubernetes PriorityQueue.Add; measured 1.33.13-1.37.2",
)
async def test_ungated_reservation_is_kept(arena: Arena) -> None:
    """A hint of a pod that waits without a gate fills the only node; the scheduler is restarted, and a rival
    arrives."""
    scheduler = await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    # Unschedulable for ever, and keeps its hint because it never preempts.
    nowhere = {"example.com/none": "none"}
    holder = await arena.gated_pod("holder", cpu="4", node_selector=nowhere, priority="hintbound-never")
    await arena.hint(holder, node)
    await arena.ungate(holder)
    await arena.unschedulable(holder)

    await scheduler.restart()
    rival = await arena.pod("rival", cpu="4", priority="hintbound-high")  # equal to the holder's
    await arena.unschedulable(rival)

    await arena.hint(holder, None)
    assert await arena.bound(rival) == node


async def held_node(arena: Arena) -> tuple[str, Pod]:
    """A node that the hint of a gated pod fills, and that pod, after a restart of their scheduler."""
    scheduler = await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, node)
    await scheduler.restart()
    return node, holder
