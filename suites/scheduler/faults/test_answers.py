"""Answers that a scheduler never gets."""

from typing import Any

from hintbound.plugin import Arena, Capability, Feature, behaviour, scheduled

NEEDS = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.ACTOR_PROXY, Capability.AUDIT]
LOST = "the answer to a binding is lost"
BINDING: dict[str, Any] = {
    "actor": "kube-scheduler",
    "match": {"verb": "create", "resource": "pods/binding"},
}


@behaviour(
    "NNN-FAULT-BINDING-UNANSWERED",
    must="A hinted pod whose binding is done, but never answered, is bound once, to the node of its hint.",
    why="Whoever did not hear the answer cannot know; to try elsewhere would be to run a pod twice.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS],
    harms=["scheduled-stays-true"],
    source="kubernetes#140177 (review); measured 1.33.13-1.37.2; "
    "docs/findings/unanswered-binding-gives-the-room-away.md",
)
async def test_binding_is_not_answered(arena: Arena) -> None:
    """The connection of the scheduler is broken off in place of the answer."""
    await arena.own_scheduler(proxied=True)
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()
    await arena.hint(pod, hinted)
    lost = arena.rule(LOST, **BINDING, when={"first": 1}, do={"dropAnswer": {}})

    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
    await lost.bit()
    life = await arena.life(pod)
    assert [r.code for r in life.requests if r.binds and r.succeeded] == [201]


@behaviour(
    "NNN-FAULT-BINDING-UNANSWERED-CONDITION",
    must="A pod whose binding is done, but never answered, is told PodScheduled=False on its node, and where "
    "no kubelet writes the condition it stays so.",
    why="Whoever reads the condition takes a running pod for one that waits, and may add a node for it.",
    level="extended",
    needs=[*NEEDS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    severity="hazard",
    affects=["autoscaler", "dashboard"],
    advice="Read spec.nodeName before the condition: a pod that has one does not wait.",
    harms=["scheduled-stays-true"],
    source="kubernetes Scheduler.handleBindingCycleError; kubernetes#139417; measured 1.33.13-1.37.2; "
    "docs/findings/unanswered-binding-gives-the-room-away.md",
)
async def test_bound_pod_is_told_that_it_waits(arena: Arena) -> None:
    """The connection of the scheduler is broken off in place of the answer; then a barrier pod is bound."""
    await arena.own_scheduler(proxied=True)
    (node,) = await arena.nodes(1)
    lost = arena.rule(LOST, **BINDING, when={"first": 1}, do={"dropAnswer": {}})

    pod = await arena.pod()
    told = await arena.until(
        pod, lambda o: scheduled(o).get("reason") == "SchedulerError", f"{pod} to be told SchedulerError"
    )

    await lost.bit()
    assert told["spec"]["nodeName"] == node
    await arena.bound(await arena.pod("barrier"))
    assert scheduled(await arena.now(pod))["status"] == "False"


@behaviour(
    "NNN-FAULT-BINDING-UNANSWERED-ROOM",
    must="The room of a pod whose binding is done, but neither answered nor seen yet, is given to another "
    "pod that waits for it, and the node is over-committed.",
    why="The scheduler forgets what it assumed before it knows that the binding failed.",
    level="extended",
    needs=[*NEEDS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    exclusive=True,  # a paused watch is paused for the pods of all scenarios
    severity="hazard",
    affects=["operator", "scheduler"],
    advice="Pods may be refused by their kubelet (OutOfcpu) after an apiserver was slow or broke off; their "
    "owners must replace them.",
    harms=["scheduled-stays-true", "node-not-overcommitted"],
    source="kubernetes Cache.ForgetPod; kubernetes#100140, kubernetes#106361; measured 1.33.13-1.37.2; "
    "docs/findings/unanswered-binding-gives-the-room-away.md",
)
async def test_room_is_given_twice(arena: Arena) -> None:
    """A second pod waits for the room of a first one, whose binding is held, done, and not answered; that it
    has a node reaches the scheduler late."""
    await arena.own_scheduler(proxied=True)
    (node,) = await arena.nodes(1, cpu="4")
    late = arena.rule(
        "bound pods are seen late",
        actor="kube-scheduler",
        match={
            "verb": "watch",
            "resource": "pods",
            "event": "MODIFIED",
            "object": [{"path": "spec.nodeName", "present": True}],
        },
        do={"pauseEvents": {}},
    )
    held = arena.rule("a binding is held", **BINDING, when={"first": 1}, do={"hold": {"limit": 20}})
    lost = arena.rule(LOST, **BINDING, when={"first": 1}, do={"dropAnswer": {}})
    first = await arena.pod("first", cpu="4")
    second = await arena.pod("second", cpu="4")
    await arena.unschedulable(second)

    held.release()

    assert await arena.bound(first) == await arena.bound(second) == node
    await lost.bit()
    await late.bit()


@behaviour(
    "NNN-FAULT-NOMINATION-REFUSED",
    must="A preemptor whose nomination is refused with 429 once is nominated all the same, and bound there.",
    why="An apiserver under load sheds status writes first; a nomination that is lost for good lets others "
    "take the room.",
    level="extended",
    needs=[*NEEDS, Feature.PREEMPTION, Feature.POD_AFFINITY],
    source="client-go, Retry-After; measured 1.34.4-1.37.2",
)
async def test_nomination_is_refused_once(arena: Arena) -> None:
    """The patch that nominates is answered with 429 and Retry-After once; a finalizer holds the victim
    meanwhile."""
    await arena.own_scheduler(proxied=True)
    (node,) = await arena.nodes(1)
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    await arena.nodes.caught_up(node)
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
    await refused.bit()
    await arena.release(victim)
    assert await arena.bound(preemptor) == node


@behaviour(
    "NNN-FAULT-DELETION-UNANSWERED",
    must="A victim whose deletion is done, but never answered, keeps its grace, and the preemptor is bound "
    "once it is gone.",
    why="What is asked again must not be worse than what was asked once.",
    level="extended",
    needs=[*NEEDS, Feature.PREEMPTION, Feature.POD_AFFINITY],
    harms=["victim-deleted-once"],  # what was not answered is asked again
    source="kubernetes#134249; measured 1.34.0-1.37.2",
)
async def test_deletion_is_not_answered(arena: Arena) -> None:
    """The connection of the scheduler is broken off in place of the answer to its DELETE."""
    await arena.own_scheduler(proxied=True)
    (node,) = await arena.nodes(1)
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=3)
    await arena.nodes.caught_up(node)
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
    await lost.bit()
    assert going["metadata"]["deletionGracePeriodSeconds"] == 3
