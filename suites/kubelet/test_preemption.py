"""Preemption where kubelets end real containers."""

from datetime import datetime, timedelta

from hintbound.history.join import PodLife, PodVersion
from hintbound.plugin import Arena, Capability, Feature, Unproven, behaviour
from hintbound.plugin.real_nodes import FOREVER, real_node, runs

GRACE = 8
KILLED = 128 + 9


@behaviour(
    "NNN-KUBELET-VICTIM-ENDS-FIRST",
    must="A preemptor is nominated to the node while its victim's container runs on after SIGTERM, keeps the "
    "nomination, and is bound there and runs only after kubelet has told that the container ended.",
    why="Two containers would share what was promised to one; and a nomination can last as long as any "
    "process takes to end.",
    needs=[Capability.REAL_NODES, Feature.PREEMPTION],
    exclusive=True,
    deadline=300,
    source="kubernetes#89111, kubelet status manager; measured 1.35.4",
)
async def test_preemptor_waits_for_the_container(arena: Arena) -> None:
    """A victim's process goes on for three seconds of a long grace period; the recorded versions of victim
    and preemptor are put in order."""
    node = await real_node(arena)
    victim = await node.running_pod(lingers=3, priority="hintbound-low", grace=60)

    preemptor = await node.pod("preemptor", priority="hintbound-high")
    running = await runs(arena, preemptor)

    assert running["spec"]["nodeName"] == node.name
    waiting, leaving = await arena.lives(preemptor, victim)
    end = ended(leaving)
    assert exit_code(end) == 0, "the victim's process could not end by itself"
    assert nominated(waiting, node.name) < int(end.rv) < bound(waiting)


@behaviour(
    "NNN-KUBELET-DEAF-VICTIM-KILLED",
    must="A victim whose process ignores SIGTERM is killed by kubelet once its whole grace period is over; "
    "until then the preemptor keeps its nomination and is not bound, then it is bound there.",
    why="The longest terminationGracePeriodSeconds on a node is how long a preemption there may take.",
    needs=[Capability.REAL_NODES, Capability.AUDIT, Feature.PREEMPTION],
    exclusive=True,
    deadline=300,
    source="kubernetes#89111, kubelet killContainer; measured 1.35.4",
)
async def test_deaf_victim_is_killed(arena: Arena) -> None:
    """The time from the scheduler's DELETE to the kubelet's word that the container ended is taken from the
    audit log."""
    node = await real_node(arena)
    victim = await node.running_pod(lingers=FOREVER, priority="hintbound-low", grace=GRACE)

    preemptor = await node.pod("preemptor", priority="hintbound-high")
    running = await runs(arena, preemptor)

    assert running["spec"]["nodeName"] == node.name
    waiting, leaving = await arena.lives(preemptor, victim)
    end = ended(leaving)
    assert exit_code(end) == KILLED, "the victim was not killed"
    assert nominated(waiting, node.name) < int(end.rv) < bound(waiting)
    deletion = next(request for request in leaving.requests if request.verb == "delete" and request.succeeded)
    assert end.writer is not None
    took = datetime.fromisoformat(end.writer.received) - datetime.fromisoformat(deletion.received)
    assert took >= timedelta(seconds=GRACE), "the victim did not get its grace period"


@behaviour(
    "NNN-KUBELET-HIGHER-TAKES-PLACE",
    must="A preemptor of still higher priority that comes while a victim's container is ending takes the "
    "place over: it is bound there once the container has ended, and the first preemptor is not.",
    why="A long grace period is a long time in which a nomination can be outbid.",
    needs=[Capability.REAL_NODES, Feature.PREEMPTION],
    exclusive=True,
    deadline=300,
    source="kubernetes addNominatedPods; measured 1.35.4",
)
async def test_higher_preemptor_takes_the_place(arena: Arena) -> None:
    """A victim's process goes on for eight seconds after SIGTERM; a second preemptor comes once the first has
    been nominated."""
    node = await real_node(arena)
    victim = await node.running_pod(lingers=8, priority="hintbound-low", grace=60)
    first = await node.pod("first", priority="hintbound-mid")
    assert await arena.nominated(first) == node.name

    second = await node.pod("second", priority="hintbound-high")
    running = await runs(arena, second)

    assert running["spec"]["nodeName"] == node.name
    loser, winner, leaving = await arena.lives(first, second, victim)
    end = int(ended(leaving).rv)
    if nominated(winner, node.name) > end:
        raise Unproven("the victim had ended before the second preemptor was tried")
    assert end < bound(winner)
    assert loser.bound is None, "the first preemptor was bound"


def ended(life: PodLife) -> PodVersion:
    """The first version in which kubelet says that the container has ended; a pod that was removed without
    such a word is told by the last."""
    return next((version for version in life.versions if terminated(version)), life.last)


def terminated(version: PodVersion) -> dict[str, object] | None:
    """How the container ended; None while it runs."""
    statuses = version.object["status"].get("containerStatuses") or ()
    return next((status["state"].get("terminated") for status in statuses), None)


def exit_code(version: PodVersion) -> object:
    """Of the container; None without one."""
    return (terminated(version) or {}).get("exitCode")


def nominated(life: PodLife, node: str) -> int:
    """The resourceVersion with which a pod was nominated to this node; it must have stayed so until it was
    bound."""
    unbound = [version for version in life.versions if not version.node_name]
    first = next((i for i, version in enumerate(unbound) if version.nominated_node_name), None)
    assert first is not None, "it was not nominated"
    assert {version.nominated_node_name for version in unbound[first:]} == {node}, (
        "the nomination did not stay"
    )
    return int(unbound[first].rv)


def bound(life: PodLife) -> int:
    """The resourceVersion with which a pod was bound."""
    assert life.bound is not None
    return int(life.bound.rv)
