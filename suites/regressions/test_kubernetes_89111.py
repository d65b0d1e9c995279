"""kubernetes#89111: a preemptor is Unschedulable before it is nominated."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, regression


@behaviour(
    "BUG-KUBERNETES-89111",
    must="No version of a pod says Unschedulable without the nomination that comes with its preemption.",
    why="An autoscaler that sees Unschedulable alone adds a node that nobody needs.",
    level="regression",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS],
    source="kubernetes#89111, #91535",
)
@regression(
    "kubernetes#89111",
    "the condition of a preemptor is written before its nomination",
    absent=["embedded:1.34.0", "embedded:1.34.4", "embedded:1.35.4", "embedded:1.37.2"],
    checks=["preemption-told-whole"],
    mutants=["splits-nomination"],
    history="tests/checks/test_families.py::test_check_finds_what_breaks_its_sentence"
    "[preemption-told-whole-hint_without_condition]",
    means="a fault proxy splits the scheduler's write in two; and a history written by hand",
    note="Fixed in 1.18, and one PATCH since 1.19: no pinned release shows it, with or without "
    "SchedulerAsyncAPICalls.",
)
async def test_told_and_nominated_at_once(arena: Arena) -> None:
    """A victim goes for a preemptor; no recorded version of this may say Unschedulable and name no node."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.running_pod(node, cpu="4", priority="hintbound-low")

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.bound(preemptor) == node

    waiting = [version for version in (await arena.life(preemptor)).versions if not version.node_name]
    alone = [
        version.rv
        for version in waiting
        if (version.condition("PodScheduled") or {}).get("reason") == "Unschedulable"
        and version.nominated_node_name != node
    ]
    assert alone == [], "versions that say Unschedulable and name no node"
