"""What the scheduler's own clearing sets off."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

ATTEMPTS = "scheduler_schedule_attempts_total"


@behaviour(
    "NNN-CLEAR-WAKES-ITSELF",
    must="A pod that fits nowhere is tried once; with a hint it is tried a second time, because clearing the "
    "hint wakes it.",
    why="Whoever counts attempts or FailedScheduling events sees each failed hint twice.",
    level="extended",
    exclusive=True,  # pods that come and go in other scenarios wake those that wait for room in this one
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.HINTS,
        Feature.CONDITIONS,
        Feature.METRICS,
        Feature.POD_AFFINITY,
        Feature.UPSTREAM_DETAILS,
    ],
    source="kubernetes eventhandlers updatePodInSchedulingQueue, kubernetes#129058; measured 1.33.13-1.37.2; "
    "docs/findings/clearing-wakes-its-own-pod.md",
)
async def test_clearing_wakes_its_own_pod(arena: Arena) -> None:
    """A scheduler of its own counts the attempts of a pod that fits nowhere, first without a hint, then with
    one."""
    scheduler = await arena.own_scheduler()
    (small,) = await arena.nodes(1, cpu="1")
    await arena.nodes.caught_up(small)
    attempts = await arena.tally(scheduler, ATTEMPTS, by="result")
    plain = await arena.pod("plain", cpu="2", priority="hintbound-high")
    await arena.unschedulable(plain)
    barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
    await arena.bound(barrier)
    assert (await attempts.so_far())["unschedulable"] == 1, "the pod without a hint was not tried once"

    pod = await arena.gated_pod("hinted", cpu="2")
    await arena.hint(pod, small)
    await arena.ungate(pod)
    await arena.unschedulable(pod)

    await attempts.until(lambda made: made["unschedulable"] >= 3, "the hinted pod to be tried twice")
