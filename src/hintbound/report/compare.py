"""What differs between two sets of verdicts: which sentences hold in one and not in the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from hintbound.protocol import Verdict
from hintbound.report.model import Outcome


class Turn(StrEnum):
    """How a behaviour's verdict changes, the worst first."""

    BREAKS = "breaks"
    """It held, or did not apply, and is broken."""
    HEALS = "heals"
    """It was broken and holds."""
    ENDS = "no longer applies"
    """It held or was broken, and the other's versions and gates make it void."""
    BEGINS = "begins to apply"
    """It was void and holds."""
    UNCLEAR = "cannot be compared"
    """One of the two did not judge it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One behaviour whose verdicts differ; an outcome is None where the behaviour is unknown."""

    turn: Turn
    before: Outcome | None
    after: Outcome | None

    @property
    def outcome(self) -> Outcome:
        """The later of the two, for its words."""
        known = self.after or self.before
        assert known is not None
        return known


def compare(before: Iterable[Outcome], after: Iterable[Outcome]) -> list[Change]:
    """Every behaviour whose verdicts differ, the worst first, then by id."""
    order = list(Turn)
    changes = _changes({o.behaviour: o for o in before}, {o.behaviour: o for o in after})
    return sorted(changes, key=lambda change: (order.index(change.turn), change.outcome.behaviour))


def _changes(old: dict[str, Outcome], new: dict[str, Outcome]) -> Iterator[Change]:
    for behaviour in old.keys() | new.keys():
        was, now = old.get(behaviour), new.get(behaviour)
        verdicts = was.verdict if was else None, now.verdict if now else None
        if verdicts[0] is not verdicts[1]:
            yield Change(_TURNS.get(verdicts, Turn.UNCLEAR), was, now)


_TURNS: dict[tuple[Verdict | None, Verdict | None], Turn] = {
    (Verdict.PASS, Verdict.FAIL): Turn.BREAKS,
    (Verdict.NOT_SUPPORTED, Verdict.FAIL): Turn.BREAKS,
    (Verdict.FAIL, Verdict.PASS): Turn.HEALS,
    (Verdict.FAIL, Verdict.NOT_SUPPORTED): Turn.ENDS,
    (Verdict.PASS, Verdict.NOT_SUPPORTED): Turn.ENDS,
    (Verdict.NOT_SUPPORTED, Verdict.PASS): Turn.BEGINS,
}
