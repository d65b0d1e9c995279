"""A hint on a pod that never preempts."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

SOURCE = "kubernetes PodEligibleToPreemptOthers; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-KEPT-NEVER",
    must="A pod with `preemptionPolicy: Never` keeps its hint when nothing fits.",
    why="The hint goes on reserving room and hides the pod from autoscalers; only its nominator can end it.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "autoscaler", "operator"],
    advice="A nominator of pods that never preempt sets itself a time limit and clears the hint of a pod "
    "that is Unschedulable beyond it. An autoscaler should not skip a nominated pod that says "
    "Unschedulable and has this policy.",
    source=f"{SOURCE}; docs/findings/never-keeps-the-hint.md",
)
async def test_never_keeps_its_hint(arena: Arena) -> None:
    """A gated pod that never preempts is hinted to a node that is too small, and released."""
    (small,) = await arena.nodes(1, cpu="1")
    pod = await arena.gated_pod(cpu="2", priority="hintbound-never")

    await arena.hint(pod, small)
    await arena.ungate(pod)

    assert nomination(await arena.unschedulable(pod)) == small


@behaviour(
    "NNN-KEPT-NEVER-GHOST",
    must="A pod with `preemptionPolicy: Never` keeps its hint also when the hinted node does not exist.",
    why="An autoscaler that skips nominated pods waits for ever for a node that nobody will make.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "autoscaler"],
    advice="When a node is deleted, clear the hints at it (fieldSelector=status.nominatedNodeName=NODE). "
    "An autoscaler should look whether the nominated node exists before it skips the pod.",
    source=f"{SOURCE}; docs/findings/never-keeps-the-hint.md",
)
async def test_never_keeps_its_hint_at_a_ghost(arena: Arena) -> None:
    """A gated pod that never preempts and fits nowhere is hinted to a node that does not exist."""
    await arena.nodes(1, cpu="1")
    ghost = arena.nodes.future()
    pod = await arena.gated_pod(cpu="2", priority="hintbound-never")

    await arena.hint(pod, ghost)
    await arena.ungate(pod)

    assert nomination(await arena.unschedulable(pod)) == ghost
