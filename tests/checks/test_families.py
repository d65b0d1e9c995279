"""Each check finds what it is there for, and nothing in what is legal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hintbound.checks import Context
from hintbound.checks.churn import MOST_REPEATS
from hintbound.checks.judging import ours
from hintbound.checks.manners import MOST_RESENT
from hintbound.history import Kind
from hintbound.protocol import SCHEDULER_USER, Verdict
from tests.checks import breaks_of_clients, breaks_of_decisions, breaks_of_hints, breaks_of_preemption
from tests.checks.breaks import BREAKS, Break
from tests.checks.breaks_of_hints import quicker, victim
from tests.checks.record import CONTEXT, NOMINATOR, Record, clean, judged

NAMES = [check.name for check in ours()]
MORE = (breaks_of_clients, breaks_of_decisions, breaks_of_hints, breaks_of_preemption)
"""Where the records stand that break sentences."""


@pytest.mark.parametrize("name", NAMES)
def test_every_check_is_killed_by_a_record(name: str) -> None:
    assert name in BREAKS, f"no record breaks the sentence of {name}"


@pytest.mark.parametrize(
    ("name", "broken"),
    [(name, broken) for name, all_of in BREAKS.items() for broken in all_of],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_check_finds_what_breaks_its_sentence(name: str, broken: Break) -> None:
    record = Record()
    record.created()
    broken(record)

    tally = judged(name, record.lives(), record.context())

    assert tally.violations == 1, tally
    (violation,) = tally.shown
    assert violation.pod.startswith("ns/")
    assert 1 <= len(violation.proof) <= 5


@pytest.mark.parametrize("name", NAMES)
def test_clean_record_raises_no_alarm(name: str) -> None:
    record = clean()

    tally = judged(name, record.lives(), record.context())

    assert tally.violations == 0, tally.shown
    assert not tally.unknowns


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", ["Metadata", "Request", "RequestResponse"])
def test_audit_log_of_a_clean_record_raises_no_alarm(name: str, level: str) -> None:
    tally = judged(name, clean().lives_of_log(level))

    assert tally.violations == 0, tally.shown


def _alarms(name: str, record: Record, context: Context = CONTEXT) -> int:
    return judged(name, record.lives(), context).violations


def test_two_preemptors_may_each_delete_a_victim() -> None:
    record = Record()
    victim(record)
    for number in (1, 2):
        record.created(f"preemptor-{number}", f"p{number}")
        record.nominated("n1", name=f"preemptor-{number}", uid=f"p{number}")
        record.victimised("victim", "u9")

    assert _alarms("victim-deleted-once", record) == 0


def test_scheduler_that_has_not_seen_its_victim_go_may_delete_it_again() -> None:
    record = Record()
    record.created()
    victim(record)
    record.nominated("n1")
    record.victimised("victim", "u9")
    record.victimised("victim", "u9")
    quicker(record, 100)

    assert _alarms("victim-deleted-once", record) == 0


def test_nominator_may_change_its_own_mind() -> None:
    record = Record()
    record.created()
    for _ in range(MOST_REPEATS + 2):
        record.hinted("n1")
        record.hinted("n2")

    assert _alarms("lost-hint-not-repeated", record) == 0


def test_other_requests_after_a_refusal_are_no_resends() -> None:
    record = Record()
    record.created()
    for turn in range(MOST_RESENT + 2):
        body = {"status": {"nominatedNodeName": f"n{turn}"}}
        record.asked("patch", subresource="status", user=NOMINATOR, code=422, body=body)

    assert _alarms("refusal-is-heard", record) == 0


def test_hint_that_was_there_before_the_gate_may_stay_on_a_bound_pod() -> None:
    record = Record()
    record.version(kind=Kind.LISTED, node="n1", hint="n2")
    record.started("n1", hint="n2")

    assert _alarms("never-both", record) == 0


def test_pod_created_on_its_node_needs_no_binding() -> None:
    record = Record()
    record.created(node="n1")
    record.started("n1")

    tally = judged("bound-by-scheduler", record.lives())

    assert (tally.violations, tally.judged) == (0, 0)


def test_patch_that_was_answered_with_anothers_hint_is_not_its_writer() -> None:
    record = Record()
    record.created()
    item = record.version(hint="n1", manager="kubectl")
    record.asked("patch", subresource="status", user=SCHEDULER_USER, body={"status": {}}, answer=item)

    tally = judged("hint-by-known-writer", record.lives())

    assert tally.reasons == ["who wrote the hint is not in the record"]
    assert judged("hint-owner-agrees", record.lives()).judged == 0


def test_of_two_that_sent_the_same_hint_nobody_can_tell_who_wrote_it() -> None:
    record = Record()
    record.created()
    item = record.version(hint="n1", manager=NOMINATOR)
    for user in ("mallory", NOMINATOR):
        body = {"status": {"nominatedNodeName": "n1"}}
        record.asked("patch", subresource="status", user=user, body=body, answer=item)

    tally = judged("hint-by-known-writer", record.lives())

    assert (tally.violations, tally.reasons) == (0, ["who wrote the hint is not in the record"])
    assert _alarms("hint-owner-agrees", record) == 0


def test_write_that_demands_the_version_it_is_answered_with_changed_nothing() -> None:
    record = Record()
    record.created()
    item = record.version(hint="n1")
    body = {"metadata": {"resourceVersion": item["metadata"]["resourceVersion"]}}
    record.asked("patch", subresource="status", user=NOMINATOR, body=body, answer=item)
    record.asked("patch", subresource="status", user="mallory", body={}, answer=item)

    assert _alarms("stale-write-refused", record) == 0


def test_instruments_of_a_test_may_bind_and_hint() -> None:
    record = Record()
    record.created()
    record.hinted("n2", by="mallory")
    record.bound("n1", by="mallory")
    context = replace(CONTEXT, instruments=frozenset({"mallory"}))

    assert _alarms("bound-by-scheduler", record, context) == 0
    assert _alarms("hint-by-known-writer", record, context) == 0


def test_expectation_of_a_pod_in_prebind_needs_no_condition() -> None:
    record = Record()
    record.created()
    record.hinted("n1", by=SCHEDULER_USER, body={"status": {"nominatedNodeName": "n1"}})
    record.bound("n1")

    assert _alarms("preemption-told-whole", record) == 0


def test_renewed_nomination_needs_no_condition() -> None:
    record = Record()
    record.created()
    victim(record)
    record.nominated("n0")
    record.hinted("", by="mallory")
    record.hinted("n1", by=SCHEDULER_USER, body={"status": {"nominatedNodeName": "n1"}})
    record.victimised("victim", "u9")

    assert _alarms("preemption-told-whole", record) == 0


def test_conflict_with_a_newer_version_demanded_next_is_no_blind_resend() -> None:
    record = Record()
    record.created()
    for version in ("1", "2"):
        body: Any = {"metadata": {"resourceVersion": version}, "status": {"nominatedNodeName": "n1"}}
        record.asked("patch", subresource="status", user=NOMINATOR, code=409, body=body)

    assert _alarms("conflict-rebuilds", record) == 0


def test_own_annotations_and_tests_are_a_nominators_business() -> None:
    record = Record()
    record.created()
    metadata = {"uid": "u1", "resourceVersion": "1", "annotations": {"hintbound.dev/decision": "{}"}}
    record.hinted("n1", body={"metadata": metadata, "status": {"nominatedNodeName": "n1"}})
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "add", "path": "/metadata/annotations/acme.io~1why", "value": "x"},
        {"op": "replace", "path": "/status/nominatedNodeName", "value": "n2"},
    ]
    record.hinted("n2", body=patch)

    assert _alarms("nominator-touches-only-hint", record) == 0
    assert _alarms("nominator-sends-preconditions", record) == 0


def test_gate_that_nobody_tells_is_unknown_and_one_that_is_off_is_nobodys_business() -> None:
    found = clean().lives()

    untold = judged("never-both", found, replace(CONTEXT, gates={}))
    (component,) = CONTEXT.gates
    off = judged(
        "never-both",
        found,
        replace(CONTEXT, gates={component: dict.fromkeys(CONTEXT.gates[component], False)}),
    )

    assert untold.verdict is Verdict.UNKNOWN
    assert "--gate" in untold.reasons[0]
    assert off.judged == 0


def test_what_no_pod_did_is_unknown() -> None:
    tally = judged("victim-keeps-grace", [])

    assert tally.verdict is Verdict.UNKNOWN
    assert tally.reasons == ["too little traffic: no pods that a scheduler deleted in the record"]


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("never-both", "Request"),
        ("node-name-stays", "Metadata"),
        ("nominator-touches-only-hint", "Metadata"),
        ("victim-keeps-grace", "Metadata"),
        ("preemption-told-whole", "Metadata"),
    ],
)
def test_too_low_an_audit_level_is_unknown(name: str, level: str) -> None:
    tally = judged(name, clean().lives_of_log(level))

    assert tally.verdict is Verdict.UNKNOWN
    assert "audit level is too low" in tally.reasons[0]


def test_binder_is_told_at_level_metadata() -> None:
    record = Record()
    record.created()
    record.bound("n1", by="mallory")

    assert judged("bound-by-scheduler", record.lives_of_log("Metadata")).violations == 1


def test_truncated_body_is_unknown() -> None:
    record = Record()
    record.created()
    record.hinted("n1")
    record.events[-1].data["annotations"] = {"audit.k8s.io/truncated": "true"}  # type: ignore[index]

    (reason,) = judged("nominator-touches-only-hint", record.lives()).reasons

    assert "cut off" in reason


def test_page_of_checks_has_every_sentence() -> None:
    page = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()

    for check in ours():
        assert f"| {check.name} | " in page
        assert f"| {check.must}{' (hazard)' if check.severity == 'hazard' else ''} |" in page
