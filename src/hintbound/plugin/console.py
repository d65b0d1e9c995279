"""What `hintbound run` shows: the clusters, a line per verdict, the sum, the path of the report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from rich.status import Status
from rich.text import Text

from hintbound.errors import CannotStart
from hintbound.plugin.behaviours import behaviour_of
from hintbound.plugin.hooks import VERDICT
from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    NOMINATED_NODE_NAME_FOR_EXPECTATION,
    ComponentKind,
    Verdict,
)

if TYPE_CHECKING:
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
_SHOWN_GATES = {
    ComponentKind.APISERVER: CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    ComponentKind.SCHEDULER: NOMINATED_NODE_NAME_FOR_EXPECTATION,
}


class RunConsole:
    """A pytest plugin in place of pytest's own terminal output."""

    def __init__(self) -> None:
        self.cannot_start: CannotStart | None = None
        self.problems: list[str] = []
        """What pytest could not collect, or a usage error."""
        self._shown: set[str] = set()
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        self._status: Status | None = None

    def begin(self, words: str) -> None:
        """Show that something is under way; on a terminal only."""
        if self._console.is_terminal:
            self._status = self._status or self._console.status("")
            self._status.update(words)
            self._status.start()

    def pytest_hintbound_started(self, stage: Stage) -> None:
        """Name the components and the gates that matter here."""
        versions = ", ".join(f"{state.name} {state.version}" for state in stage.states)
        self._console.print(f"{stage.name}: {stage.cluster.spec}: {versions}", style="dim")
        for state in stage.states:
            gate = _SHOWN_GATES.get(state.kind)
            if gate and state.gates is not None:
                said = {True: "on", False: "off", None: "absent"}[state.gates.get(gate)]
                self._console.print(f"  {state.name}: {gate} is {said}", style="dim")
        self.begin("judging")

    def pytest_hintbound_cannot_start(self, error: CannotStart) -> None:
        """Keep it: the command says it in one line."""
        self.cannot_start = error

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected."""
        if report.failed:
            self.problems.append(str(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """After an item: its verdict."""
        result = yield
        behaviour = behaviour_of(getattr(item, "function", None))
        judgement = item.stash.get(VERDICT, None)
        if behaviour and judgement:
            self._line(behaviour.id, judgement.verdict, judgement.duration, behaviour.must, judgement.reason)
        return result

    def _line(self, behaviour: str, verdict: Verdict, took: float, must: str, reason: str) -> None:
        self._shown.add(behaviour)
        line = Text(f"{verdict:<14}", style=_STYLES[verdict])
        line.append(f"{behaviour:<36}", style="none")
        if took:
            line.append(f"{took:6.2f} s", style="dim")
        self._console.print(line)
        if verdict in (Verdict.FAIL, Verdict.UNKNOWN):
            self._console.print(f"    {must}", style="italic")
            self._console.print(f"    {reason}")

    def pytest_hintbound_finished(self, run: Run, folder: RunFolder) -> None:
        """The sum, the notes, the path."""
        if self._status:
            self._status.stop()
        for outcome in run.outcomes:
            if outcome.behaviour not in self._shown:
                self._line(outcome.behaviour, outcome.verdict, 0, outcome.must, outcome.reason)
        counts = ", ".join(
            f"{sum(outcome.verdict is verdict for outcome in run.outcomes)} {verdict}" for verdict in Verdict
        )
        for note in run.notes:
            self._console.print(f"note: {note}", style="yellow")
        verdict = Text(f"{run.verdict}", style=_STYLES[run.verdict])
        self._console.print(Text("verdict: ").append(verdict).append(f" ({counts}) in {run.duration_seconds:.1f} s"))
        self._console.print(f"report: {folder.path / 'report.md'}")

    def close(self) -> None:
        """Stop what still turns."""
        if self._status:
            self._status.stop()
