"""Preemption by a pod that carries a hint already."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination


@behaviour(
    "NNN-PREEMPT-OVERWRITES-HINT",
    must="A hinted pod that must preempt is nominated to the cheapest node, also when its hint names "
    "another.",
    why="A hint is no wish for victims: who wants them on one node must leave the pod no other.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    source="kubernetes pickOneNodeForPreemption; measured 1.33.13-1.37.2",
)
async def test_preemption_overwrites_the_hint(arena: Arena) -> None:
    """A gated preemptor is hinted to a node with two victims and released; another node has one."""
    hinted, cheaper = await arena.nodes(2, cpu="4")
    for _ in range(2):
        await arena.running_pod(hinted, cpu="2", priority="hintbound-low")
    await arena.running_pod(cheaper, cpu="4", priority="hintbound-low")
    preemptor = await arena.gated_pod("preemptor", cpu="4", priority="hintbound-high")

    await arena.hint(preemptor, hinted)
    await arena.ungate(preemptor)

    nominated = await arena.until(
        preemptor,
        lambda o: nomination(o) not in ("", hinted),
        f"{preemptor} to be nominated elsewhere",
        unless=lambda o: bool(o["spec"].get("nodeName")),
    )
    assert nomination(nominated) == cheaper
    assert await arena.bound(preemptor) == cheaper


@behaviour(
    "NNN-PREEMPT-NEVER-SPARES",
    must="A pod with preemptionPolicy Never takes no victim, also not on the node that it is hinted to.",
    why="A hint is no licence: the node has to be made free by somebody else.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS],
    source="kubernetes PodEligibleToPreemptOthers; measured 1.33.13-1.37.2",
)
async def test_never_spares_the_pods_on_its_node(arena: Arena) -> None:
    """A gated pod that never preempts is hinted to a node that a low pod fills, and released; the low pod
    must live on."""
    (node,) = await arena.nodes(1, cpu="4")
    low = await arena.running_pod(node, "low", cpu="4", priority="hintbound-low")
    pod = await arena.gated_pod(cpu="4", priority="hintbound-never")

    await arena.hint(pod, node)
    await arena.ungate(pod)
    await arena.unschedulable(pod)
    barrier = await arena.pod("barrier", cpu="0")
    assert await arena.bound(barrier) == node

    spared = await arena.life(low)
    assert not any(version.deletion_timestamp for version in spared.versions), f"{low} was preempted"
