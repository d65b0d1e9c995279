"""A terminal reporter that reports nothing: `hintbound run` has a console of its own.

pytest's reporter cannot just be left out: other plugins (pytest-timeout) write through it when something
hangs.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter


class Silence(TerminalReporter):  # type: ignore[misc]  # it is final for no reason that concerns us
    """Writes only what is written to it by others."""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Nothing."""
        self._session = session

    def pytest_collection(self) -> None:
        """Nothing."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Nothing: the console keeps what failed."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Nothing."""

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """Nothing."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Nothing."""

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Nothing."""

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int | pytest.ExitCode
    ) -> Generator[None, None, None]:
        """No summary."""
        yield

    def pytest_unconfigure(self) -> None:
        """Nothing."""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take the place of pytest's reporter."""
    ordinary = config.pluginmanager.get_plugin("terminalreporter")
    if ordinary is not None:
        config.pluginmanager.unregister(ordinary)
        config.pluginmanager.register(Silence(config), "terminalreporter")
