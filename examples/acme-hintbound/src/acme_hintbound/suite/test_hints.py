"""What Acme's nominator and dashboard rely on."""

from hintbound.plugin import Arena, Capability, behaviour


@behaviour(
    "ACME-HINT-AFTER-STALL",
    must="A hint that was written while the scheduler stood still is taken once it goes on.",
    why="Acme's nominator does not wait for schedulers: nodes stall, and hints must not be lost by it.",
    source="Acme nominator, design 4.2",
    applies="gate(scheduler, NominatedNodeNameForExpectation)",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.PAUSE_COMPONENT],
)
async def test_hint_written_while_the_scheduler_stands_still_is_taken(arena: Arena) -> None:
    scheduler = await arena.own_scheduler()
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    stall = await arena.fault("acme-stall", component=scheduler)
    await arena.hint(pod, hinted)
    await arena.ungate(pod)
    stall.over()

    assert await arena.bound(pod) == hinted


@behaviour(
    "ACME-HINT-READ-AFTER-BINDING",
    must="A bound pod still shows the node that it was hinted to.",
    why="Acme's dashboard shows beside each pod whether it runs where it was hinted to.",
    source="Acme dashboard, release 2",
    needs=[Capability.FAKE_NODES],
    affects=["dashboard"],
    advice="Read the annotation that the nominator writes, as release 3 does.",
)
async def test_bound_pod_still_shows_its_hint(arena: Arena) -> None:
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()

    await arena.hint(pod, node)
    await arena.ungate(pod)
    await arena.bound(pod)

    assert await arena.nomination(pod) == node
