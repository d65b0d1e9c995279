"""The write that nominates."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

SCHEDULER = "system:kube-scheduler"


@behaviour(
    "NNN-PREEMPT-ONE-PATCH",
    must="The PATCH that nominates a preemptor says Unschedulable as well.",
    why="A version with the one and not the other makes autoscalers add a node that nobody needs.",
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Feature.PREEMPTION, Feature.CONDITIONS],
    source="KEP-5278, kubernetes#89111; measured 1.33.13-1.37.2",
)
async def test_the_patch_that_nominates_says_why(arena: Arena) -> None:
    """A preemptor takes the only node; the scheduler's PATCHes are read from the audit log."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=1)

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.bound(preemptor) == node

    patches = [r for r in (await arena.life(preemptor)).requests if r.verb == "patch" and r.user == SCHEDULER]
    naming = [r.body["status"] for r in patches if r.body["status"].get("nominatedNodeName")]
    # More than one when the scheduler tries again before it sees its own write.
    assert {status["nominatedNodeName"] for status in naming} == {node}, "what the PATCHes named"
    for status in naming:
        said = {c["type"]: c.get("reason") for c in status.get("conditions", ())}
        assert said.get("PodScheduled") == "Unschedulable", f"the PATCH that nominates says {said}"
