"""`hintbound check`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hintbound.cli import main
from hintbound.history import HISTORY_FILE, Event, Source
from hintbound.protocol import MARKER_LABEL, Verdict
from hintbound.report import run_json
from tests.checks.record import NOMINATOR, Record, clean
from tests.history.lines import line
from tests.report import runs

GATE = "--gate=ClearingNominatedNodeNameAfterBinding=true"
NOMINATES = f"--nominator-user={NOMINATOR}"


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["check", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def log(path: Path, record: Record) -> Path:
    path.write_bytes(b"".join(line(dict(e.data)) for e in record.events if e.source == Source.AUDIT))
    return path


def run(folder: Path, events: Iterable[Event]) -> Path:
    folder.mkdir()
    (folder / HISTORY_FILE).write_bytes(b"".join(event.to_line() for event in events))
    return folder


def broken() -> Record:
    record = clean()
    record.created("q", "u7")
    record.bound("n1", name="q", uid="u7", by="mallory")
    return record


def told(out: str) -> dict[str, Any]:
    return {check["name"]: check for check in json.loads(out)["checks"]}


def test_clean_log_passes_where_every_chosen_check_had_something_to_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log(tmp_path / "audit.log", clean())

    assert call(path, GATE, NOMINATES, "--checks", "never-both,bound-once,victim-keeps-grace") == 0
    out = capsys.readouterr().out
    assert "4 lives of pods" in out
    assert "pass     bound-once                     3 pods that were bound judged" in out
    assert "conflict-rebuilds" not in out


def test_check_without_anything_to_judge_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(log(tmp_path / "audit.log", clean()), GATE, NOMINATES) == 2
    assert "unknown: too little traffic: no pods on which a demanded" in capsys.readouterr().out


def test_violation_ends_with_1_and_names_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log(tmp_path / "audit.log", broken())

    assert call(path, "--checks=bound-by-scheduler") == 1
    out = capsys.readouterr().out
    assert "violation: bound-by-scheduler: A pod that was not created on its node" in out
    assert "pod ns/q was bound by mallory, no scheduler" in out
    assert f"{path}:{len(path.read_bytes().splitlines())}: create pods/binding by mallory: 201" in out


def test_scheduler_user_names_who_may_bind(tmp_path: Path) -> None:
    path = log(tmp_path / "audit.log", broken())
    users = ("--scheduler-user=mallory", "--scheduler-user=system:kube-scheduler")

    assert call(path, "--checks=bound-by-scheduler", *users) == 0


def test_hazard_is_told_and_fails_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record()
    record.created()
    record.hinted("n1", body={"status": {"nominatedNodeName": "n1"}})
    path = log(tmp_path / "audit.log", record)

    assert call(path, NOMINATES, "--checks=nominator-sends-preconditions", "--format=json") == 0
    (check,) = told(capsys.readouterr().out).values()
    assert (check["severity"], check["violations"], check["verdict"]) == ("hazard", 1, "pass")
    (shown,) = check["shown"]
    assert (shown["pod"], shown["proof"][0]["place"]) == ("ns/p", f"{path}:2")


def test_line_that_cannot_be_read_makes_a_pass_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log(tmp_path / "audit.log", clean())
    path.write_bytes(path.read_bytes()[:-30])

    assert call(path, "--checks=bound-once") == 2
    out = capsys.readouterr().out
    assert f"not read: 1 lines, not JSON (cut off?): {path}:" in out
    assert "unknown: 1 lines could not be read" in out


def test_folder_of_a_run_and_folder_of_runs_are_judged_by_their_histories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tmp_path / "one", clean().events)
    run(tmp_path / "two", broken().events)

    assert call(folder, "--checks=bound-by-scheduler") == 0
    assert call(tmp_path, "--checks=bound-by-scheduler") == 1
    out = capsys.readouterr().out
    assert "read 2 files" in out
    assert "history.ndjson:" in out


@pytest.mark.parametrize(
    ("own", "code"),
    [((), 1), (("kube-scheduler-2 v1.35.4",), 1), (("kube-apiserver-2 v1.34.4",), 2)],
    ids=["none", "scheduler", "apiserver"],
)
def test_gates_are_those_of_the_run_but_of_scenarios_with_other_apiservers_untold(
    tmp_path: Path, own: tuple[str, ...], code: int
) -> None:
    record = Record()
    record.created()
    record.bound("n1", hint="n2")
    events = [replace(event, test="NNN-A", cluster="shared") for event in record.events]
    folder = run(tmp_path / "one", events)
    told_of = runs.run(runs.outcome(Verdict.PASS, "NNN-A", own_components=own))
    (folder / run_json.FILE).write_text(run_json.write(told_of))

    assert call(folder, "--checks=never-both") == code


def test_loss_of_a_recorder_makes_a_pass_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gap = Event(99, "2026-11-30T09:00:59Z", 59.0, "watch", "gap", data={"reason": "the watch was cut"})
    folder = run(tmp_path / "one", [*clean().events, gap])

    assert call(folder, "--checks=bound-once") == 2
    assert "unknown: the watch was cut" in capsys.readouterr().out


def test_markers_of_a_run_are_no_pods_to_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record()
    record.created()
    record.events[0].data["metadata"]["labels"] = {MARKER_LABEL: "1"}
    folder = run(tmp_path / "one", record.events)

    call(folder, "--checks=bound-once")
    assert "0 lives of pods" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--checks=never-bothh", "/nowhere"], "Did you mean 'never-both'?"),
        (["--checks=,", "/nowhere"], "no check was asked for"),
        (["/nowhere"], "/nowhere is not there"),
        (["/nowhere", "--since=yesterday"], "--since 'yesterday' is no time"),
        (["/nowhere", "--until=9999-12-31T23:59:59-14:00"], "59-14:00' is no time"),
        (
            ["/nowhere", "--since=2026-11-30", "--until=2026-11-29"],
            "--since 2026-11-30 is not before --until",
        ),
        (["/nowhere", "--gate=X"], "Write NAME=true or NAME=false"),
        (["/nowhere", "--nominator-user="], "--nominator-user is empty"),
        ([""], "PATH is empty"),
        ([], "PATH"),
    ],
)
def test_bad_input_is_one_line_and_254(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 254
    (complaint,) = capsys.readouterr().err.splitlines()
    assert words in complaint
