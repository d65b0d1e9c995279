"""Calls `hintbound` and pytest as programs of their own, on real control planes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.plugin.sessions import write

PATIENCE = 300.0
"""Seconds for one run. Alone it takes six; a machine without the binaries has to get them first."""


@dataclass(frozen=True)
class Ended:
    """What came of a program."""

    code: int
    out: str
    err: str
    reports: Path

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        folders = sorted(path for path in self.reports.glob("2*") if path.is_dir())
        assert len(folders) == 1, (folders, self.out, self.err)
        return folders[0]

    @property
    def run(self) -> dict[str, Any]:
        """Its run.json."""
        record: dict[str, Any] = orjson.loads((self.folder / "run.json").read_bytes())
        return record

    @property
    def outcomes(self) -> dict[str, dict[str, Any]]:
        """By behaviour."""
        return {outcome["behaviour"]: outcome for outcome in self.run["outcomes"]}

    @property
    def verdicts(self) -> dict[str, str]:
        """By behaviour."""
        return {behaviour: outcome["verdict"] for behaviour, outcome in self.outcomes.items()}

    @property
    def lines(self) -> dict[str, str]:
        """The verdict that the console shows, by behaviour."""
        return {
            found[2]: found[1]
            for found in re.finditer(r"^([a-z-]+) +([A-Z]+(?:-[A-Z]+)+) ", self.out, re.MULTILINE)
        }


class Programs:
    """Starts programs whose state and reports lie in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "none"
        self._count = 0

    def suite(self, name: str, source: str) -> Path:
        """Write a suite of one file."""
        return write(self.folder / name, source)

    def hintbound(self, *words: str | Path) -> Ended:
        """`hintbound …`; for `run` with reports of its own."""
        return self._call(["-W", "error", "-m", "hintbound", *map(str, words)], "--reports")

    def hintbound_says(self, *words: str) -> str:
        """What a command that makes no reports says."""
        command = [sys.executable, "-m", "hintbound", *words]
        return subprocess.check_output(command, text=True, env=self.environment, timeout=PATIENCE).strip()

    def pytest(self, *words: str | Path) -> Ended:
        """`pytest …` with all plugins of this environment, as a person would call it."""
        return self._call(["-m", "pytest", "-p", "no:cacheprovider", *map(str, words)], "--hintbound-reports")

    def start(self, *words: str | Path) -> tuple[subprocess.Popen[str], Path]:
        """`hintbound …`, left running; and where its reports go."""
        reports = self._reports()
        command = [sys.executable, "-m", "hintbound", *map(str, words), "--reports", str(reports)]
        pipe = subprocess.PIPE
        popen = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=self.environment, cwd=self.folder
        )
        return popen, reports

    @property
    def environment(self) -> dict[str, str]:
        """Clusters are registered in this folder only."""
        own = {"HINTBOUND_STATE": str(self.folder / "state"), "KUBECONFIG": str(self.kubeconfig)}
        return {**os.environ, **own}

    def _call(self, command: list[str], reports_option: str) -> Ended:
        reports = self._reports()
        ended = subprocess.run(
            [sys.executable, *command, f"{reports_option}={reports}"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=self.environment,
            cwd=self.folder,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr, reports)

    def _reports(self) -> Path:
        self._count += 1
        return self.folder / f"reports-{self._count}"
