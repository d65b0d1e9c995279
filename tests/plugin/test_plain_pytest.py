"""The plugin under pytest itself: its reports, its ways of stopping early, its own failures."""

from __future__ import annotations

import pytest

from hintbound.plugin.session import Session
from tests.plugin.sessions import Sessions

THREE = """
@one("T-PASS")
async def test_pass(arena): pass

@one("T-{second}")
async def test_second(arena):
    {does}

@one("T-LAST")
async def test_last(arena): pass
"""


@pytest.mark.parametrize(
    ("second", "does", "stop", "code"),
    [
        ("FAIL", "assert False", "-x", 1),
        ("FAIL", "assert False", "--maxfail=1", 1),
        ("UNKNOWN", "raise Unproven('too little traffic')", "-x", 2),
    ],
)
def test_what_pytest_did_not_come_to_is_unknown_and_says_why(
    sessions: Sessions, second: str, does: str, stop: str, code: int
) -> None:
    ran = sessions.pytest(THREE.format(second=second, does=does), stop)
    assert (ran.code, ran.verdicts) == (
        code,
        {"T-PASS": "pass", f"T-{second}": second.lower(), "T-LAST": "unknown"},
    )
    assert ran.reason("T-LAST") == "not reached: stopping after 1 failures"
    assert [stage.closed for stage in sessions.stages] == [1]


def test_without_a_stop_every_behaviour_is_judged(sessions: Sessions) -> None:
    ran = sessions.pytest(THREE.format(second="FAIL", does="assert False"))
    assert (ran.code, ran.verdicts["T-LAST"]) == (1, "pass")


def test_unknown_is_not_shown_as_failed(sessions: Sessions) -> None:
    ran = sessions.pytest(THREE.format(second="UNKNOWN", does="raise Unproven('too little traffic')"), "-v")
    assert "test_second UNKNOWN" in ran.out
    assert "1 unknown" in ran.out
    assert "test_second: unknown: too little traffic" in ran.out
    assert "1 failed" not in ran.out


def test_a_failure_shows_the_tests_own_traceback(sessions: Sessions) -> None:
    ran = sessions.pytest(THREE.format(second="FAIL", does="assert arena.cluster == 'mine', 'whose?'"))
    assert ">   " in ran.out
    assert "assert arena.cluster == 'mine', 'whose?'" in ran.out
    assert "assert 'shared' == 'mine'" in ran.out
    assert "AssertionError: whose?" in ran.out


def test_the_summary_tells_verdict_and_report(sessions: Sessions) -> None:
    ran = sessions.pytest("@one('T-ONE')\nasync def test_one(arena): pass")
    assert f"hintbound: pass; report: {ran.folder}/report.md" in ran.out


def test_an_option_decides_which_run_it_is(sessions: Sessions) -> None:
    ran = sessions.pytest(THREE.format(second="FAIL", does="assert False"), "--hintbound-behaviour=T-LAST")
    assert (ran.code, ran.verdicts) == (0, {"T-LAST": "pass"})
    assert "2 deselected" in ran.out


def test_collecting_alone_starts_nothing(sessions: Sessions) -> None:
    ran = sessions.pytest("@one('T-ONE')\nasync def test_one(arena): pass", "--collect-only")
    assert (ran.code, sessions.stages) == (0, [])


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_jobs_that_are_no_number_are_refused(sessions: Sessions, jobs: str) -> None:
    ran = sessions.pytest("@one('T-ONE')\nasync def test_one(arena): pass", f"--hintbound-jobs={jobs}")
    assert (ran.code, ran.error) == (254, f"{jobs!r} is no number of jobs. Write 1 or more.")


def test_a_failure_inside_the_plugin_is_an_internal_error_and_no_verdict(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Session, "_start", broken)
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass")
    assert (ran.code, ran.run["verdict"]) == (255, "unknown")
    assert ran.run["reason"] == "internal error: the run is not to be relied on"
    assert ran.reason("T-ONE").startswith("not reached: internal error")


def test_a_terminal_is_told_what_goes_on(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena):\n    await asyncio.sleep(0.3)\n")
    assert ran.code == 0
    assert "judging, 0 of 1 done: T-ONE" in ran.out
    assert "\x1b[32mpass" in ran.out


def test_a_log_has_plain_lines(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass")
    assert "\x1b" not in ran.out
    assert "judging" not in ran.out
