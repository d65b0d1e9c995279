"""Hints of others when nodes are scored."""

from hintbound.plugin import Arena, Capability, Feature, behaviour


@behaviour(
    "NNN-HINT-NOT-SCORED",
    must="What hints reserve on a node does not count when nodes are scored: the node that looks emptier "
    "without the hints is preferred.",
    why="Pods without a hint crowd the node where the planned ones are to come; spread is not what it seems.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "scheduler"],
    advice="Do not count on unhinted pods to keep off a node because hints fill it: hint all pods of a "
    "plan, or give planned nodes a PreferNoSchedule taint until they are filled.",
    source="kubernetes RunFilterPluginsWithNominatedPods (filters only); measured 1.33.13-1.37.2",
)
async def test_reservations_are_not_scored(arena: Arena) -> None:
    """One node is empty but for a hint on three of its four CPUs, the other runs a pod of one CPU; a small
    pod must choose the first."""
    reserved, used = await arena.nodes(2, cpu="4")
    occupant = await arena.pod("occupant", cpu="1", node_selector={"kubernetes.io/hostname": used})
    await arena.bound(occupant)
    holder = await arena.gated_pod("holder", cpu="3")
    await arena.hint(holder, reserved)

    pod = await arena.pod(cpu="1")

    assert await arena.bound(pod) == reserved
