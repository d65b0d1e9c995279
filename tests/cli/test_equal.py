"""`hintbound equal`: pairs of runs, a page, an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound.cli import main
from hintbound.protocol import Verdict
from hintbound.report import run_json
from tests.report.runs import outcome
from tests.report.test_equality import of


def stored(folder: Path, verdict: Verdict) -> str:
    folder.mkdir()
    (folder / run_json.FILE).write_text(run_json.write(of(outcome(verdict, "NNN-A"))))
    return str(folder)


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["equal", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str, str]:
    verdicts = (Verdict.PASS, Verdict.PASS, Verdict.FAIL)
    a, b, c = (stored(tmp_path / str(number), verdict) for number, verdict in enumerate(verdicts))
    return a, b, c


def test_equal_runs_end_with_0_and_leave_the_page(
    tmp_path: Path, runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*runs[:2], "--write", tmp_path / "page.md") == 0
    assert (tmp_path / "page.md").read_text() == capsys.readouterr().out


def test_every_pair_must_be_equal(runs: tuple[str, str, str]) -> None:
    assert call(*runs[:2], *runs[1:]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "in pairs"),
        (["a"], "in pairs"),
        (["/nowhere/a", "/nowhere/b"], "/nowhere/a cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_254(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 254
    (complaint,) = capsys.readouterr().err.splitlines()
    assert words in complaint


def test_a_page_that_cannot_be_written_is_one_line_and_254(
    runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*runs[:2], "--write", "/nowhere/page.md") == 254
    assert "/nowhere/page.md cannot be written: no such file" in capsys.readouterr().err
