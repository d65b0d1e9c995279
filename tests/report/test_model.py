from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from hintbound.errors import CannotStart
from hintbound.protocol import Level, Verdict
from hintbound.report import (
    ExpectedFailure,
    ProfileResult,
    Run,
    Statistics,
    profile_result,
    run_json,
    run_verdict,
)
from tests.report.runs import one_of_each, outcome, run

PASS, FAIL, UNKNOWN, SKIP, NOT = (
    Verdict.PASS,
    Verdict.FAIL,
    Verdict.UNKNOWN,
    Verdict.SKIP,
    Verdict.NOT_SUPPORTED,
)

KNOWN = ExpectedFailure("We know.", "2999-12-31", "https://example.com/17", "xfails.yaml:4")


def test_run_json_reads_back_equal(tmp_path: Path) -> None:
    written = one_of_each()
    (tmp_path / "run.json").write_text(run_json.write(written))

    assert run_json.read(tmp_path) == written
    assert run_json.read(tmp_path / "run.json") == written


def test_the_verdict_stands_in_the_first_lines_of_run_json() -> None:
    assert '"verdict": "fail"' in run_json.write(one_of_each()).splitlines()[3]


def test_a_field_of_a_later_version_is_passed_over() -> None:
    record = orjson.loads(run_json.write(one_of_each()))
    record["later"] = record["outcomes"][0]["later"] = record["clusters"][0]["components"][0]["later"] = [1]

    assert Run.from_json(record) == one_of_each()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is no record of a run"),
        ('{"format": "other/v9"}', "its format is 'other/v9'"),
        ('{"format": "hintbound.dev/run/v1alpha1"}', "damaged: KeyError: 'verdict'"),
        (run_json.write(one_of_each()).replace('"fail"', '"nope"'), "damaged: ValueError: 'nope'"),
    ],
)
def test_a_run_json_that_cannot_be_read_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(text)

    with pytest.raises(CannotStart, match=f"^{file}.*{message}"):
        run_json.read(file)


def test_an_absent_run_json_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"run\.json cannot be read: No such file"):
        run_json.read(tmp_path)


@pytest.mark.parametrize(
    ("verdicts", "result"),
    [
        ([PASS, PASS], ProfileResult.SUCCESS),
        ([PASS, NOT], ProfileResult.SUCCESS),
        ([PASS, SKIP], ProfileResult.PARTIAL),
        ([PASS, UNKNOWN], ProfileResult.PARTIAL),
        ([PASS, SKIP, FAIL], ProfileResult.FAILURE),
        ([NOT], ProfileResult.PARTIAL),
        ([], ProfileResult.PARTIAL),
    ],
)
def test_one_skipped_or_unjudged_behaviour_makes_a_profile_partial(
    verdicts: list[Verdict], result: ProfileResult
) -> None:
    assert profile_result([outcome(verdict) for verdict in verdicts]) is result


def test_what_is_about_things_that_the_cluster_has_none_of_makes_no_profile_partial() -> None:
    absent = outcome(SKIP, elsewhere=True)

    assert run(outcome(PASS), absent).result(Level.CORE) is ProfileResult.SUCCESS
    assert run(outcome(PASS), absent, outcome(SKIP)).result(Level.CORE) is ProfileResult.PARTIAL
    assert run(absent).why_partial(Level.CORE) == "nothing was judged"
    assert Statistics.of([absent]).skipped == 1


@pytest.mark.parametrize(
    "about", [{"reason": "interrupted"}, {"finished": ""}, {"selection": ("suites/scheduler",)}]
)
def test_a_run_that_is_not_whole_proves_no_profile(about: dict[str, object]) -> None:
    whole = run(outcome(PASS), outcome(FAIL, level=Level.EXTENDED))
    part = replace(whole, **about)  # type: ignore[arg-type]

    assert whole.result(Level.CORE) is ProfileResult.SUCCESS
    assert part.result(Level.CORE) is ProfileResult.PARTIAL
    assert part.result(Level.EXTENDED) is ProfileResult.FAILURE


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [([PASS, SKIP], PASS), ([PASS, UNKNOWN], UNKNOWN), ([FAIL, UNKNOWN], FAIL), ([], UNKNOWN)],
)
def test_a_run_is_as_bad_as_its_worst_behaviour(verdicts: list[Verdict], verdict: Verdict) -> None:
    assert run_verdict([outcome(each) for each in verdicts]) is verdict


def test_statistics_count_every_verdict() -> None:
    assert Statistics.of(one_of_each().outcomes) == Statistics(1, 1, 1, 1, 1)
    assert [number for _, number in Statistics.of([outcome(PASS)]).items()] == [1, 0, 0, 0, 0, 0]
    assert Statistics.of([outcome(FAIL), outcome(FAIL, expected=KNOWN)]) == Statistics(failed=1, expected=1)


def test_an_expected_failure_counts_as_pass_in_the_run_and_never_as_success_of_a_level() -> None:
    known = outcome(FAIL, expected=KNOWN)

    assert run_verdict([known]) is PASS
    assert run_verdict([known, outcome(FAIL)]) is FAIL
    assert profile_result([known, outcome(PASS)]) is ProfileResult.PARTIAL
    assert profile_result([known, outcome(FAIL)]) is ProfileResult.FAILURE
    assert run(known).why_partial(Level.CORE) == "what failed is not conformant, expected or not"
    assert run(known, outcome(SKIP)).why_partial(Level.CORE) == (
        "what failed is not conformant, expected or not; "
        "what was skipped or could not be judged is not proven"
    )


def test_what_was_expected_survives_its_file() -> None:
    written = run(outcome(FAIL, expected=KNOWN))

    assert Run.from_json(orjson.loads(run_json.write(written))).outcomes == written.outcomes
