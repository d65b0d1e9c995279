"""`hintbound diff`: what an upgrade changes, grouped by who is affected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from hintbound import cli
from hintbound.protocol import Verdict
from hintbound.report import Outcome, run_json
from hintbound.report.matrix import Matrix, Row, build
from tests.report.runs import outcome, run

PASS, FAIL, UNKNOWN, VOID = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_SUPPORTED
SELECTORS, RELABELLING, PLAIN = "NNN-SELECTOR-WATCH-BOUND", "NNN-BIND-DROPS-LABELS", "NNN-BIND-ABSENT"
"""Behaviours of the catalogue: one affects autoscalers and dashboards, one schedulers, one nobody."""


def stored(folder: Path, *outcomes: Outcome) -> str:
    folder.mkdir()
    (folder / run_json.FILE).write_text(run_json.write(run(*outcomes)))
    return str(folder)


def call(*words: str) -> str:
    shown = CliRunner().invoke(cli.hintbound, ["diff", *words])
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    before = [(SELECTORS, VOID), (RELABELLING, PASS), (PLAIN, PASS), ("NNN-SAME", PASS), ("NNN-A", PASS)]
    after = [(SELECTORS, PASS), (RELABELLING, VOID), (PLAIN, FAIL), ("NNN-SAME", PASS), ("NNN-B", PASS)]
    before += [(name, PASS) for name in ("NNN-X", "NNN-Y")]
    after += [(name, UNKNOWN) for name in ("NNN-X", "NNN-Y")]
    reason = {FAIL: "it was bound", UNKNOWN: "interrupted"}
    return (
        stored(tmp_path / "before", *(outcome(verdict, name) for name, verdict in before)),
        stored(tmp_path / "after", *(outcome(v, name, reason=reason.get(v, "")) for name, v in after)),
    )


def test_changes_stand_below_who_is_affected_with_what_to_do(runs: tuple[str, str]) -> None:
    shown = call(*runs)

    assert "7 of 8 behaviours differ" in shown.splitlines()[0]
    groups = [line for line in shown.splitlines() if line.isupper()]
    assert groups == ["SCHEDULER", "AUTOSCALER", "DASHBOARD", "NOBODY IN PARTICULAR"]
    scheduler, autoscaler, dashboard, nobody = [shown.split(group)[1] for group in groups]
    assert f"  no longer applies: {RELABELLING}\n" in scheduler
    assert "    so far  Mark pods by annotations of the binding" in scheduler
    assert f"  begins to apply: {SELECTORS}\n" in autoscaler
    assert "    where   kube-apiserver has ClearingNominatedNodeNameAfterBinding on\n" in autoscaler
    assert "    do      Take DELETED of such a watch for the end of the nomination" in autoscaler
    assert f"  begins to apply: {SELECTORS}, see autoscaler\n" in dashboard
    assert "    after   fail: it was bound\n" in nobody


def test_what_cannot_be_compared_stands_last_and_once(runs: tuple[str, str]) -> None:
    shown = call(*runs)
    last = shown[shown.index("judged only") :]
    assert last.splitlines() == [
        "judged only after (1): NNN-B",
        "",
        "judged only before (1): NNN-A",
        "",
        "cannot be compared:",
        "  before pass; after unknown: interrupted (2): NNN-X, NNN-Y",
    ]


def test_programs_get_the_same_as_json(runs: tuple[str, str]) -> None:
    told = json.loads(call(*runs, "--format", "json"))
    turns = {change["behaviour"]: change["turn"] for change in told["changes"]}
    assert turns[PLAIN] == "breaks"
    (begun,) = [change for change in told["changes"] if change["behaviour"] == SELECTORS]
    assert begun["affects"] == ["autoscaler", "dashboard"]


def test_what_a_package_brought_is_told_as_its_runs_tell_it(tmp_path: Path) -> None:
    def judged(verdict: Verdict) -> Outcome:
        known = outcome(verdict, "ACME-ONE")
        return replace(known, applies="gate(scheduler, X)", affects=("nominator",), advice="Ask Acme.")

    before = stored(tmp_path / "before", judged(VOID))
    after = stored(tmp_path / "after", judged(PASS))
    shown = call(before, after)
    assert "\nNOMINATOR\n  begins to apply: ACME-ONE\n" in shown
    assert "    where   gate(scheduler, X)\n    do      Ask Acme.\n" in shown


def test_versions_are_looked_up_in_the_shipped_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row(SELECTORS, "M.", "W.", outcome(PASS).level, "violation", "", "KEP", "f", (), "", {})
    columns = [
        ("1.34.4 @default", run(outcome(VOID, SELECTORS))),
        ("1.35.4 @default", run(outcome(PASS, SELECTORS))),
    ]
    shipped: Matrix = build("1", [row], columns)
    monkeypatch.setattr("hintbound.report.shipped.matrix", lambda: shipped)

    assert call("1.34", "1.35").startswith(
        "from 1.34.4 @default to 1.35.4 @default: 1 of 1 behaviours differ"
    )


def test_without_a_matrix_a_version_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hintbound.report.shipped.matrix", lambda: None)
    with pytest.raises(SystemExit) as ended:
        cli.main(["diff", "1.34", "1.35"])
    assert ended.value.code == 254
    assert "there is no matrix to look it up in. Run `make matrix`." in capsys.readouterr().err
