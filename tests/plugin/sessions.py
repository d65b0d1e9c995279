"""Calls `hintbound run` in this process, on suites that a test writes and stages without clusters."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from hintbound import cli
from hintbound.errors import CannotStart
from hintbound.plugin import catalogue
from hintbound.plugin.calling import call_pytest
from tests.plugin.fakes import FakeStage

HEAD = """
import asyncio, os, signal, time
import pytest
from hintbound.plugin import behaviour, Capability, NotSeen, Unproven

def one(id, **more):
    return behaviour(id, **{"must": f"{id} must.", "why": "Because.", "source": "here", **more})
"""


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    code: int
    out: str
    err: str
    error: str
    """What it could not start for."""
    folder: Path | None
    """The run's folder, if there is one."""

    @property
    def run(self) -> dict[str, Any]:
        """Its run.json."""
        assert self.folder is not None, f"no run folder; {self.error or self.out}"
        record: dict[str, Any] = orjson.loads((self.folder / "run.json").read_bytes())
        return record

    @property
    def verdicts(self) -> dict[str, str]:
        """By behaviour, in the order of the run."""
        return {outcome["behaviour"]: outcome["verdict"] for outcome in self.run["outcomes"]}

    def reason(self, behaviour: str) -> str:
        """Of one outcome."""
        return next(str(o["reason"]) for o in self.run["outcomes"] if o["behaviour"] == behaviour)


def write(folder: Path, source: str, name: str = "test_it.py") -> Path:
    """A suite of one file."""
    file = folder / "suite" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEAD + textwrap.dedent(source))
    return file


class Sessions:
    """Runs suites in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.reports = folder / "reports"
        self._capsys = capsys

    def run(self, source: str, *options: str, paths: Sequence[str] = ()) -> Ran:
        """Write this suite and run it."""
        file = write(self.folder, source)
        words = ["run", *(paths or [str(file)]), "--reports", str(self.reports), "--profile", "all", *options]
        return self._ran(lambda: int(cli.hintbound.main(words, standalone_mode=False) or 0))

    def call(self, *words: str) -> Ran:
        """Run hintbound's own suites."""
        whole = ["run", *words, "--reports", str(self.reports)]
        return self._ran(lambda: int(cli.hintbound.main(whole, standalone_mode=False) or 0))

    def pytest(self, source: str, *options: str) -> Ran:
        """Write this suite and call pytest on it, as who is not content with what `hintbound run` offers."""
        file = write(self.folder, source)
        words = [f"--hintbound-reports={self.reports}", "--hintbound-profile=all", *options]
        return self._ran(lambda: call_pytest([*words, *catalogue.arguments([str(file)])]))

    def _ran(self, call: Callable[[], int]) -> Ran:
        code, error = 0, ""
        try:
            code = call()
        except CannotStart as refusal:
            code, error = 254, str(refusal)
        folders = sorted(path for path in self.reports.glob("2*") if path.is_dir())
        out, err = self._capsys.readouterr()
        return Ran(code, out, err, error, folders[-1] if folders else None)

    @property
    def stages(self) -> list[FakeStage]:
        """Every stage that was made."""
        return FakeStage.opened
