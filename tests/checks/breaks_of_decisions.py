"""Decisions as no nominator should write them."""

from __future__ import annotations

from hintbound.history import Kind
from hintbound.protocol import SCHEDULER_USER
from tests.checks.breaks import breaks
from tests.checks.record import CLEARS, Record


def taken_away(record: Record) -> None:
    """A scheduler clears the hint of ns/p."""
    record.hinted("", by=SCHEDULER_USER, body=CLEARS)


@breaks("decision-readable")
def decision_that_is_no_json(record: Record) -> None:
    record.decided("n1", text="because")


@breaks("decision-readable")
def decision_without_a_time(record: Record) -> None:
    record.decided("n1", text='{"id": "d1"}')


@breaks("decision-in-force")
def decision_that_has_expired(record: Record) -> None:
    record.decided("n1", made=70, ttl=60)


@breaks("decision-in-force")
def decision_of_tomorrow(record: Record) -> None:
    record.decided("n1", made=-3600)


@breaks("decision-idempotent")
def one_id_for_two_nodes(record: Record) -> None:
    record.decided("n1")
    record.decided("n2", made=3)


@breaks("decision-idempotent")
def one_id_for_two_reasons(record: Record) -> None:
    record.decided("n1")
    record.decided("n1", made=3, why="better room")


@breaks("decision-idempotent")
def repeat_brings_a_lost_hint_back(record: Record) -> None:
    record.decided("n1", basis="1")
    taken_away(record)
    record.decided("n1", made=5, basis="1")


@breaks("decision-basis-holds")
def pod_has_changed_since(record: Record) -> None:
    record.version(spec={"nodeSelector": {"zone": "a"}})
    record.decided("n1", basis="1", spec={"nodeSelector": {"zone": "a"}})


@breaks("decision-basis-holds")
def scheduler_has_hinted_since(record: Record) -> None:
    record.nominated("n2")
    record.decided("n1", basis="1")


@breaks("decision-basis-holds")
def pod_is_going(record: Record) -> None:
    record.version(deleting=True)
    record.decided("n1", basis="1", deleting=True)


@breaks("decision-basis-holds")
def node_has_shrunk_since(record: Record) -> None:
    record.node("n1")
    record.version()
    record.node("n1", cpu="1", kind=Kind.MODIFIED)
    record.passes(20)
    record.decided("n1", made=22)


@breaks("hint-carries-decision")
def one_hint_without_a_decision(record: Record) -> None:
    record.decided("n1")
    record.hinted("n2")


@breaks("expired-hint-withdrawn")
def hint_that_nobody_stands_by(record: Record) -> None:
    record.decided("n1", ttl=5)
    record.passes(100)
    record.node("n1")


@breaks("expired-hint-withdrawn")
def hint_that_was_cleared_too_late(record: Record) -> None:
    record.decided("n1", ttl=5)
    record.passes(100)
    taken_away(record)
