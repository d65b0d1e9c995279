"""Hints on pods that are scheduled as a gang."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination
from hintbound.plugin.gangs import gang

GROUPS = 'gate(scheduler, GenericWorkload) and version(scheduler, ">=1.37")'
NEEDS: list[Capability | Feature] = [Capability.FAKE_NODES, Feature.UPSTREAM_DETAILS]
SOURCE = "KEP-4671; measured 1.37.2 with GenericWorkload on"


@behaviour(
    "NNN-GROUP-HINTS-TAKEN",
    must="Members of a gang whose hinted nodes fit are bound to those nodes, though others score higher.",
    why="Who plans for a whole gang can place every pod of it.",
    applies=GROUPS,
    needs=NEEDS,
    provisional=True,
    source=SOURCE,
    affects=["nominator", "scheduler"],
    advice="Hint every member before the last gate goes: a gang is placed in one attempt, and hints that "
    "come later are too late.",
)
async def test_hints_of_a_gang_are_taken(arena: Arena) -> None:
    """Two members of a gang of two are hinted to nodes that score less, and their gates removed."""
    nodes = await arena.nodes(4, soft_taint=[None, None, "PreferNoSchedule", "PreferNoSchedule"])
    members = await gang(arena, 2)
    hinted = {await arena.gated_pod(spec=members): node for node in nodes[2:]}

    for pod, node in hinted.items():
        await arena.hint(pod, node)
    for pod in hinted:
        await arena.ungate(pod)

    assert {pod: await arena.bound(pod) for pod in hinted} == hinted


@behaviour(
    "NNN-GROUP-INCOMPLETE-KEPT",
    must="A hinted member of a gang that is not complete waits and keeps its hint, and is bound to that node "
    "when the gang is complete.",
    why="Members that come one after the other keep their plan.",
    applies=GROUPS,
    needs=NEEDS,
    provisional=True,
    source=SOURCE,
    affects=["nominator", "autoscaler"],
    advice="Do not take a nominated member for one that is about to run: it may wait for the rest of its "
    "gang for as long as that takes.",
)
async def test_incomplete_gang_keeps_the_hint(arena: Arena) -> None:
    """One of two hinted members loses its gate; once a pod of less priority has been bound, the other one
    does as well."""
    _attractive, hinted, other = await arena.nodes(3, soft_taint=[None, "PreferNoSchedule"])
    members = await gang(arena, 2, priority="hintbound-high")
    early = await arena.gated_pod("early", priority="hintbound-high", spec=members)
    late = await arena.gated_pod("late", priority="hintbound-high", spec=members)
    for pod, node in ((early, hinted), (late, other)):
        await arena.hint(pod, node)

    await arena.ungate(early)
    barrier = await arena.pod("barrier", priority="hintbound-low")
    await arena.bound(barrier)
    assert "nodeName" not in (await arena.now(early))["spec"], "it did not wait for its gang"
    await arena.ungate(late)

    assert await arena.bound(early) == hinted
    shown = [v.nominated_node_name for v in (await arena.life(early)).versions if not v.node_name]
    assert set(shown[shown.index(hinted) :]) == {hinted}, f"what the unbound versions showed: {shown}"


@behaviour(
    "NNN-GROUP-MISFIT-OTHERS-CLEARED",
    must="When a gang does not fit, a member that fits alone loses its hint, and the member for which there "
    "is no room keeps its own.",
    why="It is the wrong way round: the useless hint stays and hides the pod, the useful one is gone.",
    applies=GROUPS,
    severity="hazard",
    needs=[*NEEDS, Feature.CONDITIONS],
    provisional=True,
    source=f"kubernetes submitPodGroupAlgorithmResult; {SOURCE}; docs/findings/gang-keeps-the-wrong-hint.md",
    affects=["nominator", "autoscaler"],
    advice="When a gang is Unschedulable clear the hints that are left, and hint all of its members anew.",
)
async def test_gang_that_does_not_fit(arena: Arena) -> None:
    """A gang of two is hinted to two nodes, on one of which its member does not fit, nor anywhere else."""
    first, second = await arena.nodes(2, cpu="4")
    members = await gang(arena, 2)
    small = await arena.gated_pod("small", cpu="1", spec=members)
    large = await arena.gated_pod("large", cpu="8", spec=members)

    for pod, node in ((small, first), (large, second)):
        await arena.hint(pod, node)
    for pod in (small, large):
        await arena.ungate(pod)

    left = {pod.name: nomination(await arena.unschedulable(pod)) for pod in (small, large)}
    assert left == {small.name: "", large.name: second}, "what the hints became"
