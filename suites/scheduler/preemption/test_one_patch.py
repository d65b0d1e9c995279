"""The write that nominates."""

from typing import Any

from hintbound.plugin import Arena, Capability, behaviour

SCHEDULER = "system:kube-scheduler"


@behaviour(
    "NNN-PREEMPT-ONE-PATCH",
    must="The PATCH that nominates a preemptor says Unschedulable as well.",
    why="A version with the one and not the other makes autoscalers add a node that nobody needs.",
    needs=[Capability.FAKE_NODES, Capability.AUDIT],
    source="KEP-5278 W1, kubernetes#89111; measured 1.33.13-1.37.2",
)
async def test_the_patch_that_nominates_says_why(arena: Arena) -> None:
    for status in await nominating_patches(arena):
        said = {c["type"]: c.get("reason") for c in status.get("conditions", ())}
        assert said.get("PodScheduled") == "Unschedulable", f"the PATCH that nominates says {said}"


@behaviour(
    "NNN-PREEMPT-NOMINATED-ONCE",
    must="From 1.35 on a preemption sends exactly one PATCH that names a node.",
    why="Whoever counts nominations counts preemptions; earlier releases may try again before they see their "
    "own write.",
    applies='version(scheduler, ">=1.35")',
    needs=[Capability.FAKE_NODES, Capability.AUDIT],
    source="kubernetes#134249, #134730; measured 1.35.4-1.37.2",
)
async def test_one_patch_nominates(arena: Arena) -> None:
    assert len(await nominating_patches(arena)) == 1


async def nominating_patches(arena: Arena) -> list[dict[str, Any]]:
    """The status of each PATCH that named a node, from a preemption that has been completed."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=1)

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.bound(preemptor) == node

    patches = [r for r in (await arena.life(preemptor)).requests if r.verb == "patch" and r.user == SCHEDULER]
    naming = [r.body["status"] for r in patches if r.body["status"].get("nominatedNodeName")]
    assert {status["nominatedNodeName"] for status in naming} == {node}, "what the PATCHes named"
    return naming
