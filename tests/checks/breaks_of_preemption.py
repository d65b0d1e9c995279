"""Preemptions and waits as no scheduler should do them."""

from __future__ import annotations

from typing import Any

from hintbound.checks.preemption import MOST_PREEMPTIONS
from hintbound.history import Kind
from hintbound.protocol import SCHEDULER_USER
from tests.checks.breaks import breaks
from tests.checks.record import WAITS, Record

HIGH: dict[str, Any] = {"spec": {"priority": 1000}}
FULL = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No victims."


def full_node(record: Record, **about: Any) -> None:
    """A node of 4 cpus, and a pod on it that takes them."""
    record.node("n1")
    record.created("victim", "u9", cpu="4")
    record.bound("n1", name="victim", uid="u9", cpu="4", **about)


def nominated(record: Record, **about: Any) -> None:
    """A preemptor that wants all of the node, and its victim marked."""
    record.created("high", "u8", cpu="4", **HIGH)
    record.nominated("n1", name="high", uid="u8", cpu="4", **HIGH, **about)
    record.victimised("victim", "u9", cpu="4")


@breaks("node-not-overcommitted")
def bound_where_no_room_is(record: Record) -> None:
    full_node(record)
    record.bound("n1", cpu="1")


@breaks("node-not-overcommitted")
def bound_where_others_put_pods_long_ago(record: Record) -> None:
    record.node("n1")
    record.created("static", "u9", cpu="4", node="n1")
    record.passes(10)
    record.bound("n1", cpu="1")


@breaks("node-not-overcommitted")
def more_pods_than_places(record: Record) -> None:
    record.node("n1")  # of three places
    for number in range(3):
        record.created(f"other-{number}", f"o{number}")
        record.bound("n1", name=f"other-{number}", uid=f"o{number}")
    record.bound("n1")


@breaks("node-not-overcommitted")
def port_taken_twice(record: Record) -> None:
    listens: dict[str, Any] = {"spec": {"containers": [{"ports": [{"hostPort": 80, "containerPort": 80}]}]}}
    record.node("n1")
    record.created("server", "u9", **listens)
    record.bound("n1", name="server", uid="u9", **listens)
    record.bound("n1", **listens)


@breaks("preemptor-waits-for-victims")
def bound_beside_its_victim(record: Record) -> None:
    full_node(record)
    nominated(record)
    record.bound("n1", name="high", uid="u8", cpu="4", **HIGH)


@breaks("lower-nominations-cleared")
def lower_hint_stays(record: Record) -> None:
    record.hinted("n1")
    record.passes(10)
    full_node(record)
    nominated(record)
    record.passes(10)
    record.gone("victim", "u9", node="n1", cpu="4")


@breaks("no-needless-victims")
def preemptor_goes_elsewhere(record: Record) -> None:
    full_node(record)
    nominated(record)
    record.node("n2")
    record.bound("n2", name="high", uid="u8", cpu="4", **HIGH)


@breaks("preemption-ends")
def victims_come_again(record: Record) -> None:
    record.node("n1")
    record.created("high", "u8", cpu="4", **HIGH)
    record.nominated("n1", name="high", uid="u8", cpu="4", **HIGH)
    for turn in range(MOST_PREEMPTIONS + 1):
        record.created(f"victim-{turn}", f"v{turn}")
        record.bound("n1", name=f"victim-{turn}", uid=f"v{turn}")
        record.victimised(f"victim-{turn}", f"v{turn}")
        record.gone(f"victim-{turn}", f"v{turn}", node="n1")


def waits(record: Record, message: str, **about: Any) -> None:
    """A scheduler says why ns/p waits."""
    item = record.version(conditions=WAITS, message=message, **about)
    (condition,) = item["status"]["conditions"]
    body = {"status": {"conditions": [condition]}}
    record.asked("patch", subresource="status", user=SCHEDULER_USER, body=body, answer=item)


@breaks("fitting-pod-is-bound")
def room_came_and_nobody_looked(record: Record) -> None:
    full_node(record)
    waits(record, FULL, cpu="1")
    record.gone("victim", "u9", node="n1", cpu="4")
    record.passes(40)
    record.node("n2", cpu="0")


@breaks("fitting-pod-is-bound")
def pod_that_no_scheduler_ever_saw(record: Record) -> None:
    full_node(record)
    record.node("n2")
    record.passes(40)
    record.node("n3", cpu="0")


@breaks("fitting-pod-is-bound")
def bound_by_the_flush(record: Record) -> None:
    full_node(record)
    waits(record, FULL, cpu="1")
    record.gone("victim", "u9", node="n1", cpu="4")
    record.passes(290)
    record.bound("n1", cpu="1")


@breaks("preemptor-goes-on")
def victim_went_and_nobody_told(record: Record) -> None:
    record.gone()
    full_node(record)
    nominated(record, message=FULL)
    record.gone("victim", "u9", node="n1", cpu="4")
    record.passes(290)
    record.bound("n1", name="high", uid="u8", cpu="4", **HIGH)


@breaks("hint-names-a-node")
def hint_to_a_ghost(record: Record) -> None:
    record.node("n1")
    record.hinted("ghost")
    record.passes(40)
    record.node("n1", kind=Kind.MODIFIED)


@breaks("hint-names-a-node")
def node_of_a_hint_goes(record: Record) -> None:
    record.node("n1")
    record.hinted("n1")
    record.node("n1", kind=Kind.DELETED)
    record.passes(40)
    record.node("n2")


@breaks("dead-hint-cleared")
def hint_outlives_its_node(record: Record) -> None:
    record.node("n1")
    record.hinted("n1")
    record.node("n1", kind=Kind.DELETED)
    record.passes(10)
    waits(record, "no nodes available to schedule pods", hint="n1")
