"""Hints of others when a pod of higher priority preempts."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

SOURCE = "kubernetes getLowerPriorityNominatedPods; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-CLEAR-PREEMPTOR-ARRIVES",
    must="A pod that preempts on a node clears the hints of pods of lower priority at that node.",
    why="Their room is given away; a hint that stayed would keep them from looking elsewhere.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.POD_AFFINITY],
    source=SOURCE,
)
async def test_preemptor_clears_lower_hints(arena: Arena) -> None:
    """A hint of middle priority stands at a node that a low pod fills; a high pod preempts there."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.running_pod(node, cpu="4", priority="hintbound-low")
    await arena.nodes.caught_up(node)
    holder = await arena.gated_pod("holder", cpu="4", priority="hintbound-mid")
    since = int((await arena.hint(holder, node))["metadata"]["resourceVersion"])

    await arena.pod("preemptor", cpu="4", priority="hintbound-high")

    await arena.until(
        holder,
        lambda o: int(o["metadata"]["resourceVersion"]) > since and not nomination(o),
        f"the hint of {holder} to be cleared",
    )


@behaviour(
    "NNN-KEPT-PREEMPTOR-ELSEWHERE",
    must="A pod that preempts on one node leaves the hints at other nodes.",
    why="One preemption must not undo the plans for the whole cluster.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.POD_AFFINITY],
    source=SOURCE,
)
async def test_preemptor_leaves_hints_elsewhere(arena: Arena) -> None:
    """A low pod is hinted to one node; a high pod preempts on another. No recorded version may show that the
    hint was written anew."""
    node, other = await arena.nodes(2, cpu="4")
    await arena.running_pod(node, cpu="4", priority="hintbound-low")
    await arena.nodes.caught_up(node)
    holder = await arena.gated_pod("holder", cpu="4", priority="hintbound-low")
    await arena.hint(holder, other)

    here = {"kubernetes.io/hostname": node}
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high", node_selector=here)

    assert await arena.bound(preemptor) == node
    versions = (await arena.life(holder)).versions
    assert [v.nominated_node_name for v in versions] == ["", other], "somebody wrote the hint anew"
