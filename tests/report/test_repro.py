from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hintbound.protocol import Verdict
from hintbound.report import Run, repro
from tests.report.runs import one_of_each, outcome, run


def _called(tmp_path: Path, written: Run, *arguments: str, code: int = 0) -> tuple[int, list[str], str]:
    """Run the script with a hintbound that only notes how it was called."""
    (tmp_path / "hintbound").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{tmp_path}/calls"\nexit {code}\n'
    )
    (tmp_path / "hintbound").chmod(0o755)
    (tmp_path / "repro.sh").write_text(repro.write(written))
    calls = tmp_path / "calls"
    calls.write_text("")
    ended = subprocess.run(
        ["sh", str(tmp_path / "repro.sh"), *arguments],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, calls.read_text().splitlines(), ended.stderr


def test_without_arguments_it_runs_the_whole_again(tmp_path: Path) -> None:
    assert _called(tmp_path, one_of_each()) == (0, ["run --cluster embedded:1.35 --profile core"], "")


def test_failed_runs_each_behaviour_that_failed_or_was_not_judged(tmp_path: Path) -> None:
    code, calls, _ = _called(tmp_path, one_of_each(), "failed", code=1)

    assert code == 1
    assert calls == ["run --cluster embedded:1.35 NNN-UNKNOWN", "run --cluster embedded:1.35 NNN-FAIL"]


def test_one_behaviour_can_be_chosen(tmp_path: Path) -> None:
    for behaviour in ("NNN-FAIL", "NNN-PASS"):
        _, calls, _ = _called(tmp_path, one_of_each(), behaviour)
        assert calls == [f"run --cluster embedded:1.35 {behaviour}"]


def test_a_wrong_name_is_told(tmp_path: Path) -> None:
    code, calls, told = _called(tmp_path, one_of_each(), "NNN-NONE")

    assert (code, calls) == (254, [])
    assert told == "repro.sh: 'NNN-NONE' is neither all, nor failed, nor a behaviour of this run\n"


def test_after_a_pass_nothing_failed(tmp_path: Path) -> None:
    assert _called(tmp_path, run(outcome(Verdict.PASS)), "failed") == (0, [], "")


@pytest.mark.parametrize("odd", ["\ntouch harm", "$(touch harm)", "'; touch harm; '", "\r\ntouch harm"])
def test_nothing_in_a_result_becomes_a_command(tmp_path: Path, odd: str) -> None:
    written = run(
        outcome(Verdict.FAIL, behaviour=f"NNN{odd}", repro="hintbound run x"),
        cluster_spec=odd,
        command=("hintbound", odd),
        verdict=Verdict.UNKNOWN,
        reason=odd,
    )

    code, calls, _ = _called(tmp_path, written)

    assert code == 0
    assert "\n".join(calls).strip() == odd.strip()
    assert not (tmp_path / "harm").exists()


def test_its_comments_tell_versions_and_gates() -> None:
    text = repro.write(one_of_each())

    assert "#   etcd 3.6.5\n" in text
    gates = "NominatedNodeNameForExpectation=true ClearingNominatedNodeNameAfterBinding=true"
    assert f"#   kube-apiserver v1.35.4 {gates}\n" in text
