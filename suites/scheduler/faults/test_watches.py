"""What a scheduler does not see for a while."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

NEEDS = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.ACTOR_PROXY]


@behaviour(
    "NNN-FAULT-WATCH-EXPIRED",
    must="A hint whose write the scheduler did not see, because its watch of pods had expired, is honoured "
    "once it has listed them anew.",
    why="Watches expire every day; the list must tell all that they would have told.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS],
    exclusive=True,  # whichever scheduler's watch meets the event first is ended
    source="client-go Reflector; measured 1.34.4-1.37.2",
)
async def test_hint_is_listed(arena: Arena) -> None:
    """In the place of the event that shows the hint the watch ends with 410 Expired."""
    await arena.own_scheduler(proxied=True)
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    watch = {"verb": "watch", "resource": "pods", "event": "MODIFIED"}
    unseen = arena.rule(
        "a hint is not seen",
        actor="kube-scheduler",
        match={**watch, "object": [{"path": "status.nominatedNodeName", "is": hinted}]},
        do={"expireWatch": {"at": "event"}},
        when={"first": 1},
    )

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
    await unseen.bit()


@behaviour(
    "NNN-FAULT-HINT-UNSEEN",
    must="A pod whose hint the scheduler never saw is bound as if it had none.",
    why="A hint is not a binding: what is lost on the way costs the pod nothing but its place.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS],
    source="KEP-5278; measured 1.34.4-1.37.2",
)
async def test_hint_is_never_seen(arena: Arena) -> None:
    """The scheduler reads the pod without its hint, whichever event it comes with."""
    await arena.own_scheduler(proxied=True)
    attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    unseen = arena.rule(
        "hints are not seen",
        actor="kube-scheduler",
        match={"verb": ["get", "list", "watch"], "resource": "pods"},
        do={"editObjects": [{"remove": "status.nominatedNodeName"}]},
    )

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == attractive
    await unseen.bit()
