"""Hints that fit."""

from hintbound.clusters.protocol import Capability
from hintbound.plugin import Arena, behaviour

FAMILY = "scheduler_framework_extension_point_duration_seconds"


@behaviour(
    "NNN-HINT-TAKEN",
    must="A pending pod whose hinted node passes every filter is bound to that node, after one filtering and no scoring.",
    why="The hint is there to save a full scan; a scheduler that scores again ignores its caller.",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER],
    source="KEP-5278, kubernetes#132384; measured 1.34.0-1.37.2",
)
async def test_fitting_hint_is_taken(arena: Arena) -> None:
    scheduler = await arena.own_scheduler()
    _attractive, _attractive_too, hinted = await arena.nodes(3, soft_taint=[None, None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    before = await scheduler.metrics(FAMILY)

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
    after = await scheduler.metrics(FAMILY)
    runs = {
        point: after.value(f"{FAMILY}_count", extension_point=point) - before.value(f"{FAMILY}_count", extension_point=point)
        for point in ("PreFilter", "Filter", "PreScore", "Score")
    }
    assert runs == {"PreFilter": 1, "Filter": 1, "PreScore": 0, "Score": 0}
