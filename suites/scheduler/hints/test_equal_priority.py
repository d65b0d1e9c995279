"""A hint against a pod of the same priority."""

from hintbound.plugin import Arena, Capability, Feature, behaviour


@behaviour(
    "NNN-HINT-EQUAL-YIELDS",
    must="A pod of equal priority does not take the room that a hinted pod holds, and gets it once the "
    "hint is cleared.",
    why="A hint reserves: a nominator that leaves one behind starves its neighbours.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS],
    source="kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2",
)
async def test_equal_priority_yields(arena: Arena) -> None:
    """A hint fills the only node; an equal pod must be refused while a pod without requests is bound there,
    and be bound once the hint is cleared."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, node)

    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)
    barrier = await arena.pod("barrier", cpu="0")
    assert await arena.bound(barrier) == node
    assert "nodeName" not in (await arena.now(rival))["spec"], "the rival took the room that the hint holds"

    await arena.hint(holder, None)
    assert await arena.bound(rival) == node
