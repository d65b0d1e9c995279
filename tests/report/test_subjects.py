"""Every report names the vendor's program that was judged."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import yaml

from hintbound.protocol import Verdict
from hintbound.report import Run, conformance, junit, markdown
from tests.report.runs import EXPECTATION, outcome, run, subject

JUDGED = run(outcome(Verdict.PASS), subject=subject())


def test_the_conformance_report_tells_all_that_it_declares() -> None:
    assert yaml.safe_load(conformance.write(JUDGED))["subject"] == {
        "kind": "Scheduler",
        "name": "mine",
        "file": "vendor/subject.yaml",
        "schedulerName": "my-scheduler",
        "command": ["./run", "{kubeconfig}"],
        "kubernetesVersion": "1.35",
        "gates": {EXPECTATION: True},
        "features": ["Hints", "Preemption"],
    }


def test_what_it_does_not_say_is_left_out() -> None:
    silent = subject(command=(), kubernetes_version="", gates=None, features=())
    told = yaml.safe_load(conformance.write(run(outcome(Verdict.PASS), subject=silent)))["subject"]
    assert list(told) == ["kind", "name", "file", "schedulerName", "features"]
    assert "subject" not in yaml.safe_load(conformance.write(run(outcome(Verdict.PASS))))


def test_people_read_it_in_the_first_lines() -> None:
    text = markdown.write(JUDGED)
    assert text.startswith("# Pass: the one judged behaviour holds for mine on Kubernetes ")
    assert (
        "| Subject | mine, Scheduler of `my-scheduler`, `vendor/subject.yaml`, behaves as `1.35`; "
        "declares Hints, Preemption |"
    ) in text
    assert "| Subject |" not in markdown.write(run(outcome(Verdict.PASS)))


def test_ci_systems_get_its_name() -> None:
    properties = ET.fromstring(junit.write(JUDGED).encode()).iter("property")
    assert ("subject", "mine") in {(p.get("name"), p.get("value")) for p in properties}


def test_it_is_read_back_as_it_was_written() -> None:
    assert Run.from_json(JUDGED.to_json()) == JUDGED
