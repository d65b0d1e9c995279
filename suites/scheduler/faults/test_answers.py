"""Answers that a scheduler never gets."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

NEEDS = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.ACTOR_PROXY, Capability.AUDIT]


@behaviour(
    "NNN-FAULT-BINDING-UNANSWERED",
    must="A hinted pod whose binding is done, but never answered, is bound once, to the node of its hint.",
    why="Whoever did not hear the answer cannot know; to try elsewhere would be to run a pod twice.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS],
    source="kubernetes#140177 (review); measured 1.34.4-1.37.2",
)
async def test_binding_is_not_answered(arena: Arena) -> None:
    """The connection of the scheduler is broken off in place of the answer."""
    await arena.own_scheduler(proxied=True)
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    await arena.hint(pod, hinted)
    lost = arena.rule(
        "the answer to a binding is lost",
        actor="kube-scheduler",
        match={"verb": "create", "resource": "pods/binding"},
        when={"first": 1},
        do={"dropAnswer": {}},
    )

    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
    lost.bit()
    life = await arena.life(pod)
    assert [r.code for r in life.requests if r.binds and r.succeeded] == [201]


@behaviour(
    "NNN-FAULT-NOMINATION-REFUSED",
    must="A preemptor whose nomination is refused with 429 once is nominated all the same, and bound there.",
    why="An apiserver under load sheds status writes first; a nomination that is lost for good lets others "
    "take the room.",
    level="extended",
    needs=[*NEEDS, Feature.PREEMPTION],
    source="client-go, Retry-After; measured 1.34.4-1.37.2",
)
async def test_nomination_is_refused_once(arena: Arena) -> None:
    """The patch that nominates is answered with 429 and Retry-After once."""
    await arena.own_scheduler(proxied=True)
    (node,) = await arena.nodes(1)
    await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=2)
    refused = arena.rule(
        "a nomination is refused",
        actor="kube-scheduler",
        match={
            "verb": "patch",
            "resource": "pods/status",
            "body": [{"path": "status.nominatedNodeName", "matches": "."}],
        },
        when={"first": 1},
        do={"reply": {"status": 429, "retryAfter": 1}},
    )

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")

    assert await arena.nominated(preemptor) == node
    refused.bit()
    assert await arena.bound(preemptor) == node


@behaviour(
    "NNN-FAULT-DELETION-UNANSWERED",
    must="A victim whose deletion is done, but never answered, keeps its grace, and the preemptor is bound "
    "once it is gone.",
    why="What is asked again must not be worse than what was asked once.",
    level="extended",
    needs=[*NEEDS, Feature.PREEMPTION],
    source="kubernetes#134249; measured 1.34.4-1.37.2",
)
async def test_deletion_is_not_answered(arena: Arena) -> None:
    """The connection of the scheduler is broken off in place of the answer to its DELETE."""
    await arena.own_scheduler(proxied=True)
    (node,) = await arena.nodes(1)
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=3)
    lost = arena.rule(
        "the answer to a deletion is lost",
        actor="kube-scheduler",
        match={"verb": "delete", "resource": "pods"},
        when={"first": 1},
        do={"dropAnswer": {}},
    )

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    going = await arena.until(
        victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted"
    )

    assert await arena.bound(preemptor) == node
    lost.bit()
    assert going["metadata"]["deletionGracePeriodSeconds"] == 3
