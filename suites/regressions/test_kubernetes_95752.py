"""kubernetes#95752: a victim that does not go holds its preemptor for ever."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, regression, scheduled

STAYS = "terminating pod on the nominated node"


@behaviour(
    "BUG-KUBERNETES-95752",
    must="A preemptor whose victim does not go takes the room of another node when it is tried again.",
    why="One node that lets no pod go, or one finalizer, holds a pod that could run elsewhere.",
    level="regression",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS],
    source="kubernetes#95752, PodEligibleToPreemptOthers",
)
@regression(
    "kubernetes#95752",
    "a preemptor waits for one victim however long that takes, though another node has one that would go",
    shows=["embedded:1.35.4", "embedded:1.33.13", "embedded:1.34.0", "embedded:1.34.4", "embedded:1.37.2"],
    means="a finalizer holds the victim, and a neighbour that goes has the preemptor tried again",
    note="Closed upstream as it is meant: no release is without it; see NNN-PREEMPT-HELD-VICTIM.",
)
async def test_preemptor_goes_elsewhere(arena: Arena) -> None:
    """A finalizer holds the victim on the cheaper of two nodes; the preemptor is tried again, and must be
    nominated to the other."""
    stuck, other = await arena.nodes(2, cpu="5")
    victim = await arena.running_pod(
        stuck, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    neighbour = await arena.running_pod(stuck, "neighbour", cpu="1", priority="hintbound-high")
    await arena.running_pod(other, "dearer", cpu="5", priority="hintbound-mid")
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == stuck
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await arena.delete(neighbour)

    await arena.until(
        preemptor,
        lambda o: nomination(o) == other or o["spec"].get("nodeName") == other,
        f"{preemptor} to turn to {other}",
        unless=lambda o: STAYS in scheduled(o).get("message", ""),
    )
