from __future__ import annotations

import errno
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hintbound.errors import CannotStart
from hintbound.protocol import Verdict
from hintbound.report import RunFolder, run_json, write_all
from hintbound.report.folder import new_run_id
from hintbound.report.model import STILL_RUNNING
from hintbound.report.writers import WRITERS, Writer
from tests.report.runs import one_of_each, outcome, run


def test_a_run_that_was_killed_reads_as_unknown(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path)
    folder.begin(run(outcome(Verdict.PASS)))

    left = run_json.read(folder.path)
    assert (left.id, left.verdict, left.reason) == (folder.id, Verdict.UNKNOWN, STILL_RUNNING)
    assert not (tmp_path / "latest").exists(), "a run that has not started is not the latest"
    folder.become_latest()
    assert (tmp_path / "latest").resolve() == folder.path


def test_ids_sort_as_the_runs_began() -> None:
    first, second = datetime(2026, 11, 30, 9, 0, 0, 1000, UTC), datetime(2026, 11, 30, 9, 0, 0, 2000, UTC)

    assert new_run_id(first).startswith("20261130T090000.001Z-")
    assert new_run_id(first) < new_run_id(second)
    assert new_run_id(first) != new_run_id(first)


def test_a_name_that_is_taken_is_not_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter(["aa", "aa", "bb"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(letters))
    now = datetime(2026, 11, 30, tzinfo=UTC)

    assert [RunFolder.create(tmp_path, now=now).id[-2:] for _ in range(2)] == ["aa", "bb"]


def test_an_unwritable_root_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "reports").touch()

    with pytest.raises(CannotStart, match="reports cannot be written: File exists"):
        RunFolder.create(tmp_path / "reports")


def test_a_full_disk_is_one_clear_line_and_leaves_no_scratch_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.create(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotStart, match="the disk is full"):
        folder.begin(run())

    assert [entry.name for entry in folder.path.iterdir()] == ["logs"]


_TWO_AT_ONCE = """
import sys
from pathlib import Path
from hintbound.report.folder import point_latest_at

folder = Path(sys.argv[1])
folder.mkdir()
for _ in range(400):
    point_latest_at(folder)
"""


def test_latest_always_names_a_run_while_two_runs_fight_for_it(tmp_path: Path) -> None:
    folders = {tmp_path / "one", tmp_path / "two"}
    RunFolder.create(tmp_path).become_latest()
    fighters = [subprocess.Popen([sys.executable, "-c", _TWO_AT_ONCE, str(folder)]) for folder in folders]
    seen = set()
    while any(fighter.poll() is None for fighter in fighters):
        seen.add((tmp_path / "latest").resolve().is_dir())

    assert [fighter.returncode for fighter in fighters] == [0, 0]
    assert seen == {True}
    assert (tmp_path / "latest").resolve() in folders
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_without_symlinks_latest_is_a_text_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    folders = [RunFolder.create(tmp_path) for _ in range(2)]
    for folder in folders:
        folder.become_latest()

    assert (tmp_path / "latest").read_text() == f"{folders[-1].id}\n"


def test_a_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest" / "mine").touch()

    RunFolder.create(tmp_path).become_latest()

    assert (tmp_path / "latest" / "mine").exists()
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_all_reports_are_written_and_the_script_can_be_run(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path)
    written = one_of_each()

    assert write_all(written, folder) == written
    assert sorted(entry.name for entry in folder.path.iterdir()) == [
        "junit.xml",
        "logs",
        "report.md",
        "report.yaml",
        "repro.sh",
        "run.json",
    ]
    assert os.access(folder.path / "repro.sh", os.X_OK)


def test_a_writer_that_crashes_loses_no_other_report_and_changes_no_verdict(tmp_path: Path) -> None:
    def crash(_: object) -> str:
        raise ZeroDivisionError("one too many")

    folder = RunFolder.create(tmp_path)
    noted = write_all(one_of_each(), folder, writers=(Writer("report.html", crash), *WRITERS))

    assert noted.verdict is Verdict.FAIL
    assert noted.notes[-1] == "report.html could not be written: ZeroDivisionError: one too many"
    assert run_json.read(folder.path) == noted
    assert (folder.path / "junit.xml").exists()
