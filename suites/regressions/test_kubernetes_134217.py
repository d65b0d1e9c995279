"""kubernetes#134217: a preemptor whose victim is being bound is tried again and again."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, regression
from hintbound.plugin.webhooks import webhook

ROUNDS = 10


@behaviour(
    "BUG-KUBERNETES-134217",
    must="A preemptor whose victim is still being bound waits for the end of that: it is not tried again "
    "while nothing happens.",
    why="Each attempt takes a whole turn of the scheduler, without backoff: others wait, and nothing is won.",
    level="regression",
    exclusive=True,
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Capability.WEBHOOKS,
        Feature.PREEMPTION,
        Feature.POD_AFFINITY,
        Feature.METRICS,
    ],
    source="kubernetes#134217, fixed by #134157 and #134294",
)
@regression(
    "kubernetes#134217",
    "a preemptor runs through attempts without end while its victim's binding hangs",
    shows=["embedded:1.34.4", "embedded:1.33.13", "embedded:1.34.0"],
    absent=["embedded:1.35.4", "embedded:1.37.2"],
    means="a webhook holds the victim's binding, and a neighbour that goes wakes the preemptor once",
)
async def test_preemptor_does_not_spin(arena: Arena) -> None:
    """A webhook holds the binding of a victim; its preemptor is woken once, and its attempts are counted
    while ten other pods are bound."""
    async with webhook(arena) as slow:
        scheduler = await arena.own_scheduler()
        (node,) = await arena.nodes(1, cpu="5")
        neighbour = await arena.running_pod(node, "neighbour", cpu="500m", priority="hintbound-high")
        victim = await arena.gated_pod("victim", cpu="4", priority="hintbound-low")
        binding = slow.hold("binding", victim.name)
        await arena.ungate(victim)
        await binding.first()
        preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
        await arena.gone(victim)

        await arena.delete(neighbour)
        await arena.gone(neighbour)
        await arena.nodes.caught_up(node)
        attempts = await arena.tally(scheduler, "scheduler_schedule_attempts_total", by="result")
        for _ in range(ROUNDS):
            barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
            assert await arena.bound(barrier) == node
        made = (await attempts.so_far())["unschedulable"]
        binding.release()

        assert await arena.bound(preemptor) == node
        assert made < ROUNDS // 2, "attempts that failed while nothing happened"
