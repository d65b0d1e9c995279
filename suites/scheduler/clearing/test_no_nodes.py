"""A hint in a cluster without nodes."""

from hintbound.plugin import Arena, Capability, Feature, Unproven, behaviour, nomination, scheduled

KEEPS = 'version(scheduler, "==1.34") and gate(scheduler, NominatedNodeNameForExpectation)'


@behaviour(
    "NNN-CLEAR-NO-NODES",
    must="In a cluster without nodes a failed attempt clears the hint.",
    why="The cluster that needs its autoscaler most is the empty one, and a nominated pod does not trigger "
    "it.",
    level="extended",
    exclusive=True,
    applies=f"not ({KEEPS})",
    needs=[
        Capability.FAKE_NODES,
        Capability.NO_NODES,
        Feature.HINTS,
        Feature.CONDITIONS,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["nominator", "autoscaler"],
    advice="A nominator that plans for nodes to come hints again once the first has joined. An autoscaler "
    "may take the pod for any other that waits: after the first attempt no hint hides it.",
    source="KEP-5278, kubernetes#135007; measured 1.33.13-1.37.2",
)
async def test_hint_is_cleared_without_nodes(arena: Arena) -> None:
    """On a control plane of its own without any node a gated, hinted pod is released."""
    assert await hint_after_a_failed_attempt(arena) == ""


@behaviour(
    "NNN-KEPT-NO-NODES",
    must="In 1.34 with NominatedNodeNameForExpectation a failed attempt in a cluster without nodes keeps "
    "the hint.",
    why="1.34 promised external writers that the scheduler keeps their value (kubernetes#133276); 1.35 "
    "took it back.",
    level="extended",
    exclusive=True,
    applies=KEEPS,
    needs=[
        Capability.FAKE_NODES,
        Capability.NO_NODES,
        Feature.HINTS,
        Feature.CONDITIONS,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["nominator", "autoscaler"],
    advice="An autoscaler that skips nominated pods must not skip one whose nominated node does not exist. "
    "Do not build on the hint's being kept: from 1.35 on the scheduler clears it.",
    source="KEP-5278, kubernetes#133276; measured 1.34.0 and 1.34.4 with the gate on",
)
async def test_hint_is_kept_without_nodes(arena: Arena) -> None:
    """On a control plane of its own without any node a gated, hinted pod is released."""
    assert await hint_after_a_failed_attempt(arena) == "no-such-node"


async def hint_after_a_failed_attempt(arena: Arena) -> str:
    await arena.nodes.none()
    pod = await arena.gated_pod()

    await arena.hint(pod, "no-such-node")
    await arena.ungate(pod)

    refused = await arena.unschedulable(pod)
    # A scheduler that knows of any node takes another path, which would show nothing here.
    if "no nodes available" not in scheduled(refused).get("message", ""):
        raise Unproven(f"the scheduler did not find the cluster empty: {scheduled(refused)}")
    return nomination(refused)
