"""What our own checks find in a scenario's record fails it, unless it is no fault of what is judged."""

from __future__ import annotations

from typing import Any

import pytest

from hintbound.checks import Finding, judging
from hintbound.history import Event
from hintbound.plugin import checking
from hintbound.plugin.applies import Facts
from hintbound.protocol import CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING, SCHEDULER_USER, ComponentKind
from tests.checks.record import Record
from tests.plugin.fakes import a_behaviour

FACTS = Facts({ComponentKind.APISERVER: {CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING: True}})


def found(
    record: Record,
    *,
    scheduler: str = "v1.35.4",
    facts: Facts = FACTS,
    without: str = "",
    nodes: list[Event] | None = None,
    **behaviour: Any,
) -> list[Finding]:
    checked = checking.found(
        judging.every(),
        record.events,
        a_behaviour(**behaviour),
        facts,
        cluster="shared",
        namespace="ns",
        schedulers={scheduler},
        without={without},
        nodes=nodes,
    )
    assert checked.untold == []
    return list(checked.findings)


def victim_deleted_again_and_again() -> Record:
    record = Record()
    record.created()
    record.created("victim", "u9")
    record.bound("n1", name="victim", uid="u9")
    record.nominated("n1")
    for _ in range(3):
        record.victimised("victim", "u9")
    return record


def hint_on_a_bound_pod() -> Record:
    record = Record()
    record.created()
    record.bound("n1")
    record.version(node="n1", hint="n1")
    return record


def bound_without_uid() -> Record:
    record = Record()
    record.created()
    record.bound("n1", sent_uid="")
    return record


def test_finding_fails_the_scenario() -> None:
    (finding,) = found(victim_deleted_again_and_again())

    assert (finding.check.name, finding.excuse) == ("victim-deleted-once", "")


def test_reported_bug_of_this_version_is_told_and_fails_nobody() -> None:
    (finding,) = found(victim_deleted_again_and_again(), scheduler="v1.34.4")

    assert finding.excuse == "kubernetes#134249 is known of this version"
    assert next(finding.lines()).endswith("; it fails nobody: kubernetes#134249 is known of this version")


def test_harm_done_on_purpose_fails_nobody_and_excuses_nothing_else() -> None:
    record = hint_on_a_bound_pod()

    assert [f.excuse for f in found(record, harms=["never-both"])] == ["the scenario does that on purpose"]
    assert [f.excuse for f in found(record, harms=["bound-once"])] == [""]


def test_hazard_fails_nobody() -> None:
    assert [f.excuse for f in found(bound_without_uid())] == ["it is legal"]


def test_gates_of_a_scenario_with_an_apiserver_of_its_own_are_not_taken_for_known() -> None:
    facts = checking.without_facts_of(ComponentKind.APISERVER, FACTS)

    assert found(hint_on_a_bound_pod(), facts=facts) == []


def test_pods_that_set_the_stage_are_not_judged() -> None:
    assert found(hint_on_a_bound_pod(), without="u1") == []


def test_hint_to_a_node_that_never_was_is_found_where_all_nodes_are_known() -> None:
    record = Record()
    record.created()
    record.hinted("ghost", by=SCHEDULER_USER)
    record.passes(40)
    record.node("n1")
    nodes = [event for event in record.events if event.resource == "nodes"]

    assert [f.check.name for f in found(record, nodes=nodes)] == ["hint-names-a-node"]
    assert found(record) == []


def test_clean_record_has_no_findings() -> None:
    record = Record()
    record.created()
    record.bound("n1")

    assert found(record) == []
    assert any(request.user == SCHEDULER_USER for life in record.lives() for request in life.requests)


def test_check_that_is_not_there_cannot_be_harmed() -> None:
    with pytest.raises(ValueError, match="behaviour T-ONE: harms='no-such' is none of the checks never-both"):
        a_behaviour(harms=["no-such"])
