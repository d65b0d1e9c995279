"""kubernetes#92600: a preemptor stays with a node that is closed to it meanwhile."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, regression, scheduled

STAYS = "terminating pod on the nominated node"


@behaviour(
    "BUG-KUBERNETES-92600",
    must="A preemptor whose node is cordoned before its victim is gone takes the room of another node.",
    why="The node that broke down is often the one that does not end its pods: the preemptor waits for both.",
    level="regression",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS],
    source="kubernetes#92600, fixed by #92604 in 1.19",
)
@regression(
    "kubernetes#92600",
    "a preemptor does not look for another node when the nominated one takes no pods any more",
    absent=["embedded:1.34.4", "embedded:1.35.4", "embedded:1.37.2"],
    mutants=["blind-to-cordons"],
    means="a finalizer holds the victim while its node is cordoned, and a fault proxy hides that",
    note="Fixed in 1.19: no pinned release shows it for single pods.",
)
async def test_preemptor_leaves_a_closed_node(arena: Arena) -> None:
    """A finalizer holds the victim on the cheaper of two nodes, which is cordoned; the preemptor is tried
    again, and must be nominated to the other."""
    closed, other = await arena.nodes(2, cpu="5")
    victim = await arena.running_pod(
        closed, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    neighbour = await arena.running_pod(closed, "neighbour", cpu="1", priority="hintbound-high")
    await arena.running_pod(other, "dearer", cpu="5", priority="hintbound-mid")
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == closed
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await arena.nodes.cordon(closed)
    since = int((await arena.now(preemptor))["metadata"]["resourceVersion"])  # it may have been tried before
    await arena.delete(neighbour)

    await arena.until(
        preemptor,
        lambda o: nomination(o) == other or o["spec"].get("nodeName") == other,
        f"{preemptor} to turn to {other}",
        unless=lambda o: (
            STAYS in scheduled(o).get("message", "") and int(o["metadata"]["resourceVersion"]) > since
        ),
    )
