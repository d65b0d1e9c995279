"""What kills what, and what a failed run looks like."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hintbound.errors import CannotStart
from hintbound.protocol import Verdict
from hintbound.report import CheckInfo, kill_matrix
from hintbound.report.kill_matrix import Killed, KillMatrix
from hintbound.report.model import LEGAL
from tests.report.runs import outcome, run

ONE = Killed("one", "It breaks.", "nothing", "embedded:1.35.4", ("NNN-A", "NNN-B"), ("never-both",))
MATRIX = KillMatrix("0.1", (ONE,), ("NNN-A", "NNN-B"), ("never-both",), (), ())


def test_what_kills_nothing_and_what_nothing_kills_is_unproven() -> None:
    matrix = replace(
        MATRIX,
        mutants=(ONE, replace(ONE, mutant="two", behaviours=(), checks=())),
        core=("NNN-A", "NNN-C", "NNN-D"),
        checks=("never-both", "bound-once", "no-write-war"),
        broken_scenarios=("NNN-D",),
        broken_records=("no-write-war",),
    )

    assert matrix.unproven == ["nothing kills NNN-C", "nothing kills bound-once", "nothing notices two"]


def test_a_behaviour_that_only_a_check_failed_is_the_kill_of_the_check() -> None:
    outcomes = (
        outcome(Verdict.FAIL, "NNN-A", reason="assert 1 == 2"),
        outcome(Verdict.FAIL, "NNN-B", reason="the check never-both found: it is there"),
        outcome(Verdict.UNKNOWN, "NNN-C"),
        outcome(Verdict.PASS, "NNN-D"),
    )
    checks = (
        CheckInfo("never-both", 1, 1),
        CheckInfo("bound-once", 1, 0, {LEGAL: 1}),
        CheckInfo("no-write-war", 1, 0, {"the scenario does that on purpose": 1}),
        CheckInfo("victim-deleted-once", 1, 0, {"kubernetes#134249 is known of this version": 1}),
        CheckInfo("preemption-ends", 9),
    )

    found = kill_matrix.killed(
        "m", "t", "l", run(*outcomes, checks=checks, notes=("shared: the rule r bit x",))
    )

    assert (found.behaviours, found.checks) == (("NNN-A",), ("never-both", "bound-once"))
    assert found.bites == ("shared: the rule r bit x",)


@pytest.mark.parametrize(
    ("failed", "passed", "alike"),
    [
        (["NNN-A", "NNN-B"], [], [("one", 2 / 3)]),  # the check found nothing here
        (["NNN-A"], [], [("one", 0.5)]),  # NNN-B was not judged, and says nothing
        (["NNN-A"], ["NNN-B"], []),
        (["NNN-A", "NNN-X", "NNN-Y"], [], []),
        ([], ["NNN-A"], []),
    ],
)
def test_a_run_looks_like_the_mutant_that_breaks_the_same(
    failed: list[str], passed: list[str], alike: list[tuple[str, float]]
) -> None:
    outcomes = [outcome(Verdict.FAIL, name) for name in failed] + [outcome(Verdict.PASS, n) for n in passed]

    assert kill_matrix.looks_like(run(*outcomes), MATRIX) == alike


def test_it_is_read_back_equal_and_what_is_none_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / kill_matrix.JSON
    file.write_text(json.dumps(MATRIX.to_json()))
    assert kill_matrix.read(file) == MATRIX

    file.write_text("{}")
    with pytest.raises(CannotStart, match="is no kill matrix"):
        kill_matrix.read(file)


def test_the_page_tells_what_each_is_killed_by() -> None:
    page = kill_matrix.markdown(MATRIX, about={"NNN-A": "a.py", "NNN-B": "b.py"})

    assert "1 mutants; 2 of 2 core behaviours and 1 of 1 checks are killed by one at least." in page
    assert "| `one` | It breaks. | nothing | 2 | `never-both` |" in page
    assert "| NNN-A | `one` | - |" in page
