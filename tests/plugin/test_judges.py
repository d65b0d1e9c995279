"""`hintbound matrix` and `hintbound mutants`: the runs that they start are all ended with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hintbound.errors import CannotStart
from hintbound.plugin.judges import Judges


def _plays(monkeypatch: pytest.MonkeyPatch, program: str) -> list[subprocess.Popen[str]]:
    """Play this Python program instead of each run; what was started."""
    started: list[subprocess.Popen[str]] = []
    ordinary = subprocess.Popen

    def popen(command: list[str], **options: object) -> subprocess.Popen[str]:
        if command[:4] != [sys.executable, "-m", "hintbound", "run"]:
            return ordinary(command, **options)  # type: ignore[call-overload, no-any-return]
        started.append(ordinary([sys.executable, "-c", program], **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    return started


def test_no_run_begins_once_the_others_have_been_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _plays(monkeypatch, "")
    judges = Judges(tmp_path, 1)
    judges.__exit__(KeyboardInterrupt)
    with pytest.raises(CannotStart, match=r"1\.35\.4 @default was not judged"):
        judges._judge("1.35.4 @default", [])
    assert started == []


def test_why_a_run_cannot_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _plays(
        monkeypatch, "import sys; sys.stderr.write('starting\\nhintbound: no such gate.\\n'); sys.exit(254)"
    )
    with Judges(tmp_path, 1) as judges:
        judged = judges.begin("1.35.4 @default", ["--cluster", "embedded:1.35"])
        with pytest.raises(CannotStart) as refused:
            judged.result()
    assert str(refused.value) == "1.35.4 @default could not be judged: no such gate."
