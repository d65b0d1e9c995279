"""The scan of all nodes that a hint saves."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

RUNS = "scheduler_framework_extension_point_duration_seconds_count"


@behaviour(
    "NNN-HINT-TAKEN-UNSCORED",
    must="A pod whose hinted node fits is bound after one filtering and no scoring.",
    why="The hint is there to save a full scan; a scheduler that scores again ignores its caller.",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.HINTS, Feature.METRICS],
    source="KEP-5278, kubernetes evaluateNominatedNode; measured 1.33.13-1.37.2",
)
async def test_fitting_hint_saves_the_scan(arena: Arena) -> None:
    """A gated pod is hinted to the least attractive of three nodes and released; the scheduler's own counters
    tell which steps it ran."""
    scheduler = await arena.own_scheduler()
    _attractive, _attractive_too, hinted = await arena.nodes(3, soft_taint=[None, None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    runs = await arena.tally(scheduler, RUNS, by="extension_point")

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
    # These points are counted before the binding is sent, so by now they are final.
    ran = await runs.so_far()
    points = ("PreFilter", "Filter", "PreScore", "Score")
    assert {point: ran[point] for point in points} == {"PreFilter": 1, "Filter": 1, "PreScore": 0, "Score": 0}
