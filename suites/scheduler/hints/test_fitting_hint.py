"""Hints that fit."""

from hintbound.plugin import Arena, Capability, Feature, behaviour


@behaviour(
    "NNN-HINT-TAKEN",
    must="A pending pod whose hinted node passes every filter is bound to that node, also when another is "
    "preferred.",
    why="Who hints has planned for the whole cluster; a scheduler that chooses again undoes the plan.",
    needs=[Capability.FAKE_NODES, Feature.HINTS],
    source="KEP-5278, kubernetes#132384; measured 1.33.13-1.37.2",
)
async def test_fitting_hint_is_taken(arena: Arena) -> None:
    """A gated pod is hinted to the less attractive of two nodes and released."""
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
