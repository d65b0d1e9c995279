from __future__ import annotations

from typing import Any

import yaml

from hintbound.protocol import Level, Verdict
from hintbound.report import Run, conformance
from tests.report.runs import CLEARING, EXPECTATION, FROM_METRICS, one_of_each, outcome, run


def _report(written: Run) -> dict[str, Any]:
    report = yaml.safe_load(conformance.write(written))
    assert isinstance(report, dict)
    return report


def test_the_head_says_what_was_judged_with_what() -> None:
    report = _report(one_of_each())

    head = {key: report[key] for key in list(report)[:8]}
    assert head == {
        "apiVersion": "hintbound.dev/v1alpha1",
        "kind": "ConformanceReport",
        "date": "2026-11-30T09:00:12.500000Z",
        "runId": "20261130T090000.000Z-abcdef",
        "suiteVersion": "0.1.0",
        "provider": "embedded",
        "mode": "embedded:1.35",
        "verdict": "fail",
    }


def test_every_behaviour_has_its_verdict_and_reason() -> None:
    told = {b["id"]: (b["verdict"], b.get("reason")) for b in _report(one_of_each())["behaviours"]}

    assert told == {
        "NNN-PASS": ("pass", None),
        "NNN-NOT_SUPPORTED": ("not-supported", "because of NNN-NOT_SUPPORTED"),
        "NNN-SKIP": ("skip", "because of NNN-SKIP"),
        "NNN-UNKNOWN": ("unknown", "because of NNN-UNKNOWN"),
        "NNN-FAIL": ("fail", "pod ns/p was bound to n2, not to n1"),
    }


def test_components_have_versions_and_all_gates_as_read() -> None:
    etcd, apiserver = _report(one_of_each())["components"]

    assert etcd["gates"] is None
    assert apiserver == {
        "cluster": "shared",
        "name": "kube-apiserver",
        "kind": "kube-apiserver",
        "version": "v1.35.4",
        "gateSource": FROM_METRICS,
        "gates": {"Another": False, CLEARING: True, EXPECTATION: True},
    }


def test_a_profile_has_a_result_and_statistics_for_each_level_that_was_run() -> None:
    (profile,) = _report(run(outcome(Verdict.PASS), outcome(Verdict.SKIP, level=Level.EXTENDED)))["profiles"]

    assert profile == {
        "name": "core",
        "core": {
            "result": "success",
            "statistics": {"passed": 1, "failed": 0, "unknown": 0, "skipped": 0, "notSupported": 0},
        },
        "extended": {
            "result": "partial",
            "statistics": {"passed": 0, "failed": 0, "unknown": 0, "skipped": 1, "notSupported": 0},
            "skippedBehaviours": ["NNN-SKIP"],
        },
    }


def test_an_interrupted_run_is_at_most_partial() -> None:
    report = _report(run(outcome(Verdict.PASS), verdict=Verdict.UNKNOWN, reason="interrupted"))

    assert report["profiles"][0]["core"]["result"] == "partial"
    assert report["verdict"] == "unknown"
