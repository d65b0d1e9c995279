"""Judging: the last step of `hintbound check`. A pure function from lives to tallies, and tallies add up,
so that parts of a record may be judged anywhere and in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
        self.shown = _earliest(self.shown + other.shown)
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
    """What a check finds in a record. Where it crashes it has judged nothing, and says where it crashed."""
    found = Tally(check)
    for life in lives:
        add_life(found, life, context)
    if together(check, context):
        add_unit(found, lives, context)
    found.shown = _earliest(found.shown)
    return found


def add_life(found: Tally, life: PodLife, context: Context) -> bool:
    """Judge one life, and count it if the sentence concerns it; whether it does. What must be judged
    together with others is only counted."""
    check = found.check
    try:
        if check.concerns is not None and not check.concerns(life, context):
            return False
        if check.without_setting and context.setting is None:
            found.unknowns[check.without_setting] += 1
        elif check.each is not None:
            for told in check.each(life, context):
                if type(told) is Unknown:
                    found.unknowns[told.reason] += 1
                else:
                    _take(found, (told,))
    except Exception as error:
        crashed(found, error)
        return False
    found.judged += 1
    return True


def add_by_traits(found: Tally, told: bool | Unknown, count: int, context: Context) -> None:
    """Count lives of which their traits told enough (`Check.by_traits`)."""
    if told is False:
        return
    if reason := found.check.without_setting if context.setting is None else "":
        found.unknowns[reason] += count
    elif isinstance(told, Unknown):
        found.unknowns[told.reason] += count
    found.judged += count


def together(check: Check, context: Context) -> bool:
    """Whether a check must be given lives together."""
    return check.each is None and not (check.without_setting and context.setting is None)


def add_unit(found: Tally, lives: Sequence[PodLife], context: Context) -> None:
    """Judge lives together, which were counted before."""
    with crashes_of(found):
        _take(found, found.check(tuple(lives), context))


@contextmanager
def crashes_of(found: Tally) -> Iterator[None]:
    """Where a check crashes meanwhile, it cannot tell, and says where it crashed."""
    try:
        yield
    except Exception as error:
        crashed(found, error)


def _take(found: Tally, given: Iterable[object]) -> None:
    for told in given:
        sure = checked(told)
        if isinstance(sure, Unknown):
            found.unknowns[sure.reason] += 1
            continue
        found.violations += 1
        found.shown.append(sure)
        if len(found.shown) > 2 * MOST_SHOWN:
            found.shown = _earliest(found.shown)


def _earliest(shown: Iterable[Violation]) -> list[Violation]:
    """The same ones, in whatever order they were found."""
    return sorted(shown, key=lambda violation: (violation.time, violation.said))[:MOST_SHOWN]


def crashed(found: Tally, error: Exception) -> None:
    """Note that a check crashed, and where: of what it was given it cannot tell."""
    why = " ".join(str(error).split())
    place = line_of(error, lambda frame: True)
    found.unknowns[f"the check crashed: {place}: {type(error).__name__}: {why}"] += 1
