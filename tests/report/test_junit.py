from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from hintbound.protocol import Severity, Verdict
from hintbound.report import Run, junit
from tests.report.runs import one_of_each, outcome, run


def _suite(written: Run) -> ET.Element:
    suite = ET.fromstring(junit.write(written)).find("testsuite")
    assert suite is not None
    return suite


def _case(suite: ET.Element, name: str) -> ET.Element:
    case = suite.find(f"testcase[@name='{name}']")
    assert case is not None, ET.tostring(suite)
    return case


def _properties(element: ET.Element) -> dict[str | None, str | None]:
    return {p.get("name"): p.get("value") for p in element.findall("properties/property")}


def test_every_verdict_has_its_element() -> None:
    suite = _suite(one_of_each())

    told = {
        case.get("name"): [(e.tag, e.get("type"), e.get("message")) for e in case if e.tag != "properties"]
        for case in suite.findall("testcase")
    }
    assert told == {
        "NNN-PASS": [],
        "NNN-FAIL": [("failure", "Violation.NNN-FAIL", "pod ns/p was bound to n2, not to n1")],
        "NNN-UNKNOWN": [("error", "Unknown", "because of NNN-UNKNOWN")],
        "NNN-SKIP": [("skipped", "skip", "SKIPPED: because of NNN-SKIP")],
        "NNN-NOT_SUPPORTED": [("skipped", "not-supported", "NOT_SUPPORTED: because of NNN-NOT_SUPPORTED")],
    }


def test_totals_match_the_cases() -> None:
    suite = _suite(one_of_each())

    totals = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert totals == {"tests": "5", "failures": "1", "errors": "1", "skipped": "2", "time": "12.500"}


def test_a_case_tells_verdict_level_behaviour_and_run() -> None:
    case = _case(_suite(one_of_each()), "NNN-FAIL")

    assert case.get("classname") == "suites.scheduler.hints.test_hints"
    assert _properties(case) == {
        "verdict": "fail",
        "level": "core",
        "behaviour": "NNN-FAIL",
        "run_id": "20261130T090000.000Z-abcdef",
        "severity": "violation",
    }


def test_a_failure_carries_sentence_evidence_and_the_way_to_reproduce() -> None:
    failure = _case(_suite(one_of_each()), "NNN-FAIL").find("failure")

    assert failure is not None
    assert failure.text is not None
    assert failure.text.splitlines()[0] == "must: A pod | with a hint"
    assert "bound by system:kube-scheduler" in failure.text
    assert failure.text.splitlines()[-1] == "reproduce: hintbound run --cluster embedded:1.35 NNN-FAIL"


def test_a_hazard_is_no_violation() -> None:
    failure = _case(_suite(run(outcome(Verdict.FAIL, severity=Severity.HAZARD))), "NNN-FAIL").find("failure")

    assert failure is not None
    assert failure.get("type") == "Hazard.NNN-FAIL"


def test_cases_of_one_behaviour_have_names_of_their_own() -> None:
    outcomes = [
        outcome(Verdict.PASS, "NNN-X", file=f"suites/t.py::test_x{end}") for end in ("[on]", "[off]", "", "")
    ]

    names = [case.get("name") for case in _suite(run(*outcomes)).findall("testcase")]

    assert names == ["NNN-X [on]", "NNN-X [off]", "NNN-X", "NNN-X (2)"]


@pytest.mark.parametrize("odd", ["\x00", "\x1b[31m", "\ud800", "<&\"'>", "\ufffe", "ü\u2028"])
def test_no_text_makes_the_file_unreadable(odd: str) -> None:
    broken = outcome(Verdict.FAIL, reason=f"a{odd}b", evidence=(odd,), file=f"suites/{odd}.py")

    assert _suite(run(broken)).find("testcase/failure") is not None


def test_a_run_that_was_interrupted_does_not_look_green() -> None:
    suite = _suite(run(outcome(Verdict.PASS), verdict=Verdict.UNKNOWN, reason="interrupted"))
    error = _case(suite, "the run came to its end").find("error")

    assert suite.get("errors") == "1"
    assert error is not None
    assert error.get("message") == "Unknown: 1 behaviour passed on Kubernetes 1.35.4; interrupted."


def test_a_run_that_judged_nothing_does_not_look_green() -> None:
    assert _suite(run(outcome(Verdict.SKIP))).get("errors") == "1"
