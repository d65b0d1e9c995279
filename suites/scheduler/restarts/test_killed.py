"""A scheduler that is killed and started again."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

NEEDS = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.RESTART_COMPONENT]


@behaviour(
    "NNN-RESTART-PREEMPTOR-KEPT",
    must="A preemptor that waits for its victim while its scheduler is killed keeps its nomination, its room "
    "and its turn: the scheduler that is started then gives the room to no equal.",
    why="The victims were paid for already; a preemptor that starts over would take others.",
    level="extended",
    needs=[*NEEDS, Feature.PREEMPTION, Feature.RESERVATIONS, Feature.CONDITIONS],
    source="kubernetes#138443, PriorityQueue.Add; measured 1.33.13-1.37.2",
)
async def test_preemptor_outlives_its_scheduler(arena: Arena) -> None:
    """A finalizer holds the victim while the scheduler is killed, an equal rival arrives, and the scheduler
    is started again."""
    scheduler = await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await scheduler.kill()
    rival = await arena.pod("rival", cpu="4", priority="hintbound-high")
    await scheduler.restart()
    await arena.unschedulable(rival)
    await arena.release(victim)

    assert await arena.bound(preemptor) == node
    waiting, rivalling = await arena.lives(preemptor, rival)
    shown = [version.nominated_node_name for version in waiting.versions if not version.node_name]
    assert set(shown[shown.index(node) :]) == {node}, f"what the unbound versions showed: {shown}"
    assert rivalling.binding is None, "the rival was bound as well"


@behaviour(
    "NNN-RESTART-HINT-WHILE-DOWN",
    must="A hint that is written while no scheduler runs is honoured by the one that is started then.",
    why="The field is the state, not a message: a nominator need not know whether anybody listens.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS],
    source="kubernetes PriorityQueue.Add; measured 1.33.13-1.37.2",
)
async def test_hint_waits_for_a_scheduler(arena: Arena) -> None:
    """The scheduler is killed; a gated pod is hinted and released before it is started again."""
    scheduler = await arena.own_scheduler()
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    await scheduler.kill()
    await arena.hint(pod, hinted)
    await arena.ungate(pod)
    await scheduler.restart()

    assert await arena.bound(pod) == hinted


@behaviour(
    "NNN-RESTART-HINT-WHILE-PAUSED",
    must="What is hinted last, before the gate goes, counts for a scheduler that stood still meanwhile.",
    why="A scheduler that lags behind must not act on what it saw long ago.",
    level="extended",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.PAUSE_COMPONENT, Feature.HINTS],
    source="kubernetes PriorityQueue.Update; measured 1.33.13-1.37.2",
)
async def test_last_hint_counts_after_a_pause(arena: Arena) -> None:
    """The scheduler is stopped (SIGSTOP) while the hint of a gated pod is changed and the pod released; then
    it goes on."""
    scheduler = await arena.own_scheduler()
    first, last = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    await arena.hint(pod, first)

    scheduler.pause()
    await arena.hint(pod, last)
    await arena.ungate(pod)
    scheduler.resume()

    assert await arena.bound(pod) == last


@behaviour(
    "NNN-RESTART-PREEMPTION-PAUSED",
    must="A preemptor whose victim goes while the scheduler stands still is bound to its node when the "
    "scheduler goes on.",
    why="Nobody sends the event a second time: what the scheduler sleeps through it must find by itself.",
    level="extended",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.PAUSE_COMPONENT, Feature.PREEMPTION],
    source="kubernetes scheduling queue; measured 1.33.13-1.37.2",
)
async def test_preemption_goes_on_after_a_pause(arena: Arena) -> None:
    """The scheduler is stopped (SIGSTOP) while the victim of its preemptor goes; then it goes on."""
    scheduler = await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    scheduler.pause()
    await arena.release(victim)
    await arena.gone(victim)
    waiting = await arena.now(preemptor)
    scheduler.resume()

    assert nomination(waiting) == node
    assert await arena.bound(preemptor) == node
