"""How the end of a scenario becomes a verdict: the only place that decides it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from hintbound.errors import CannotStart
from hintbound.protocol import Seconds, Verdict
from hintbound.report.model import ExpectedFailure


class NotSeen(AssertionError):
    """An awaited protocol event did not come: says what was awaited, for how long, and what came instead."""


class Unproven(Exception):
    """The scenario could not show what it is about: the verdict is unknown, never pass."""


class DeadlinePassed(Exception):
    """The scenario took longer than its deadline: says what it was awaiting."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one scenario came to."""

    verdict: Verdict
    reason: str = ""
    duration: Seconds = 0.0
    namespace: str = ""
    cluster: str = ""
    evidence: tuple[str, ...] = ()
    own_components: tuple[str, ...] = ()
    """Components of its own that it was played on."""
    error: BaseException | None = None
    """What the test raised, for the traceback."""
    expected: ExpectedFailure | None = None
    """A failure that was expected."""
    elsewhere: bool = False
    """A skip: it is about what the cluster has none of; see Outcome."""


def judge(raised: BaseException | None, flaws: Sequence[str] = ()) -> tuple[Verdict, str]:
    """The verdict of a scenario that ended with this error (or none), and its reason in one line.

    `flaws`: what is wrong with its record, and components that died by themselves. A broken sentence stays
    broken whatever the recorders missed; but that an awaited event never came proves nothing then. A
    sentence that held counts only without flaws.
    """
    error = leading(raised)
    if error is None:
        return (Verdict.UNKNOWN, "; ".join(flaws)) if flaws else (Verdict.PASS, "")
    if isinstance(error, NotSeen) and not flaws:
        return Verdict.FAIL, _line(str(error))
    if isinstance(error, AssertionError) and not isinstance(error, NotSeen):
        return Verdict.FAIL, sentence(error)
    if isinstance(error, pytest.fail.Exception) and not _from_fence(error):
        return Verdict.FAIL, _line(str(error)) or "it failed without words"
    if isinstance(error, pytest.skip.Exception):
        return Verdict.SKIP, _line(str(error)) or "skipped by the test without words"
    return Verdict.UNKNOWN, "; ".join([_unknown(error), *flaws])


def leading(raised: BaseException | None) -> BaseException | None:
    """The one error of a group (as TaskGroup raises it) that decides: a broken sentence before all others."""
    if not isinstance(raised, BaseExceptionGroup):
        return raised
    members = [leading(member) for member in raised.exceptions]
    broken = [m for m in members if isinstance(m, AssertionError) and not isinstance(m, NotSeen)]
    unseen = [m for m in members if isinstance(m, NotSeen)]
    return (broken or unseen or members)[0]


def sentence(error: AssertionError) -> str:
    """One readable line out of what pytest makes of a failed assertion: the test's words, then the
    comparison."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for position, line in enumerate(lines):
        if line.startswith("assert "):
            words = _line(" ".join(lines[:position]))
            return f"{words} ({_line(line)})" if words else _line(line)
    return _line(" ".join(lines)) or "an assertion without words failed"


def _unknown(error: BaseException) -> str:
    if isinstance(error, NotSeen | Unproven | DeadlinePassed):
        return _line(str(error)) or type(error).__name__
    if isinstance(error, CannotStart):
        return f"the stage could not be set: {_line(str(error))}"
    if isinstance(error, asyncio.CancelledError):
        return "the scenario was cancelled from within"
    if _from_fence(error):
        return (
            f"the scenario held up everything, its own deadline too, and was broken off: {_line(str(error))}"
        )
    return f"the scenario broke off with {type(error).__name__}: {_line(str(error))}".removesuffix(": ")


def _from_fence(error: BaseException) -> bool:
    """Whether pytest-timeout raised it: its signal hits whatever runs at that moment."""
    return isinstance(error, pytest.fail.Exception) and "from pytest-timeout" in str(error)


LONGEST_LINE = 600


def _line(text: str) -> str:
    """Text of any length as one line of a bearable one."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_LINE else f"{words[: LONGEST_LINE - 1]}…"
