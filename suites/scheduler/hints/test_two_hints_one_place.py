"""Two pods of one priority with hints at one place, and no other node."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

SOURCE = "kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-HINT-TWO-FIRST-LOSES",
    must="Of two equal pods with hints at one place the one that is tried first is refused and loses its "
    "hint, and the other is bound there.",
    why="Each counts as placed for the other, so being first is of no use; a nominator sees its oldest pod "
    "lose.",
    needs=[
        Capability.FAKE_NODES,
        Feature.HINTS,
        Feature.RESERVATIONS,
        Feature.CONDITIONS,
        Feature.UPSTREAM_DETAILS,
    ],
    source=f"{SOURCE}; docs/findings/two-hints-block-each-other.md",
)
async def test_first_to_be_tried_loses(arena: Arena) -> None:
    """Two equal gated pods are hinted to the only node, which has room for one; the first is released, then
    the second."""
    (node,) = await arena.nodes(1, cpu="4")
    first, second = [await arena.gated_pod(name, cpu="4") for name in ("first", "second")]
    for pod in (first, second):
        await arena.hint(pod, node)

    await arena.ungate(first)
    refused = await arena.unschedulable(first)
    await arena.ungate(second)

    assert nomination(refused) == ""
    assert await arena.bound(second) == node


@behaviour(
    "NNN-HINT-TWO-NEVER-BLOCK",
    must="Two equal pods that never preempt, with hints at one place, both stay Unschedulable and keep their "
    "hints until one of these is cleared.",
    why="A free node stays empty and two pods wait for ever; only the nominator can end it, and no event "
    "tells it to.",
    severity="hazard",
    needs=[
        Capability.FAKE_NODES,
        Feature.HINTS,
        Feature.RESERVATIONS,
        Feature.CONDITIONS,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["nominator", "operator"],
    advice="Let one nominator give out a node's room, or read the hints at that node "
    "(fieldSelector=status.nominatedNodeName=NODE) before you add one. Clear hints of pods that are "
    "Unschedulable for longer than your plan allows.",
    source=f"{SOURCE}; docs/findings/two-hints-block-each-other.md",
)
async def test_two_that_never_preempt_block_each_other(arena: Arena) -> None:
    """Two equal gated pods that never preempt are hinted to the only node, which has room for one, and
    released; then one hint is cleared."""
    (node,) = await arena.nodes(1, cpu="4")
    pods = [await arena.gated_pod(name, cpu="4", priority="hintbound-never") for name in ("first", "second")]
    for pod in pods:
        await arena.hint(pod, node)
    for pod in pods:
        await arena.ungate(pod)
    for pod in pods:
        await arena.unschedulable(pod)
    barrier = await arena.pod("barrier", cpu="0")
    assert await arena.bound(barrier) == node
    assert [await arena.nomination(pod) for pod in pods] == [node, node]

    await arena.hint(pods[0], None)

    assert await arena.bound(pods[1]) == node
