"""Calls pytest for the commands, in this process, and turns its ways of giving up into one clear line."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_timeout

from hintbound.errors import CannotStart
from hintbound.plugin import hooks
from hintbound.plugin.places import where_raised


def call_pytest(arguments: Sequence[str], *plugins: object) -> int:
    """Run pytest without the environment's other plugins and options: they could change what a test means.

    Raises CannotStart for what cannot be collected, found or begun; else gives pytest's exit code.
    """
    troubles = _Troubles()
    with _our_plugins_only():
        code = int(pytest.main(list(arguments), plugins=[hooks, pytest_timeout, troubles, *plugins]))
    if troubles.cannot_start:
        raise troubles.cannot_start
    if troubles.unreadable:
        raise CannotStart(
            "the suites cannot be read: " + " ".join(troubles.unreadable),
            next_step="Mend what is named, or leave it out.",
        )
    if code == pytest.ExitCode.USAGE_ERROR:
        raise CannotStart("pytest could not begin: see above.")
    return code


@dataclass(slots=True, eq=False)
class _Troubles:
    """What ends a session before it has begun."""

    cannot_start: CannotStart | None = None
    unreadable: list[str] = field(default_factory=list)

    def pytest_hintbound_cannot_start(self, error: CannotStart) -> None:
        self.cannot_start = error

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        try:
            report = yield
        except SystemExit as error:  # pytest lets it through, and would end with a traceback
            place = where_raised(error, str(collector.path)) or collector.path
            self.unreadable.append(f"{place}: {f'SystemExit: {error}'.removesuffix(': ')}.")
            return pytest.CollectReport(collector.nodeid, "failed", "SystemExit", [])
        if report.failed:
            self.unreadable.append(f"{_where(report, collector.path)}: {_cause(report).rstrip('.')}.")
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self) -> Generator[None, object, object]:
        try:
            return (yield)
        except pytest.UsageError as error:
            said = " ".join(" ".join(map(str, error.args)).split()).partition(" (no match in any of")[0]
            self.cannot_start = CannotStart(
                f"{said}.", next_step="See `hintbound list behaviours` for what there is and where it stands."
            )
            return pytest.ExitCode.USAGE_ERROR


def _where(report: pytest.CollectReport, file: Path) -> str:
    """The line that could not be run or read, in that file or in one that it imports; else the file."""
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    error = call.excinfo.value if call and call.excinfo else None
    for cause in (error.__cause__, error) if error else ():
        if cause is not None and (place := where_raised(cause, str(file))):
            return place
    return str(file)


def _cause(report: pytest.CollectReport) -> str:
    """Why a file could not be collected: the lines that pytest marks with E, or the last one."""
    lines = str(report.longrepr).strip().splitlines()
    marked = [line[1:].strip() for line in lines if line.startswith("E  ")]
    return " ".join(marked or lines[-1:])


@contextlib.contextmanager
def _our_plugins_only() -> Iterator[None]:
    changed = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
