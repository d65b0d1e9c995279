"""What comes first, the nomination or the victim's end."""

from hintbound.plugin import Arena, Capability, Feature, behaviour


@behaviour(
    "NNN-PREEMPT-SYNC-VICTIM-FIRST",
    must="A scheduler without SchedulerAsyncPreemption nominates only after its victim carries "
    "DisruptionTarget and a deletionTimestamp, in this order.",
    why="There the nomination tells that the victims are going; with the gate on it may come first, and who "
    "counts on the order is misled.",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.PREEMPTION, Feature.FEATURE_GATES],
    source="kubernetes preemption.prepareCandidate; measured 1.33.13-1.37.2 with the gate off",
)
async def test_nomination_follows_the_victims_deletion(arena: Arena) -> None:
    """A scheduler with the gate off preempts on the only node; the recorded versions of victim and preemptor
    are put in order."""
    await arena.own_scheduler(gates={"SchedulerAsyncPreemption": False})
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=1)

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.bound(preemptor) == node

    waiting, leaving = await arena.lives(preemptor, victim)
    seen = {
        "disrupted": next(v for v in leaving.versions if v.condition("DisruptionTarget")),
        "deleted": next(v for v in leaving.versions if v.deletion_timestamp),
        "nominated": next(v for v in waiting.versions if v.nominated_node_name),
    }
    came = sorted(seen, key=lambda what: int(seen[what].rv))
    assert came == ["disrupted", "deleted", "nominated"]
