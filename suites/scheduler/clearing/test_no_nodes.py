"""A hint in a cluster without nodes."""

from hintbound.clusters.protocol import Capability
from hintbound.plugin import Arena, behaviour
from hintbound.plugin.arena import nomination

KEEPS = 'version(scheduler, "==1.34") and gate(scheduler, NominatedNodeNameForExpectation)'


@behaviour(
    "NNN-CLEAR-NO-NODES",
    must="In a cluster without nodes a failed attempt clears the hint.",
    why="The cluster that needs its autoscaler most is the empty one, and a nominated pod does not trigger it.",
    level="extended",
    exclusive=True,
    applies=f"not ({KEEPS})",
    needs=[Capability.FAKE_NODES],
    source="KEP-5278 C3, kubernetes#135007; measured 1.34.0-1.37.2",
)
async def test_hint_is_cleared_without_nodes(arena: Arena) -> None:
    pod = await arena.gated_pod()

    await arena.hint(pod, "no-such-node")
    await arena.ungate(pod)

    assert nomination(await arena.unschedulable(pod)) == ""


@behaviour(
    "NNN-KEPT-NO-NODES",
    must="In 1.34 with NominatedNodeNameForExpectation a failed attempt in a cluster without nodes keeps the hint.",
    why="1.34 promised external writers that the scheduler keeps their value (kubernetes#133276); 1.35 took it back.",
    level="extended",
    exclusive=True,
    applies=KEEPS,
    needs=[Capability.FAKE_NODES],
    source="KEP-5278 C3, kubernetes#133276; measured 1.34.0 and 1.34.4 with the gate on",
)
async def test_hint_is_kept_without_nodes(arena: Arena) -> None:
    pod = await arena.gated_pod()

    await arena.hint(pod, "no-such-node")
    await arena.ungate(pod)

    assert nomination(await arena.unschedulable(pod)) == "no-such-node"
