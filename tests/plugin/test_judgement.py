"""How the end of a scenario becomes a verdict."""

from __future__ import annotations

import asyncio

import pytest

from hintbound.errors import CannotStart
from hintbound.plugin.judgement import (
    LONGEST_LINE,
    DeadlinePassed,
    NotSeen,
    Unproven,
    judge,
    leading,
    sentence,
)
from hintbound.protocol import Verdict

FLAW = "the watch recorder had a gap"
FENCE = pytest.fail.Exception("Timeout (>105.0s) from pytest-timeout.")


@pytest.mark.parametrize(
    ("raised", "flaws", "verdict"),
    [
        (None, [], Verdict.PASS),
        (None, [FLAW], Verdict.UNKNOWN),
        (AssertionError("bound to the wrong node"), [], Verdict.FAIL),
        (AssertionError("bound to the wrong node"), [FLAW], Verdict.FAIL),
        (NotSeen("awaited: pod-1 to be bound"), [], Verdict.FAIL),
        (NotSeen("awaited: pod-1 to be bound"), [FLAW], Verdict.UNKNOWN),
        (Unproven("the fault never bit"), [], Verdict.UNKNOWN),
        (CannotStart("no such version"), [], Verdict.UNKNOWN),
        (DeadlinePassed("its deadline passed"), [], Verdict.UNKNOWN),
        (TimeoutError(), [], Verdict.UNKNOWN),
        (RuntimeError("a bug"), [], Verdict.UNKNOWN),
        (KeyError("x"), [], Verdict.UNKNOWN),
        (SystemExit(3), [], Verdict.UNKNOWN),
        (asyncio.CancelledError(), [], Verdict.UNKNOWN),
        (FENCE, [], Verdict.UNKNOWN),
        (pytest.fail.Exception("said the test"), [], Verdict.FAIL),
        (pytest.skip.Exception("not here"), [], Verdict.SKIP),
        (
            ExceptionGroup("", [RuntimeError("a bug"), NotSeen("n"), AssertionError("a")]),
            [FLAW],
            Verdict.FAIL,
        ),
        (ExceptionGroup("", [RuntimeError("a bug"), NotSeen("n")]), [], Verdict.FAIL),
        (ExceptionGroup("", [ExceptionGroup("", [NotSeen("n")])]), [FLAW], Verdict.UNKNOWN),
    ],
)
def test_every_end_has_its_verdict(raised: BaseException | None, flaws: list[str], verdict: Verdict) -> None:
    found, reason = judge(raised, flaws)
    assert found is verdict
    assert bool(reason) is (verdict is not Verdict.PASS)
    assert "\n" not in reason


def test_the_reason_of_an_unknown_tells_the_flaws_too() -> None:
    assert judge(NotSeen("awaited: a"), [FLAW])[1] == f"awaited: a; {FLAW}"
    assert (
        judge(RuntimeError("a bug"), [FLAW])[1] == f"the scenario broke off with RuntimeError: a bug; {FLAW}"
    )


def test_a_broken_sentence_decides_before_anything_else_that_went_wrong() -> None:
    broken = AssertionError("broken")
    assert leading(ExceptionGroup("", [KeyError("x"), ExceptionGroup("", [broken])])) is broken


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("assert 'n1' == 'n2'\n  \n  - n2\n  + n1", "assert 'n1' == 'n2'"),
        (
            "the rival took it\nassert 'nodeName' not in {...}",
            "the rival took it (assert 'nodeName' not in {...})",
        ),
        ("awaited 422, got 200", "awaited 422, got 200"),
        ("two\n  lines", "two lines"),
        ("", "an assertion without words failed"),
    ],
)
def test_the_reason_of_an_assertion_is_one_readable_line(said: str, line: str) -> None:
    assert sentence(AssertionError(said)) == line


def test_a_reason_has_a_bearable_length() -> None:
    assert len(judge(AssertionError("x" * 5000))[1]) == LONGEST_LINE
