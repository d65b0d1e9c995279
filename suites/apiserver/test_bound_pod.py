"""Writes to the field of a pod that is bound already."""

from hintbound.plugin import Arena, behaviour


@behaviour(
    "NNN-BOUND-FORBIDDEN",
    must="A bound pod refuses a new `status.nominatedNodeName` with 422, also the name of its own node; a "
    "write that "
    "leaves it empty is accepted.",
    why="A late hint can no longer steer anything; stored, it would mislead every reader of the field.",
    applies="gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["nominator"],
    advice="Take a 422 with `may not be set on pods that are already bound to a node` for `too late`: "
    "forget the hint, do not try again, raise no alarm. Releases and gates without this rule answer "
    "200 to the same write.",
    source="KEP-5278; measured 1.34.0-1.37.2 with the gate on",
)
async def test_bound_pod_refuses_a_hint(arena: Arena) -> None:
    """A pod that was created on a node is hinted to another node, to its own, and to none."""
    pod = await arena.pod(node="node-a")

    for node in ("node-b", "node-a"):
        refusal = await arena.refused(422, arena.hint(pod, node))
        assert "may not be set on pods that are already bound to a node" in str(refusal)
        assert await arena.nomination(pod) == "", f"{node} was refused and yet stored"

    await arena.accepted(arena.hint(pod, None))
    assert await arena.nomination(pod) == ""


@behaviour(
    "NNN-BOUND-ACCEPTED",
    must="Without the clearing gate a bound pod takes any valid `status.nominatedNodeName`, and it stays.",
    why="The value then contradicts `spec.nodeName` for the rest of the pod's life: readers must look at "
    "both.",
    applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["nominator", "dashboard"],
    advice="Look at spec.nodeName before you hint, or send a JSON patch that tests it for null: 200 does "
    "not tell that the hint came too late. From 1.35 on expect 422 instead, and take it for `too "
    "late`, not for an error to try again.",
    source="KEP-5278; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_bound_pod_takes_a_hint(arena: Arena) -> None:
    """A pod that was created on a node is hinted to another node, to its own, and to none."""
    pod = await arena.pod(node="node-a")

    for node in ("node-b", "node-a"):
        await arena.accepted(arena.hint(pod, node))
        assert await arena.nomination(pod) == node

    await arena.accepted(arena.hint(pod, None))
    assert await arena.nomination(pod) == ""
