"""A further preemptor on a node whose victim is terminating already."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, Feature, Pod, behaviour

SCHEDULER = "system:kube-scheduler"
AGAIN = 'version(scheduler, "<1.34") or version(scheduler, "==1.34") and version(scheduler, ">=1.34.2")'


@behaviour(
    "NNN-PREEMPT-GOING-VICTIM-SPARED",
    must="From 1.35 on a victim that is terminating already is not deleted again for a further preemptor.",
    why="Its Events name the one pod that it had to go for, and its grace period stands.",
    applies='version(scheduler, ">=1.35")',
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Feature.PREEMPTION],
    affects=["dashboard", "operator"],
    advice="One victim now has one preemptor in its Events and one DELETE in the audit log; alarms that "
    "are tuned to the larger numbers of earlier releases need a new threshold.",
    source="kubernetes preemption.prepareCandidate; measured 1.35.4-1.37.2",
)
async def test_terminating_victim_is_spared(arena: Arena) -> None:
    """A finalizer holds a victim that one preemptor has deleted; a higher preemptor arrives, and DELETEs are
    counted in the audit log."""
    node, victim = await preempted(arena)
    before = await deletions(arena, victim)

    further = await arena.pod("further", cpu="4", priority="hintbound-high")
    assert await arena.nominated(further) == node
    await passed(arena, node)

    assert await deletions(arena, victim) == before


@behaviour(
    "NNN-PREEMPT-GOING-VICTIM-DELETED-AGAIN",
    must="In 1.33, and in 1.34 from 1.34.2 on, each further preemptor on a node deletes a victim that is "
    "terminating already once more, and its Event names that preemptor too.",
    why="Ten preemptors on one node send 55 DELETEs for ten victims, and nine of ten Events mislead.",
    applies=AGAIN,
    severity="hazard",
    needs=[
        Capability.FAKE_NODES,
        Capability.AUDIT,
        Feature.PREEMPTION,
        Feature.EVENTS,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["dashboard", "operator"],
    advice="Count preemptions by the uid of the victim, not by DELETEs or Events, and take the first Event "
    "for the true one. The upgrade to 1.35 ends it.",
    source="measured 1.33.13 and 1.34.4; docs/findings/victims-are-deleted-again.md",
)
async def test_terminating_victim_is_deleted_again(arena: Arena) -> None:
    """A finalizer holds a victim that one preemptor has deleted; a higher preemptor arrives, and DELETEs are
    counted in the audit log."""
    node, victim = await preempted(arena)
    before = await deletions(arena, victim)

    further = await arena.pod("further", cpu="4", priority="hintbound-high")
    note = f"Preempted by pod {further.uid} on node {node}"
    about = f"reason=Preempted,regarding.uid={victim.uid}"
    await arena.shown(
        resources.EVENTS, lambda event: event["note"] == note, f"{note!r}", field_selector=about
    )

    assert await deletions(arena, victim) > before


async def preempted(arena: Arena) -> tuple[str, Pod]:
    """A node, and a victim on it that a preemptor has deleted and a finalizer holds."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    await arena.pod("first", cpu="4", priority="hintbound-mid")
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")
    # Where something else wakes the first preemptor at this very moment it may delete its victim twice: the
    # scheduler's pod lister shows the deletion before the scheduler's cache does.
    await passed(arena, node)
    return node, victim


async def passed(arena: Arena, node: str) -> None:
    """Let a pod through the scheduler: what came before it has been seen."""
    barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
    assert await arena.bound(barrier) == node


async def deletions(arena: Arena, victim: Pod) -> int:
    """How often the scheduler has deleted a pod so far."""
    requests = (await arena.life(victim)).requests
    return len([request for request in requests if request.verb == "delete" and request.user == SCHEDULER])
