"""Many hints at once."""

import asyncio

from hintbound.plugin import Arena, Capability, Feature, behaviour

MANY = 12


@behaviour(
    "NNN-HINT-BURST-EXACT",
    must="Equal pods with distinct hints that become schedulable in one burst are each bound to the node "
    "hinted for it.",
    why="A nominator plans whole batches: one swapped pair would break the plan of both.",
    needs=[Capability.FAKE_NODES, Feature.HINTS],
    source="KEP-5278; measured 1.33.13-1.37.2, also with OpportunisticBatching",
)
async def test_burst_lands_exactly(arena: Arena) -> None:
    """Many equal gated pods, each hinted to a node of its own, are released at once."""
    nodes = await arena.nodes(MANY, cpu="4")
    hinted = {await arena.gated_pod(): node for node in reversed(nodes)}
    await asyncio.gather(*(arena.hint(pod, node) for pod, node in hinted.items()))

    await asyncio.gather(*(arena.ungate(pod) for pod in hinted))

    landed = {pod: await arena.bound(pod) for pod in hinted}
    assert landed == hinted


@behaviour(
    "NNN-HINT-MANY-ONE-PLACE",
    must="Of many pods hinted to one place exactly one gets it, the others are bound elsewhere, and none is "
    "left pending.",
    why="Two nominators, or one with an old picture, may give one place out twice; that must cost no pod.",
    needs=[Capability.FAKE_NODES, Feature.HINTS],
    source="kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2",
)
async def test_many_hints_at_one_place(arena: Arena) -> None:
    """Many equal gated pods, all hinted to a node with room for one, are released at once; a large node takes
    the others."""
    (place,) = await arena.nodes(1, cpu="4", soft_taint=["PreferNoSchedule"])
    (roomy,) = await arena.nodes(1, cpu=str(4 * MANY))
    pods = [await arena.gated_pod(cpu="4") for _ in range(MANY)]
    await asyncio.gather(*(arena.hint(pod, place) for pod in pods))

    await asyncio.gather(*(arena.ungate(pod) for pod in pods))

    landed = sorted([await arena.bound(pod) for pod in pods])
    assert landed == sorted([place, *[roomy] * (MANY - 1)])
