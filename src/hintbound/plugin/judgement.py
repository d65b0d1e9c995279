"""How the end of a scenario becomes a verdict: the only place that decides it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hintbound.errors import CannotStart
from hintbound.protocol import Seconds, Verdict


class NotSeen(AssertionError):
    """An awaited protocol event did not come: says what was awaited, for how long, and what came instead."""


class Unproven(Exception):
    """The scenario could not show what it is about: the verdict is unknown, never pass."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one scenario came to."""

    verdict: Verdict
    reason: str = ""
    duration: Seconds = 0.0
    namespace: str = ""
    cluster: str = ""
    evidence: tuple[str, ...] = ()
    error: BaseException | None = None
    """What the test raised, for the traceback."""


def judge(error: BaseException | None, flaws: tuple[str, ...]) -> tuple[Verdict, str]:
    """The verdict of a scenario that ended with this error (or none) and whose record has these flaws.

    A broken sentence stays broken whatever the recorders missed, unless the flaw (a component that died by itself) may
    be why an awaited event never came. A sentence that held counts only on a whole record.
    """
    if isinstance(error, NotSeen) and flaws:
        return Verdict.UNKNOWN, f"{error} But the record is not whole: {'; '.join(flaws)}."
    if isinstance(error, AssertionError):
        return Verdict.FAIL, _first_lines(error)
    if isinstance(error, Unproven):
        return Verdict.UNKNOWN, str(error)
    if isinstance(error, CannotStart):
        return Verdict.UNKNOWN, f"the stage could not be set: {error}"
    if isinstance(error, TimeoutError):
        return Verdict.UNKNOWN, str(error) or "the scenario's deadline passed"
    if isinstance(error, asyncio.CancelledError):
        return Verdict.UNKNOWN, "interrupted"
    if error is not None:
        return Verdict.UNKNOWN, f"the scenario broke off with {type(error).__name__}: {error}"
    if flaws:
        return Verdict.UNKNOWN, "; ".join(flaws)
    return Verdict.PASS, ""


def _first_lines(error: AssertionError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:4]) or "an assertion without words failed"
