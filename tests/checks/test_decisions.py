"""The decision behind a hint: its protocol, and what is legal to do with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest

from hintbound.history import Kind
from hintbound.protocol import LONGEST_TTL, Decision, UnreadableDecision, Verdict
from tests.checks.breaks_of_decisions import taken_away
from tests.checks.record import Record, judged

NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
DECISION = Decision("d1", "room on n1", "packer/2", NINE, 30, "42")


def annotation(**changes: Any) -> str:
    said = orjson.loads(DECISION.to_annotation()) | changes
    return orjson.dumps({key: value for key, value in said.items() if value is not ...}).decode()


def test_decision_is_read_back_as_it_was_written() -> None:
    assert Decision.from_annotation(DECISION.to_annotation()) == DECISION
    assert DECISION.expires == NINE + timedelta(seconds=30)


def test_annotation_is_json_in_words_of_kubernetes() -> None:
    assert orjson.loads(DECISION.to_annotation()) == {
        "id": "d1",
        "reason": "room on n1",
        "algorithmVersion": "packer/2",
        "time": "2026-11-30T09:00:00.000000Z",
        "ttlSeconds": 30,
        "resourceVersion": "42",
    }


def test_any_time_zone_is_read() -> None:
    east = NINE.astimezone(timezone(timedelta(hours=5)))

    assert Decision.from_annotation(annotation(time=east.isoformat())) == DECISION


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("[]", "list, no object"),
        (annotation(id=...), "id is missing"),
        (annotation(id=..., ttlSeconds=...), "id, ttlSeconds is missing"),
        (annotation(node="n1"), "node is unknown"),
        (annotation(id=""), "id is '', no text"),
        (annotation(id=7), "id is 7, no text"),
        (annotation(reason="a\nb"), "reason is no line"),
        (annotation(reason="x" * 2000), "reason is no line of at most"),
        (annotation(resourceVersion=None), "resourceVersion is None"),
        (annotation(time="yesterday"), "time is 'yesterday'"),
        (annotation(time=1764493200), "time is 1764493200"),
        (annotation(time="2026-11-30T09:00:00"), "no moment with a time zone"),
        (annotation(time="9999-12-31T23:59:59Z"), "out of reach"),
        (annotation(time="0001-01-01T00:00:00+01:00"), "out of reach"),
        (annotation(ttlSeconds=0), "ttlSeconds is 0"),
        (annotation(ttlSeconds=-1), "ttlSeconds is -1"),
        (annotation(ttlSeconds=LONGEST_TTL + 1), "at most 3600"),
        (annotation(ttlSeconds="30"), "ttlSeconds is '30'"),
        (annotation(ttlSeconds=True), "ttlSeconds is True"),
    ],
)
def test_what_the_protocol_does_not_know_is_refused_with_its_field(text: str, why: str) -> None:
    with pytest.raises(UnreadableDecision) as error:
        Decision.from_annotation(text)

    assert why in str(error.value)
    assert "\n" not in str(error.value)


def created() -> Record:
    record = Record()
    record.created()
    return record


def test_decision_may_be_written_again_while_it_holds() -> None:
    record = created()
    record.decided("n1", basis="1", made=1)
    found = record.events[-2].data  # the version that the first write made
    record.asked(
        "patch",
        subresource="status",
        user="acme-nominator",
        body=record.events[-1].data["requestObject"],
        answer=dict(found),
    )

    for name in ("decision-idempotent", "decision-basis-holds", "decision-in-force"):
        assert judged(name, record.lives(), record.context()).violations == 0


def test_new_decision_may_take_the_place_of_one_that_was_lost() -> None:
    record = created()
    record.decided("n1")
    taken_away(record)
    record.decided("n1", "d2")

    assert judged("decision-idempotent", record.lives(), record.context()).violations == 0


def test_gate_that_goes_makes_no_decision_stale() -> None:
    record = Record()
    record.created(spec={"schedulingGates": [{"name": "hold"}]})
    record.version()
    record.decided("n1", basis="1")

    assert judged("decision-basis-holds", record.lives(), record.context()).violations == 0


def test_nominator_cannot_know_of_a_node_that_went_a_moment_ago() -> None:
    record = created()
    record.node("n1")
    record.version()
    record.node("n1", kind=Kind.DELETED)
    record.decided("n1")

    assert judged("decision-basis-holds", record.lives(), record.context()).violations == 0


def test_decision_on_a_version_that_nobody_saw_is_unknown() -> None:
    record = created()
    record.decided("n1", basis="999")

    found = judged("decision-basis-holds", record.lives(), record.context())

    assert found.verdict is Verdict.UNKNOWN
    assert "not in the record" in found.reasons[0]


def test_clocks_may_be_a_little_apart() -> None:
    record = created()
    record.decided("n1", made=-1)
    record.decided("n2", "d2", made=11, ttl=10)

    assert judged("decision-in-force", record.lives(), record.context()).violations == 0


def test_nominator_that_writes_no_decisions_owes_none() -> None:
    record = created()
    record.hinted("n1")

    assert judged("hint-carries-decision", record.lives(), record.context()).violations == 0


def test_hint_of_a_bound_pod_is_over() -> None:
    record = created()
    record.decided("n1", ttl=5)
    record.bound("n1")
    record.passes(100)
    record.node("n1")

    assert judged("expired-hint-withdrawn", record.lives(), record.context()).violations == 0


@pytest.mark.parametrize("level", ["Metadata"])
def test_decisions_need_bodies(level: str) -> None:
    record = created()
    record.decided("n1", made=600)

    found = judged("decision-in-force", record.lives_of_log(level))

    assert found.verdict is Verdict.UNKNOWN
    assert "audit level is too low" in found.reasons[0]
