"""Hints that do not fit while another node does."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

ATTEMPTS = "scheduler_schedule_attempts_total"


@behaviour(
    "NNN-HINT-FALLS-THROUGH",
    must="A pod whose hinted node does not fit is bound to a node that does, in the same scheduling attempt.",
    why="The full scan is the floor of correctness: a wrong hint may cost one filter run, not an attempt "
    "or a place.",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.HINTS, Feature.METRICS],
    source="KEP-5278, seed 001 step 4; measured 1.33.13-1.37.2",
)
async def test_unfit_hint_falls_through(arena: Arena) -> None:
    """A gated pod is hinted to a node that is too small and released; another fits, and the scheduler's
    counters must show no failed attempt."""
    scheduler = await arena.own_scheduler()
    (small,) = await arena.nodes(1, cpu="1")
    (roomy,) = await arena.nodes(1)
    pod = await arena.gated_pod(cpu="2")
    attempts = await arena.tally(scheduler, ATTEMPTS, by="result")

    await arena.hint(pod, small)
    await arena.ungate(pod)

    assert await arena.bound(pod) == roomy
    # A failed attempt is counted before the next one begins, so by now these are final.
    made = await attempts.so_far()
    assert (made["unschedulable"], made["error"]) == (0, 0), "attempts failed before the pod was bound"
