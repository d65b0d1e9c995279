"""What `hintbound run` shows: the clusters, a line per verdict, the sum, the path of the report."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from rich.status import Status
from rich.text import Text

from hintbound.plugin.behaviours import behaviour_of
from hintbound.plugin.hooks import VERDICT
from hintbound.plugin.selection import node_id
from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    NOMINATED_NODE_NAME_FOR_EXPECTATION,
    ComponentKind,
    Verdict,
)
from hintbound.report.model import EXPECTED_FAIL, ExpectedFailure, Statistics
from hintbound.report.words import checks

if TYPE_CHECKING:
    from hintbound.plugin.session import Settings
    from hintbound.plugin.stage import Stage
    from hintbound.report.folder import RunFolder
    from hintbound.report.model import Run

_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.UNKNOWN: "bold yellow",
    Verdict.SKIP: "dim",
    Verdict.NOT_SUPPORTED: "dim",
}
_OTHERS = {"passed": Verdict.PASS, "failed": Verdict.FAIL, "skipped": Verdict.SKIP}
"""The verdict that the outcome of a test that is no behaviour looks like."""
_SHOWN_GATES = {
    ComponentKind.APISERVER: CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    ComponentKind.SCHEDULER: NOMINATED_NODE_NAME_FOR_EXPECTATION,
}


class _Unread(Console):
    """A console whose reader may go away: the run and its exit code matter all the same."""

    def on_broken_pipe(self) -> None:
        """Instead of ending the process as rich does."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class RunConsole:
    """A pytest plugin in place of pytest's own terminal output. On a terminal a line also says what goes
    on."""

    def __init__(self) -> None:
        self.finished = False
        """Whether a run came to its end and its reports are written."""
        self.others: Counter[str] = Counter()
        """Outcomes of tests that are no behaviours."""
        self._reports: list[pytest.TestReport] = []
        self._shown: set[str] = set()
        self._console = _Unread(file=sys.stdout, highlight=False, soft_wrap=True, markup=False)
        self._status: Status | None = None
        self._selected = 0

    def close(self) -> None:
        """Stop what still turns."""
        if self._status:
            self._status.stop()

    def pytest_hintbound_starting(self, settings: Settings, behaviours: int) -> None:
        """Say it before anything is slow: binaries may have to be fetched, and show their own progress."""
        self._selected = behaviours
        what = f"{behaviours} behaviour{'s' if behaviours != 1 else ''} of profile {settings.profile}"
        whom = f", subject {settings.subject.name}" if settings.subject else ""
        self._say(f"starting {settings.spec} for {what}{whom}", style="dim")

    def pytest_hintbound_started(self, stage: Stage) -> None:
        """Name the components and the gates that matter here."""
        versions = ", ".join(f"{state.name} {state.version}" for state in stage.states)
        self._say(f"{stage.name}: {stage.cluster.spec}: {versions}", style="dim")
        for state in stage.states:
            gate = _SHOWN_GATES.get(state.kind)
            if gate and state.gates is not None:
                said = {True: "on", False: "off", None: "absent"}[state.gates.get(gate)]
                self._say(f"  {state.name}: {gate} is {said}", style="dim")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Before an item: that it is awaited. After it: its verdict."""
        behaviour = behaviour_of(getattr(item, "function", None))
        if behaviour:
            self._turn(f"judging, {len(self._shown)} of {self._selected} done: {behaviour.id}")
        self._reports.clear()
        result = yield
        judgement = item.stash.get(VERDICT, None)
        if behaviour and judgement:
            took, said = judgement.duration, (behaviour.must, judgement.reason)
            self._line(behaviour.id, judgement.verdict, took, *said, judgement.expected)
        else:
            self._other(node_id(item))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the item at hand came to."""
        self._reports.append(report)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """The cleaning up takes a moment, and a second Ctrl-C does not shorten it."""
        if excinfo.type is KeyboardInterrupt:  # pytest's own kind of it means errors in collecting
            self._say("interrupted: cleaning up", style="bold yellow")
            self._turn("cleaning up")

    def pytest_hintbound_finished(self, run: Run, folder: RunFolder) -> None:
        """The sum, the notes, the path."""
        self.finished = True
        self.close()
        for outcome in run.outcomes:
            if outcome.behaviour not in self._shown:
                said = outcome.must, outcome.reason
                self._line(outcome.behaviour, outcome.verdict, 0, *said, outcome.expected)
        counted = Statistics.of(run.outcomes)
        for note in run.notes:
            self._say(f"note: {note}", style="yellow")
        if run.checks:
            self._say(f"checks: {checks(run)}", style="dim")
        verdict = Text(f"{run.verdict}", style=_STYLES[run.verdict])
        line = Text("verdict: ").append(verdict).append(f", {run.reason}" if run.reason else "")
        if counted.expected:
            line.append(", not conformant: failures that were expected", style="yellow")
        counts = ", ".join(
            f"{number} {name}" for name, number in counted.items() if number or name != EXPECTED_FAIL
        )
        self._say(line.append(f" ({counts}) in {run.duration_seconds:.1f} s"))
        self._say(f"report: {folder.path / 'report.md'}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """What is no behaviour counts towards the exit code too."""
        if self.others:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.others.items()))
            self._say(f"tests that are no behaviours: {counts}")

    def _line(
        self,
        behaviour: str,
        verdict: Verdict,
        took: float,
        must: str,
        reason: str,
        expected: ExpectedFailure | None,
    ) -> None:
        self._shown.add(behaviour)
        style = "yellow" if expected else _STYLES[verdict]
        line = Text(f"{EXPECTED_FAIL if expected else verdict:<14}", style=style)
        line.append(f"{behaviour:<36}", style="none")
        line.append(f"{took:6.2f} s" if took else "", style="dim")
        if verdict in (Verdict.SKIP, Verdict.NOT_SUPPORTED):
            line.append(f" {reason}", style="dim")
        self._say(line)
        if verdict in (Verdict.FAIL, Verdict.UNKNOWN):
            self._say(f"    {must}", style="italic")
            self._say(f"    {reason}")
        if expected:
            self._say(f"    {expected}", style="yellow")

    def _other(self, test: str) -> None:
        if not self._reports:
            return
        decisive = next((report for report in self._reports if not report.passed), self._reports[-1])
        self.others[decisive.outcome] += 1
        verdict = _OTHERS[decisive.outcome]
        self._say(Text(f"{verdict:<14}", style=_STYLES[verdict]).append(test, style="none"))
        if decisive.failed:
            self._say("".join(f"    {line}\n" for line in decisive.longreprtext.splitlines()), end="")

    def _turn(self, words: str) -> None:
        """Show that something is under way; on a terminal only."""
        if self._console.is_terminal:
            self._status = self._status or self._console.status("")
            self._status.update(Text(words))
            self._status.start()

    def _say(self, what: str | Text, **how: Any) -> None:
        self._console.print(what, **how)
