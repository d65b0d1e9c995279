"""What pytest calls: options, selection, one verdict per item, exit codes.

Every test that carries `@behaviour` is played by the engine; all other tests are none of our business.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from hintbound.errors import CannotStart
    from hintbound.plugin.session import Session

_ITEM = pytest.StashKey[Any]()
_INTERRUPTS = pytest.StashKey[Any]()
_SESSION = pytest.StashKey[Any]()
_COLLECTED = pytest.StashKey[Any]()
"""The ids of all behaviours that were found."""
_FINISHED = pytest.StashKey[tuple[str, Path]]()
_UNWRITTEN = pytest.StashKey[str]()
"""Why the reports of the run could not be written."""
VERDICT = pytest.StashKey[Any]()
"""On an item: its Judgement, once it is there."""
FENCE = 60.0
"""Seconds that pytest-timeout grants on top of a scenario's own deadline: for its turn, its record and its
undo."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; suites add short aliases of them in their conftest.py."""
    group = parser.getgroup("hintbound", "conformance of pod.status.nominatedNodeName")
    for name, option in OPTIONS.items():
        group.addoption(f"--hintbound-{name}", **option)


def _option(dest: str, help_text: str, **more: str) -> dict[str, Any]:
    return {"dest": f"hintbound_{dest}", "default": None, "help": help_text, **more}


OPTIONS = {
    "cluster": _option(
        "cluster",
        "PROVIDER[:TARGET][,key=value...], e.g. embedded:1.35,NominatedNodeNameForExpectation=false",
        metavar="SPEC",
    ),
    "subject": _option("subject", "a vendor's subject.yaml, or its folder", metavar="PATH"),
    "profile": _option("profile", "core, extended, all or regressions", metavar="PROFILE"),
    "behaviour": _option(
        "behaviours", "judge this behaviour only (may be repeated)", action="append", metavar="ID"
    ),
    "jobs": _option("jobs", "how many scenarios run at once", metavar="N"),
    "seed": _option(
        "seed", "of what scenarios leave to chance; drawn, and reported, if not given", metavar="N"
    ),
    "mutant": _option(
        "mutant",
        "break the control plane on purpose, to see what notices (hintbound list mutants)",
        metavar="NAME",
    ),
    "xfails": _option(
        "xfails",
        "a file of failures that are expected: shown as such, they do not fail the run",
        metavar="FILE",
    ),
    "keep": _option("keep", "leave the control planes running; see hintbound cluster", action="store_true"),
    "reports": _option("reports", "the folder under which the run's folder is made", metavar="DIR"),
}
"""What `group.addoption` takes, by the short name."""


@pytest.fixture
def arena(request: pytest.FixtureRequest) -> object:
    """The scenario's part of the cluster. The engine makes it when the scenario starts, which is before this
    fixture."""
    if _ITEM not in request.node.stash:
        pytest.fail("`arena` is for tests with @behaviour only: put the decorator on it", pytrace=False)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Recognise behaviours, select by profile and id, fence each in time."""
    if not config.option.hintbound_behaviours and not any(map(_is_behaviour, items)):
        return  # somebody else's tests: not even an import of ours for them
    from hintbound.errors import CannotStart
    from hintbound.plugin import selection

    try:
        chosen, left_out = selection.select(config, items)
        config.stash[_COLLECTED] = selection.ids(items)
    except CannotStart as error:
        _give_up(config, error)
    for item, behaviour_item in chosen:
        item.stash[_ITEM] = behaviour_item
        limit = behaviour_item.behaviour.deadline + FENCE
        item.add_marker(pytest.mark.timeout(limit, method="signal"), append=False)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _is_behaviour(item: pytest.Item) -> bool:
    return hasattr(getattr(item, "function", None), "__hintbound_behaviour__")


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the control planes before the first item, so that no item's time pays for them."""
    items = [item.stash[_ITEM] for item in session.items if _ITEM in item.stash]
    config = session.config
    if not items or config.option.collectonly:
        return (yield)
    from hintbound.errors import CannotStart
    from hintbound.plugin import selection
    from hintbound.plugin.interrupts import Interrupts
    from hintbound.plugin.session import Session

    if session.testsfailed and not config.option.continue_on_collection_errors:
        _give_up(config, CannotStart("the suites cannot be read: see above."))
    config.stash[_INTERRUPTS] = Interrupts()
    config.stash[_INTERRUPTS].on()
    try:
        settings = selection.settings(config, config.stash[_COLLECTED])
        config.hook.pytest_hintbound_starting(settings=settings, behaviours=len(items))
        run = Session(settings, items, config.stash[_INTERRUPTS])
        config.stash[_SESSION] = run
        run.start(lambda stage: config.hook.pytest_hintbound_started(stage=stage))
    except CannotStart as error:
        if _SESSION in config.stash:
            config.stash[_SESSION].abandon(error)
            del config.stash[_SESSION]
        _give_up(config, error)
    except KeyboardInterrupt:
        config.stash[_INTERRUPTS].enough()
        raise
    try:
        return (yield)
    except KeyboardInterrupt:
        config.stash[_INTERRUPTS].enough()
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Give the item the verdict of its scenario."""
    if _ITEM not in pyfuncitem.stash:
        return None
    from hintbound.protocol import Verdict

    run = pyfuncitem.config.stash[_SESSION]
    judgement = run.verdict(pyfuncitem.stash[_ITEM])
    if run.store.broken:
        pyfuncitem.session.shouldstop = run.store.broken  # what follows could not be recorded either
    pyfuncitem.stash[VERDICT] = judgement
    pyfuncitem.user_properties.append(("verdict", str(judgement.verdict)))
    if judgement.verdict in (Verdict.SKIP, Verdict.NOT_SUPPORTED):
        pytest.skip(f"{judgement.verdict}: {judgement.reason}")
    if judgement.expected:
        raise pytest.xfail.Exception(f"{judgement.reason}; {judgement.expected}")
    if judgement.verdict is Verdict.FAIL and judgement.error is not None:
        raise judgement.error
    if judgement.verdict is not Verdict.PASS:
        pytest.fail(
            "\n".join((f"{judgement.verdict}: {judgement.reason}", *judgement.evidence)), pytrace=False
        )
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """An item that pytest never came to call (a skip mark, a fixture that failed) has an outcome too."""
    report = yield
    run = item.config.stash.get(_SESSION, None)
    if run is None or _ITEM not in item.stash or VERDICT in item.stash or report.passed:
        return report
    from hintbound.plugin.judgement import Judgement
    from hintbound.protocol import Verdict

    verdict = Verdict.SKIP if report.skipped else Verdict.UNKNOWN
    judgement = Judgement(verdict, f"not asked for its verdict: {_why(report)}")
    run.take(item.stash[_ITEM], judgement)
    item.stash[VERDICT] = judgement
    item.user_properties.append(("verdict", str(verdict)))
    return report


def _why(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).strip().splitlines()
    return f"{report.when} failed: {lines[-1] if lines else 'no words'}"


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Show unknown as unknown, not as failed."""
    if report.when == "call" and report.failed and ("verdict", "unknown") in report.user_properties:
        return "unknown", "?", "UNKNOWN"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End the run, write the reports, set the exit code that says what was proven."""
    config = session.config
    run = config.stash.get(_SESSION, None)
    try:
        if run is not None:
            del config.stash[_SESSION]
            _finish(run, session, exitstatus)
    finally:
        if interrupts := config.stash.get(_INTERRUPTS, None):
            interrupts.off()


def _finish(run: Session, session: pytest.Session, exitstatus: int) -> None:
    from hintbound.errors import CannotStart
    from hintbound.protocol import ExitCode

    broken = exitstatus == pytest.ExitCode.INTERNAL_ERROR
    stopped = str(session.shouldfail or session.shouldstop or "")
    try:
        result = run.finish(
            interrupted=exitstatus == pytest.ExitCode.INTERRUPTED,
            stopped=stopped,
            failure="internal error: the run is not to be relied on" if broken else "",
        )
    except CannotStart as error:  # pytest.exit would be told once more from here
        session.config.hook.pytest_hintbound_cannot_start(error=error)
        session.config.stash[_UNWRITTEN] = str(error)
        session.exitstatus = int(ExitCode.CANNOT_START)
        return
    # A failure of some other test in the same session must not be hidden behind a pass of ours.
    if run.exit_code or exitstatus == pytest.ExitCode.OK:
        session.exitstatus = int(ExitCode.INTERNAL if broken else run.exit_code)
    session.config.stash[_FINISHED] = (result.verdict, run.folder.path)
    session.config.hook.pytest_hintbound_finished(run=result, folder=run.folder)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Hooks of ours that a console may implement."""
    from hintbound.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Under plain pytest: tell what is unknown and why, and where the report is."""
    if unwritten := config.stash.get(_UNWRITTEN, ""):
        terminalreporter.line(f"hintbound: {unwritten}")
    finished = config.stash.get(_FINISHED, None)
    if finished is None:
        return
    if unknown := terminalreporter.getreports("unknown"):
        terminalreporter.section("UNKNOWN", sep="_")
        for report in unknown:
            terminalreporter.line(f"{report.nodeid}: {report.longreprtext}")
    verdict, folder = finished
    terminalreporter.line(f"hintbound: {verdict}; report: {folder / 'report.md'}")


def _give_up(config: pytest.Config, error: CannotStart) -> NoReturn:
    config.hook.pytest_hintbound_cannot_start(error=error)
    pytest.exit(f"hintbound: {error}", returncode=254)
