"""Judging: the last step of `hintbound check`. A pure function from lives to tallies, and tallies add up,
so that parts of a record may be judged anywhere and in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from hintbound.checks import binding, churn, decisions, liveness, manners, ownership, preemption
from hintbound.checks.model import Check, Context, Unknown, Violation
from hintbound.checks.registry import Registered, checked, registered
from hintbound.errors import CannotStart, line_of, one_of
from hintbound.history.join import PodLife
from hintbound.protocol import Severity, Verdict

FAMILIES: Final = {
    "binding": binding.CHECKS,
    "ownership": ownership.CHECKS,
    "decisions": decisions.CHECKS,
    "preemption": preemption.CHECKS,
    "liveness": liveness.CHECKS,
    "churn": churn.CHECKS,
    "manners": manners.CHECKS,
}

MOST_SHOWN: Final = 100
"""So many violations of one check are kept with their proof; all are counted."""


@dataclass(slots=True)
class Tally:
    """What one check found in what it was given so far."""

    check: Check
    judged: int = 0
    """Lives that had in them what the sentence speaks of."""
    violations: int = 0
    shown: list[Violation] = field(default_factory=list)
    unknowns: Counter[str] = field(default_factory=Counter)
    """How often it could not tell, by reason."""

    def add(self, other: Tally) -> None:
        """Take in what the same check found elsewhere."""
        self.judged += other.judged
        self.violations += other.violations
        self.shown = (self.shown + other.shown)[:MOST_SHOWN]
        self.unknowns += other.unknowns

    @property
    def reasons(self) -> list[str]:
        """Why it cannot say that the sentence held, with counts; empty when it can."""
        if not self.judged and not self.unknowns:
            return [f"too little traffic: no {self.check.about} in the record"]
        return [f"{why} ({count} times)" if count > 1 else why for why, count in self.unknowns.most_common()]

    @property
    def verdict(self) -> Verdict:
        """A violation fails; a hazard is told, and fails nobody: it is legal."""
        if self.violations and self.check.severity is Severity.VIOLATION:
            return Verdict.FAIL
        return Verdict.UNKNOWN if self.reasons else Verdict.PASS


def ours() -> list[Check]:
    """Hintbound's own checks, family by family."""
    return [check for family in FAMILIES.values() for check in family]


def every() -> list[Registered]:
    """Hintbound's own checks and those of installed packages. Raises CannotStart."""
    checks = {check.name: Registered(check) for check in ours()}
    for extra in registered():
        if extra.extension and extra.check.name in checks:
            raise extra.extension.wrong("is a check of hintbound's own, too.")
        checks[extra.check.name] = extra
    return list(checks.values())


def chosen(names: Sequence[str] | None = None) -> list[Check]:
    """The checks and families of these names, or all. Raises CannotStart."""
    checks = {one.check.name: one.check for one in every()}
    found: dict[str, Check] = {}
    for name in checks if names is None else names:
        if name in FAMILIES:
            found.update((check.name, check) for check in FAMILIES[name])
        elif name in checks:
            found[name] = checks[name]
        else:
            raise one_of("check", name, [*FAMILIES, *checks])
    if not found:
        raise CannotStart("no check was asked for.", next_step="Leave --checks out to have all.")
    return list(found.values())


def tally(check: Check, lives: Sequence[PodLife], context: Context) -> Tally:
    """What a check finds in these lives. One that crashes has judged nothing, and says where it crashed."""
    found = Tally(check)
    try:
        concerned = [life for life in lives if check.concerns is None or check.concerns(life, context)]
        given: Iterable[object] = (
            check(tuple(lives), context)
            if check.each is None
            else chain.from_iterable(check.each(life, context) for life in concerned)
        )
        for told in map(checked, given):
            if isinstance(told, Unknown):
                found.unknowns[told.reason] += 1
                continue
            found.violations += 1
            if len(found.shown) < MOST_SHOWN:
                found.shown.append(told)
    except Exception as error:
        place = line_of(error, lambda frame: True)
        why = " ".join(str(error).split())
        return Tally(check, unknowns=Counter([f"the check crashed: {place}: {type(error).__name__}: {why}"]))
    found.judged = len(concerned)
    return found
