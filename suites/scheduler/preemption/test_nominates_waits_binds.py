"""Preemption from the nomination to the binding."""

from datetime import datetime, timedelta

from hintbound.plugin import Arena, Capability, Feature, behaviour, scheduled

GRACE = 2


@behaviour(
    "NNN-PREEMPT-NOMINATES-WAITS-BINDS",
    must="A preemptor is nominated in the version that says Unschedulable, its victim gets its full grace "
    "period, and "
    "the preemptor is bound there only after the victim is gone.",
    why="Nomination is not readiness: traffic, dashboards and autoscalers must wait for the binding.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS],
    source="kubernetes#89111, seed 001 step 5; measured 1.33.13-1.37.2",
)
async def test_preemption_nominates_waits_and_binds(arena: Arena) -> None:
    """A victim with a grace period fills the only node; the recorded versions of victim and preemptor are put
    in order."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=GRACE)

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.bound(preemptor) == node

    waiting, leaving = await arena.lives(preemptor, victim)
    nominated = next(version for version in waiting.versions if version.nominated_node_name)
    assert nominated.nominated_node_name == node
    assert scheduled(nominated.object).get("reason") == "Unschedulable", f"{nominated} does not say so"

    terminating = next(version for version in leaving.versions if version.deletion_timestamp)
    assert terminating.object["metadata"]["deletionGracePeriodSeconds"] == GRACE
    deletes = [request for request in leaving.requests if request.verb == "delete" and request.succeeded]
    if deletes:  # where the audit log can be read: only the apiserver's clock tells how long it was
        took = datetime.fromisoformat(deletes[-1].completed) - datetime.fromisoformat(deletes[0].received)
        assert took >= timedelta(seconds=GRACE), "the victim did not get its grace period"

    (gone,) = [version for version in leaving.versions if version.type == "deleted"]
    bound = next(version for version in waiting.versions if version.node_name)
    assert int(bound.rv) > int(gone.rv), "bound before the victim was gone"
