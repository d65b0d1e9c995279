"""A victim that does not go."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, scheduled


@behaviour(
    "NNN-PREEMPT-HELD-VICTIM",
    must="While a finalizer holds the victim, the preemptor keeps its nomination, also over a further "
    "attempt, and is bound there when the victim goes.",
    why="No second choice is made: a node that does not let go of a pod holds the preemptor as well.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    source="kubernetes#95752, PodEligibleToPreemptOthers; measured 1.33.13-1.37.2",
)
async def test_preemptor_waits_for_a_held_victim(arena: Arena) -> None:
    """A finalizer holds the victim while the preemptor is tried once more; then the victim is let go."""
    (node,) = await arena.nodes(1, cpu="5")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    neighbour = await arena.running_pod(node, "neighbour", cpu="1", priority="hintbound-high")

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")
    await arena.delete(neighbour)  # the room that it leaves is too small: a further attempt
    retried = await arena.until(
        preemptor,
        lambda o: "terminating pod on the nominated node" in scheduled(o).get("message", ""),
        f"{preemptor} to be tried again",
    )
    assert nomination(retried) == node
    await arena.release(victim)
    assert await arena.bound(preemptor) == node

    waiting = await arena.life(preemptor)
    named = [v.nominated_node_name for v in waiting.versions if not v.node_name]
    assert set(named[named.index(node) :]) == {node}, "the nomination did not stay"
