"""What a victim is told."""

from hintbound.plugin import Arena, Capability, Feature, behaviour


@behaviour(
    "NNN-PREEMPT-EVENT",
    must="The Event `Preempted` of a victim names the uid of its preemptor and the node.",
    why="It is the only trace from a pod that vanished to the pod that took its place.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.EVENTS],
    source="kubernetes preemption.PreemptPod; measured 1.33.13-1.37.2",
)
async def test_event_names_the_preemptor(arena: Arena) -> None:
    """A victim is preempted, and its Event is awaited."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low")

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")

    told = await arena.told(victim, "Preempted")
    assert told["note"] == f"Preempted by pod {preemptor.uid} on node {node}"
