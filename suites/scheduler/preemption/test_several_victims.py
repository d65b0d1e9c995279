"""Preemption of several victims."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

SCHEDULER = "system:kube-scheduler"
GRACE = 1


@behaviour(
    "NNN-PREEMPT-EACH-VICTIM-ONCE",
    must="Of several victims each is marked and deleted exactly once, and the preemptor is bound only after "
    "the last of them is gone.",
    why="A second DELETE would cut a grace period that was granted; an early binding would over-commit the "
    "node.",
    applies='version(scheduler, ">=1.35")',
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Feature.PREEMPTION],
    affects=["dashboard", "operator"],
    advice="Audit rules and dashboards may count one DELETE by the scheduler as one preemption from 1.35 "
    "on. For releases before, count victims by uid.",
    source="kubernetes#134249, #134730: earlier releases may send the DELETE again; measured 1.35.4-1.37.2",
)
async def test_each_victim_is_deleted_once(arena: Arena) -> None:
    """Four victims go for one preemptor; the scheduler's requests are read from the audit log."""
    (node,) = await arena.nodes(1, cpu="4")
    # None goes at once: its end would wake the preemptor while the last is being deleted, and the scheduler's
    # pod lister shows a deletion before the scheduler's cache does.
    victims = [
        await arena.running_pod(node, cpu="1", priority="hintbound-low", grace=GRACE) for _ in range(4)
    ]

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.bound(preemptor) == node

    waiting, *leaving = await arena.lives(preemptor, *victims)
    for life in leaving:
        sent = [request.verb for request in life.requests if request.user == SCHEDULER]
        assert sent == ["patch", "delete"], f"what the scheduler sent to {life.name}"
    ends = [int(life.last.rv) for life in leaving if life.last.type == "deleted"]
    assert len(ends) == len(victims), "a victim has not gone"
    assert waiting.bound is not None
    assert int(waiting.bound.rv) > max(ends), "bound before the last victim was gone"


@behaviour(
    "NNN-PREEMPT-GRACE-UNTOUCHED",
    must="The scheduler's DELETE of a victim asks for no grace period: the victim gets the one in its spec.",
    why="A workload that needs a minute to hand over its connections gets it also when it is preempted.",
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Feature.PREEMPTION],
    source="kubernetes util.DeletePod; measured 1.33.13-1.37.2",
)
async def test_victims_grace_is_its_own(arena: Arena) -> None:
    """A victim with a grace period is preempted; the DELETE is read from the audit log, the period granted
    from the victim."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=GRACE)

    await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    await arena.gone(victim)

    leaving = await arena.life(victim)
    asked = [r.body for r in leaving.requests if r.verb == "delete" and r.user == SCHEDULER]
    assert {(body or {}).get("gracePeriodSeconds") for body in asked} == {None}
    terminating = next(v for v in leaving.versions if v.deletion_timestamp)
    assert terminating.object["metadata"]["deletionGracePeriodSeconds"] == GRACE


@behaviour(
    "NNN-PREEMPT-NEVER-OVERCOMMITS",
    must="At no version of any pod do the pods on a node ask for more than it has, however many preempt on "
    "it and whenever their victims go.",
    why="A node that is over-committed for a moment refuses pods: the kubelet fails them for good.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION],
    source="kubernetes NodeResourcesFit with nominated pods; measured 1.33.13-1.37.2",
)
async def test_node_is_never_over_committed(arena: Arena) -> None:
    """Four victims go for two preemptors; what all pods on the node ask for is added up at each recorded
    version."""
    (node,) = await arena.nodes(1, cpu="4")
    victims = [
        await arena.running_pod(node, cpu="1", priority="hintbound-low", grace=GRACE)
        for grace in (0, GRACE, 0, GRACE)
    ]
    preemptors = [await arena.pod("preemptor", cpu="2", priority="hintbound-high") for _ in range(2)]
    for preemptor in preemptors:
        assert await arena.bound(preemptor) == node

    asks = {pod.uid: cpu for pods, cpu in ((victims, 1), (preemptors, 2)) for pod in pods}
    lives = await arena.lives(*victims, *preemptors)
    versions = sorted((v for life in lives for v in life.versions), key=lambda v: int(v.rv))
    there: dict[str, int] = {}
    for version in versions:
        on_node = bool(version.node_name) and version.type != "deleted"
        there[version.event.uid] = asks[version.event.uid] if on_node else 0
        assert sum(there.values()) <= 4, f"CPUs that the pods on the node ask for, at {version}"
