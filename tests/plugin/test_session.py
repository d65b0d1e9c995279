"""A whole run as a person sees it: verdicts, exit codes, lines on the console, run.json; stages are fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hintbound.errors import CannotStart
from hintbound.plugin import hooks
from tests.plugin.fakes import FakeStage
from tests.plugin.sessions import Sessions

ONE_OF_EACH = """
@one("T-PASS")
async def test_pass(arena):
    pass

@one("T-FAIL")
async def test_fail(arena):
    pod = await arena.pod()
    assert pod.name == "another", "it has the wrong name"

@one("T-UNPROVEN")
async def test_unproven(arena):
    raise Unproven("the fault never bit")

@one("T-UNSUPPORTED", applies="version(apiserver, '>=1.99')")
async def test_unsupported(arena):
    assert False

@one("T-SKIP", applies="gate(controller_manager, X)")
async def test_skip(arena):
    assert False
"""


def test_each_verdict_is_shown_and_recorded_with_its_reason(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hintbound.protocol import ComponentKind

    monkeypatch.setattr(FakeStage, "gates", {ComponentKind.APISERVER: {}})
    ran = sessions.run(ONE_OF_EACH)

    assert (ran.code, ran.run["verdict"]) == (1, "fail")
    assert ran.verdicts == {
        "T-PASS": "pass",
        "T-FAIL": "fail",
        "T-UNPROVEN": "unknown",
        "T-UNSUPPORTED": "not-supported",
        "T-SKIP": "skip",
    }
    assert ran.reason("T-FAIL") == "it has the wrong name (assert 'pod-1' == 'another')"
    assert ran.reason("T-UNPROVEN") == "the fault never bit"
    assert "cannot be read" in ran.reason("T-SKIP")
    lines = [line.split()[:2] for line in ran.out.splitlines()]
    for behaviour, verdict in ran.verdicts.items():
        assert [verdict, behaviour] in lines
    assert "    T-FAIL must.\n    it has the wrong name (assert" in ran.out
    assert "verdict: fail (1 pass, 1 fail, 1 unknown, 1 skip, 1 not-supported) in" in ran.out
    assert ran.out.splitlines()[-1] == f"report: {ran.folder}/report.md"
    assert (sessions.reports / "latest").resolve() == ran.folder


def test_a_failure_carries_evidence_and_the_command_that_repeats_it(sessions: Sessions) -> None:
    ran = sessions.run(ONE_OF_EACH, "--behaviour", "T-FAIL")
    (outcome,) = ran.run["outcomes"]
    assert outcome["evidence"][0] == "it has the wrong name"
    assert any(line.startswith("pod pod-1 (uid u") for line in outcome["evidence"])
    assert outcome["severity"] == "violation"
    suite = sessions.folder / "suite" / "test_it.py"
    assert outcome["repro"] == (f"hintbound run {suite} --cluster embedded --profile all --behaviour T-FAIL")


@pytest.mark.parametrize(
    ("source", "code", "verdict"),
    [
        ("pass", 0, "pass"),
        ("assert 1 == 2", 1, "fail"),
        ("raise NotSeen('it never came')", 1, "fail"),
        ("pytest.fail('said the test')", 1, "fail"),
        ("raise Unproven('too little traffic')", 2, "unknown"),
        ("raise RuntimeError('a bug')", 2, "unknown"),
        ("await asyncio.sleep(9)", 2, "unknown"),
        ("pytest.skip('not here')", 2, "unknown"),
    ],
)
def test_the_exit_code_says_what_was_proven(sessions: Sessions, source: str, code: int, verdict: str) -> None:
    ran = sessions.run(f"@one('T-ONE', deadline=0.3)\nasync def test_one(arena):\n    {source}\n")
    assert (ran.code, ran.run["verdict"]) == (code, verdict)
    assert [stage.closed for stage in sessions.stages] == [1]


def test_a_run_that_judged_nothing_says_so(sessions: Sessions) -> None:
    ran = sessions.run("@one('T-ONE', applies='gate(apiserver, X)')\nasync def test_one(arena): pass\n")
    assert (ran.code, ran.run["reason"]) == (
        2,
        "nothing was judged: every behaviour was skipped or is not supported",
    )
    assert "verdict: unknown, nothing was judged" in ran.out


def test_verdicts_stand_in_the_order_of_the_tests(sessions: Sessions) -> None:
    ran = sessions.run(
        """
        @one("T-SLOW")
        async def test_slow(arena):
            await asyncio.sleep(0.1)

        @one("T-ALONE", exclusive=True)
        async def test_alone(arena):
            assert arena.cluster == "exclusive"

        @one("T-QUICK")
        async def test_quick(arena):
            assert arena.cluster == "shared"
        """
    )
    assert list(ran.verdicts) == ["T-SLOW", "T-ALONE", "T-QUICK"]
    assert ran.code == 0, ran.out
    assert sorted(stage.name for stage in sessions.stages) == ["exclusive", "shared"]


def test_an_existing_cluster_is_started_once_whatever_is_exclusive(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeStage, "capabilities", frozenset())
    source = """
        @one("T-ALONE", exclusive=True)
        async def test_alone(arena): pass

        @one("T-SHARED")
        async def test_shared(arena): pass
        """
    ran = sessions.run(source, "--cluster", "existing:mine")
    assert ran.verdicts == {"T-ALONE": "skip", "T-SHARED": "pass"}
    assert [stage.name for stage in sessions.stages] == ["shared"]


def test_on_a_cluster_that_is_there_once_what_is_exclusive_comes_last(sessions: Sessions) -> None:
    source = """
        ended = []

        @one("T-ALONE", exclusive=True)
        async def test_alone(arena):
            assert sorted(ended) == ["one", "two"]

        @one("T-SHARED")
        async def test_one(arena):
            await asyncio.sleep(0.05)
            ended.append("one")

        @one("T-SHARED-TOO")
        async def test_two(arena):
            ended.append("two")
        """
    ran = sessions.run(source, "--cluster", "kind:cluster=theirs")
    assert set(ran.verdicts.values()) == {"pass"}, ran.out
    assert [stage.name for stage in sessions.stages] == ["shared"]


def test_clusters_that_are_kept_are_told_with_how_to_end_them(sessions: Sessions) -> None:
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass\n", "--keep")
    assert (
        "note: shared was kept: export KUBECONFIG=$(hintbound cluster kubeconfig run-shared); "
        "it ends with `hintbound cluster down run-shared`" in ran.out
    )
    assert sessions.run("@one('T-ONE')\nasync def test_one(arena): pass\n").run["notes"] == []


@pytest.mark.parametrize(
    ("play", "spoiled"),
    [("pass", False), ("assert False", True), ("raise Unproven('x')", True), ("pytest.skip('x')", False)],
)
def test_a_stage_knows_when_its_logs_are_worth_having(sessions: Sessions, play: str, spoiled: bool) -> None:
    sessions.run(f"@one('T-ONE')\nasync def test_one(arena): {play}\n")
    assert [stage.spoiled for stage in sessions.stages] == [spoiled]


def test_each_stage_gets_what_the_behaviours_that_are_played_on_it_need(sessions: Sessions) -> None:
    sessions.run("""
        @one("T-ALONE", exclusive=True, needs=["AUDIT"])
        async def test_alone(arena): pass

        @one("T-SHARED", needs=["FAULTY_SCHEDULER"])
        async def test_shared(arena): pass
        """)
    assert {stage.name: set(stage.needs) for stage in sessions.stages} == {
        "shared": {"FAULTY_SCHEDULER"},
        "exclusive": {"AUDIT"},
    }


def test_tests_that_are_no_behaviours_run_too_and_count(sessions: Sessions) -> None:
    ran = sessions.run(
        """
        def test_fine(tmp_path): pass
        def test_broken(): assert 1 == 2, "plainly"
        def test_left_out(): pytest.skip("not today")
        @one("T-PASS")
        async def test_pass(arena): pass
        """
    )
    assert (ran.code, ran.verdicts) == (1, {"T-PASS": "pass"})
    assert "tests that are no behaviours: 1 failed, 1 passed, 1 skipped" in ran.out
    assert "AssertionError: plainly" in ran.out
    assert "test_it.py::test_broken" in ran.out


def test_without_behaviours_no_control_plane_is_started(sessions: Sessions) -> None:
    ran = sessions.run("def test_fine(): pass")
    assert (ran.code, ran.folder, sessions.stages) == (0, None, [])


@pytest.mark.parametrize("source", ["async def test_it(arena): pass", "def test_it(arena): pass"])
def test_a_forgotten_decorator_is_named(sessions: Sessions, source: str) -> None:
    ran = sessions.run(source)
    assert ran.code == 1
    assert "`arena` is for tests with @behaviour only: put the decorator on it" in ran.out


REFUSED = {
    "two tests with one id": (
        "@one('T-ONE')\nasync def test_a(arena): pass\n@one('T-ONE')\nasync def test_b(arena): pass",
        "behaviour T-ONE stands on two tests: ",
    ),
    "a parametrized behaviour": (
        "@pytest.mark.parametrize('arena', [1, 2])\n@one('T-ONE')\nasync def test_a(arena): pass",
        "One behaviour is one test: give one of them another id (a parametrized test cannot be one).",
    ),
    "a behaviour that takes a fixture": (
        "@one('T-ONE')\nasync def test_a(arena, tmp_path): pass",
        "behaviour T-ONE: test_a takes (arena, tmp_path); write (arena).",
    ),
    "a behaviour that uses a fixture": (
        "@pytest.mark.usefixtures('tmp_path')\n@one('T-ONE')\nasync def test_a(arena): pass",
        "behaviour T-ONE uses the fixtures tmp_path",
    ),
    "two tests with one id, by their lines": (
        "@one('T-ONE')\nasync def test_a(arena): pass\n@one('T-ONE')\nasync def test_b(arena): pass",
        "test_it.py:8 (test_a) and ",
    ),
    "an applies that contradicts itself, by its line": (
        "\n\n@behaviour('T-ONE', must='It.', why='It.', source='x',\n"
        "    applies='gate(scheduler, X) and not gate(scheduler, X)')\n"
        "async def test_a(arena): pass",
        "test_it.py:10: ValueError: behaviour T-ONE: applies='gate(scheduler, X) and not gate(scheduler, X)' "
        "never holds: gate(scheduler, X) and not gate(scheduler, X) are never true together.",
    ),
    "a suite that breaks off, by its line": ("X = 1\nX.no_such", "test_it.py:9: AttributeError: "),
    "a suite that is no Python, by its line": ("X = 1\ndef (:", "test_it.py:9: "),
    "an applies that is no condition": (
        "@one('T-ONE', applies='gate(kubelet, X)')\nasync def test_a(arena): pass",
        "kubelet is none of apiserver, scheduler, controller_manager",
    ),
    "a suite that cannot be imported": ("import no_such_module", "No module named 'no_such_module'"),
    "a suite that is no Python": ("def (:", "SyntaxError"),
    "a suite without tests": ("X = 1", "nothing to judge: no behaviour of profile 'all' there. Try"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_judged_ends_in_one_clear_line_before_anything_starts(
    sessions: Sessions, case: str
) -> None:
    source, said = REFUSED[case]
    ran = sessions.run(source)
    assert ran.code == 254
    assert said in ran.error
    assert "\n" not in ran.error
    assert (sessions.stages, ran.folder) == ([], None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--behaviour", "T-OEN"],
            "unknown behaviour 'T-OEN'. Did you mean 'T-ONE'? `hintbound list",
        ),
        (
            ["--profile", "cor"],
            "unknown profile 'cor'. Did you mean 'core'? Known: core, extended, all, regressions.",
        ),
        (["--cluster", "imbedded"], "unknown cluster provider 'imbedded'."),
        (["--cluster", "embedded:1.35,SomeGate=maybe"], "gate SomeGate='maybe' is no boolean."),
    ],
)
def test_an_unknown_name_is_answered_with_the_right_ones(
    sessions: Sessions, options: list[str], said: str
) -> None:
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass", *options)
    assert (ran.code, sessions.stages) == (254, [])
    assert ran.error.startswith(said)


def test_a_behaviour_is_found_however_its_id_is_written(sessions: Sessions) -> None:
    ran = sessions.run(ONE_OF_EACH, "--behaviour", "t-pass", "--behaviour", "T-Unproven")
    assert list(ran.verdicts) == ["T-PASS", "T-UNPROVEN"]


@pytest.mark.parametrize(("path", "said"), [("nowhere", "no such suite: nowhere."), ("", "no such suite: .")])
def test_a_path_that_does_not_exist_is_named(sessions: Sessions, path: str, said: str) -> None:
    ran = sessions.run("", paths=[path])
    assert (ran.code, ran.error[: len(said)]) == (254, said)


def test_a_test_that_does_not_exist_is_named(sessions: Sessions) -> None:
    ran = sessions.run("def test_a(): pass", paths=[str(sessions.folder / "suite/test_it.py::test_nope")])
    assert ran.code == 254
    assert ran.error.startswith("not found: ")
    assert "test_it.py::test_nope. See `hintbound list behaviours`" in ran.error


def test_a_run_that_cannot_start_says_so_and_leaves_a_record_that_says_unknown(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeStage, "cannot_start", CannotStart("kube-scheduler rejects a gate."))
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass")
    assert (ran.code, ran.error) == (254, "kube-scheduler rejects a gate.")
    assert (ran.run["verdict"], ran.run["reason"]) == (
        "unknown",
        "could not start: kube-scheduler rejects a gate.",
    )
    assert ran.run["finished"]
    assert not (sessions.reports / "latest").exists(), "it cannot be compared with anything"


def test_reports_that_can_no_longer_be_written_are_told_once(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise CannotStart("the disk is full.")

    monkeypatch.setattr("hintbound.plugin.session.write_all", full)
    source = "@one('T-ONE')\nasync def test_one(arena): pass"
    ran = sessions.run(source)
    assert (ran.code, ran.error) == (254, "the disk is full.")
    assert "full" not in ran.out + ran.err, "the command tells it"
    plain = sessions.pytest(source)
    assert plain.code == 254
    assert (plain.out + plain.err).count("the disk is full") == 1


def test_reports_that_cannot_be_written_end_in_one_clear_line(sessions: Sessions) -> None:
    sessions.reports.write_text("a file")
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass")
    assert ran.code == 254
    assert ran.error.startswith(f"the report folder {sessions.reports} cannot be written")
    assert sessions.stages == []


def test_a_skip_mark_is_a_skip_and_a_fixture_that_fails_is_unknown(sessions: Sessions) -> None:
    ran = sessions.run(
        """
        @pytest.fixture(autouse=True)
        def broken(request):
            if "broken" in request.node.name:
                raise OSError("the fixture broke")

        @pytest.mark.skip(reason="not this week")
        @one("T-SKIPPED")
        async def test_skipped(arena): pass

        @one("T-BROKEN")
        async def test_broken(arena): pass
        """
    )
    assert ran.verdicts == {"T-SKIPPED": "skip", "T-BROKEN": "unknown"}
    assert ran.reason("T-SKIPPED") == "not asked for its verdict: not this week"
    assert ran.reason("T-BROKEN") == "not asked for its verdict: setup failed: OSError: the fixture broke"


def test_the_fence_breaks_off_a_scenario_that_holds_up_the_loop_and_the_run_still_ends(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "FENCE", 0.3)
    ran = sessions.run(
        """
        @one("T-BLOCKS", deadline=0.2)
        async def test_blocks(arena):
            await asyncio.sleep(0.01)  # as if a request had been made
            time.sleep(60)

        @one("T-NEXT")
        async def test_next(arena): pass
        """,
        "--jobs",
        "1",
    )
    assert ran.verdicts == {"T-BLOCKS": "unknown", "T-NEXT": "pass"}
    assert ran.reason("T-BLOCKS").startswith("the scenario held up everything, its own deadline too")
    assert (ran.code, [stage.closed for stage in sessions.stages]) == (2, [1])
    (stage,) = sessions.stages
    assert stage.namespaces("create") == stage.namespaces("delete")


def test_the_fence_ends_the_waiting_for_a_verdict_that_never_comes(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "FENCE", 0.2)
    monkeypatch.setattr("hintbound.plugin.engine._flaws", lambda _arena, _error: asyncio.Event().wait())
    ran = sessions.run("@one('T-ONE', deadline=0.2)\nasync def test_one(arena): pass")
    assert (ran.code, ran.verdicts) == (2, {"T-ONE": "unknown"})
    assert ran.reason("T-ONE").startswith("no verdict came in time: ")


def test_a_reader_that_goes_away_changes_no_verdict(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    def gone(_: Console) -> None:
        raise BrokenPipeError

    silenced: list[int] = []
    monkeypatch.setattr(Console, "_write_buffer", gone)
    monkeypatch.setattr("os.dup2", lambda source, _target: silenced.append(source))
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1, raising=False)
    ran = sessions.run(ONE_OF_EACH, "--behaviour", "T-FAIL")
    assert (ran.code, bool(silenced)) == (1, True)


def test_the_environments_pytest_options_change_nothing(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena): pass")
    assert ran.code == 0
    import os

    assert os.environ["PYTEST_ADDOPTS"] == "--no-such-option"


def test_the_reports_folder_can_be_named_by_the_environment(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hintbound.plugin import selection

    monkeypatch.setenv("HINTBOUND_REPORTS", str(tmp_path / "there"))
    assert selection._default_reports() == tmp_path / "there"
