"""What pytest calls: options, selection, one verdict per item, exit codes.

Every test that carries `@behaviour` is played by the engine; all other tests are none of our business.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from types import FrameType

    from hintbound.errors import CannotStart
    from hintbound.plugin.session import Item, Session

_ITEM = pytest.StashKey["Item"]()
_SESSION = pytest.StashKey["Session"]()
_FINISHED = pytest.StashKey[tuple[str, Path]]()
VERDICT = pytest.StashKey[Any]()
"""On an item: its Judgement, once it is there."""
FENCE = 60.0
"""Seconds that pytest-timeout grants on top of a scenario's own deadline: for its turn, its record and its undo."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; suites add short aliases of them in their conftest.py."""
    group = parser.getgroup("hintbound", "conformance of pod.status.nominatedNodeName")
    for name, help_text in OPTIONS.items():
        group.addoption(f"--hintbound-{name}", dest=f"hintbound_{name}", default=None, help=help_text)
    group.addoption(
        "--hintbound-behaviour",
        dest="hintbound_behaviours",
        action="append",
        default=None,
        metavar="ID",
        help="judge this behaviour only (may be repeated)",
    )


OPTIONS = {
    "cluster": "PROVIDER[:TARGET][,key=value...], e.g. embedded:1.35,NominatedNodeNameForExpectation=false",
    "profile": "core, extended or all",
    "jobs": "how many scenarios run at once",
    "reports": "the folder under which the run's folder is made",
}


@pytest.fixture
def arena(request: pytest.FixtureRequest) -> object:
    """The scenario's part of the cluster. Made by the engine when the scenario starts, which is before this fixture."""
    if _ITEM not in request.node.stash:
        pytest.fail("`arena` is for tests with @behaviour only")
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Recognise behaviours, select by profile and id, fence each in time."""
    from hintbound.errors import CannotStart
    from hintbound.plugin import selection

    try:
        chosen, left_out = selection.select(config, items)
    except CannotStart as error:
        _give_up(config, error)
    for item, behaviour_item in chosen:
        item.stash[_ITEM] = behaviour_item
        limit = behaviour_item.behaviour.deadline + FENCE
        item.add_marker(pytest.mark.timeout(limit, method="signal"))
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the control planes before the first item, so that no item's time pays for them."""
    items = [item.stash[_ITEM] for item in session.items if _ITEM in item.stash]
    if not items or session.config.option.collectonly:
        return (yield)
    from hintbound.errors import CannotStart
    from hintbound.plugin import selection
    from hintbound.plugin.session import Session

    with _sigterm_interrupts():
        try:
            run = Session(selection.settings(session.config), items)
            session.config.stash[_SESSION] = run
            run.start(lambda stage: session.config.hook.pytest_hintbound_started(stage=stage))
        except CannotStart as error:
            if _SESSION in session.config.stash:
                session.config.stash[_SESSION].abandon()
                del session.config.stash[_SESSION]
            _give_up(session.config, error)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Give the item the verdict of its scenario."""
    if _ITEM not in pyfuncitem.stash:
        return None
    from hintbound.protocol import Verdict

    judgement = pyfuncitem.config.stash[_SESSION].verdict(pyfuncitem.stash[_ITEM])
    pyfuncitem.stash[VERDICT] = judgement
    pyfuncitem.user_properties.append(("verdict", str(judgement.verdict)))
    if judgement.verdict in (Verdict.SKIP, Verdict.NOT_SUPPORTED):
        pytest.skip(f"{judgement.verdict}: {judgement.reason}")
    if judgement.verdict is Verdict.FAIL and judgement.error is not None:
        raise judgement.error
    if judgement.verdict is not Verdict.PASS:
        pytest.fail(f"{judgement.verdict}: {judgement.reason}", pytrace=False)
    return True


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Show unknown as unknown, not as failed."""
    if report.when == "call" and ("verdict", "unknown") in report.user_properties:
        return "unknown", "?", "UNKNOWN"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End the run, write the reports, set the exit code that says what was proven."""
    run = session.config.stash.get(_SESSION, None)
    if run is None:
        return
    del session.config.stash[_SESSION]
    interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
    result = run.finish(interrupted=interrupted)
    # A failure of some other test in the same session must not be hidden behind a pass of ours.
    if run.exit_code or exitstatus == pytest.ExitCode.OK:
        session.exitstatus = int(run.exit_code)
    session.config.stash[_FINISHED] = (result.verdict, run.folder.path)
    session.config.hook.pytest_hintbound_finished(run=result, folder=run.folder)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Hooks of ours that a console may implement."""
    from hintbound.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Under plain pytest: tell where the report is."""
    finished = config.stash.get(_FINISHED, None)
    if finished is not None:
        verdict, folder = finished
        terminalreporter.line(f"hintbound: {verdict}; report: {folder / 'report.md'}")


def _give_up(config: pytest.Config, error: CannotStart) -> NoReturn:
    config.hook.pytest_hintbound_cannot_start(error=error)
    pytest.exit(f"hintbound: {error}", returncode=254)


class _sigterm_interrupts:  # noqa: N801 - reads as a statement
    """CI systems end a job with SIGTERM: clean up as after Ctrl-C."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, self._interrupt)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self._before)

    @staticmethod
    def _interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

