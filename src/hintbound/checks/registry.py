"""Which checks there are, and what they find in a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hintbound.checks.model import Check, Context, Proof, Unknown, Violation, event_of
from hintbound.errors import line_of
from hintbound.extensions import Extension, Group, installed
from hintbound.history.events import Event
from hintbound.history.join import PodLife


@dataclass(frozen=True, slots=True)
class Registered:
    """A check and the package that brings it."""

    check: Check
    extension: Extension | None = None
    """None for hintbound's own."""

    def __str__(self) -> str:
        """For what went wrong with it."""
        whose = f" of {self.extension.distribution}" if self.extension else ""
        return f"the check {self.check.name}{whose}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence that a record breaks."""

    check: Check
    violation: Violation
    excuse: str = ""
    """Why it fails nobody; empty when it does."""

    def __str__(self) -> str:
        """For reasons: what was found, and the sentence that it breaks."""
        return f"the check {self.check.name} found: {self.violation.said} (must: {self.check.must})"

    def lines(self) -> Iterator[str]:
        """For evidence: the same and its proof, a line each."""
        yield f"{self.check.severity}: {self}{f'; it fails nobody: {self.excuse}' if self.excuse else ''}"
        for proof in self.violation.proof:
            event = event_of(proof)
            where = f"+{event.mono:.3f} s of the run, line {event.index + 1} of history.ndjson"
            yield f"  {where}: {_told(proof)}"


class ChecksFailed(AssertionError):
    """Sentences of checks are broken: a failure of the behaviour whose scenario made the record."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        more = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
        super().__init__(f"{findings[0]}{more}")


def registered() -> list[Registered]:
    """The checks of every installed package. Raises CannotStart for one that is none."""
    return [Registered(load(extension), extension) for extension in installed(Group.CHECKS)]


def load(extension: Extension) -> Check:
    """The check that an entry point stands for. Raises CannotStart."""
    found = extension.load()
    if not isinstance(found, Check):
        raise extension.wrong(f"is {type(found).__name__}, no check: put @check on the function.")
    if found.name != extension.name:
        raise extension.wrong(f"is a check that calls itself {found.name!r}.")
    return found


def judge(
    checks: Sequence[Registered], lives: Sequence[PodLife], context: Context
) -> tuple[list[Finding], list[str]]:
    """What the checks find in a record, and which of them cannot tell, or crashed, with why: those have
    judged nothing.

    Hintbound's own are about everything that may happen, of which little does in one record; so it is no
    matter when one of those cannot tell.
    """
    findings: list[Finding] = []
    untold: list[str] = []
    lives = tuple(lives)  # none takes from those that come after it
    for one in checks:
        try:
            told = list(map(checked, one.check(lives, context)))
            findings += [Finding(one.check, found) for found in told if isinstance(found, Violation)]
            reasons = dict.fromkeys(found.reason for found in told if isinstance(found, Unknown))
            untold += [f"{one} cannot tell: {reason}" for reason in reasons if one.extension]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also what is no Exception: SystemExit, pytest.fail
            place = one.extension.place(error) if one.extension else line_of(error, lambda frame: True)
            untold.append(
                f"{one} crashed: "
                f"{f'{place}: ' if place else ''}{type(error).__name__}: {' '.join(str(error).split())}"
            )
    return findings, untold


def checked(found: object) -> Violation | Unknown:
    """What a check gave, which may be anything. Raises TypeError for what it must not give."""
    if isinstance(found, Unknown):
        return found
    if not isinstance(found, Violation):
        raise TypeError(f"it gave {type(found).__name__}, no Violation")
    for proof in found.proof:
        if not isinstance(proof, Proof):
            raise TypeError(f"it proved a violation by {type(proof).__name__}, nothing of the record")
    return found


def _told(proof: Proof) -> str:
    """A proof as it tells itself; an event has no words of its own."""
    if isinstance(proof, Event):
        return " ".join(filter(None, (proof.kind, proof.resource, proof.name)))
    return str(proof)
