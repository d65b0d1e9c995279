"""A hint against a pod of higher priority."""

from hintbound.plugin import Arena, Capability, behaviour


@behaviour(
    "NNN-HINT-HIGHER-IGNORES",
    must="A pod of higher priority takes the room that a hinted pod holds as if there were no hint, and "
    "leaves the hint.",
    why="A hint is no protection against priority, and nobody tells the nominator that its hint has become "
    "void.",
    needs=[Capability.FAKE_NODES],
    source="kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2",
)
async def test_higher_priority_ignores_the_hint(arena: Arena) -> None:
    """A hint of a low pod fills the only node; a pod of high priority arrives."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4", priority="hintbound-low")
    await arena.hint(holder, node)

    rival = await arena.pod("rival", cpu="4", priority="hintbound-high")

    assert await arena.bound(rival) == node
    assert await arena.nomination(holder) == node
