"""Which of what fits a rule it acts upon: the third, the first two of each pod, one in ten."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from hintbound.data.documents import Part
from hintbound.protocol import Seconds

_PER: Final = ("rule", "actor", "object")


@dataclass(frozen=True, slots=True)
class When:
    """Limits of a rule. All that are given must allow it."""

    after: int = 0
    """So many that fit go by first."""
    first: int | None = None
    """Then so many are acted upon, and no more."""
    every: int = 1
    """Of these, each so manieth: the first of them, then the next after `every - 1` others."""
    probability: float = 1.0
    seed: int = 0
    lasts: Seconds | None = None
    """Seconds from when the rule was added; `for` in a file."""
    until: datetime | None = None
    per: str = "rule"
    """What is counted apart: `rule` counts all together, `actor` each actor's, `object` each object's."""

    @classmethod
    def of(cls, part: Part) -> When:
        """Read the mapping `when`. Raises CannotStart."""
        names = ("after", "first", "every", "nth", "probability", "seed", "for", "until", "per")
        found = part.fields(optional=names)
        for other in ("after", "first", "every"):
            if "nth" in found and other in found:
                raise found[other].wrong(
                    f"{part.name} has 'nth' and {other!r}.",
                    next_step="Write one of them: nth is after and first.",
                )
        if "seed" in found and "probability" not in found:
            raise found["seed"].wrong(f"{part.name} has a seed and no probability.", next_step="Remove it.")
        nth = found["nth"].whole(least=1) if "nth" in found else None
        chance = found["probability"].number() if "probability" in found else 1.0
        if chance > 1:
            raise found["probability"].wrong(
                f"{found['probability'].name} is above 1.", next_step="Write 0 to 1."
            )
        per = found["per"].text() if "per" in found else "rule"
        if per not in _PER:
            raise found["per"].none_of("unit of counting", per, _PER)
        first = found["first"].whole(least=1) if "first" in found else None
        return cls(
            after=nth - 1 if nth else found["after"].whole() if "after" in found else 0,
            first=1 if nth else first,
            every=found["every"].whole(least=1) if "every" in found else 1,
            probability=chance,
            seed=found["seed"].whole() if "seed" in found else 0,
            lasts=found["for"].number() if "for" in found else None,
            until=_moment(found["until"]) if "until" in found else None,
            per=per,
        )


@dataclass(slots=True)
class Clock:
    """The running state of a When: counts what fits."""

    when: When
    started: Seconds
    now: Callable[[], Seconds]
    _fitting: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.when.seed)

    @property
    def ends_in(self) -> Seconds | None:
        """Seconds until its time is up; None when that never comes."""
        when, limits = self.when, []
        if when.lasts is not None:
            limits.append(self.started + when.lasts - self.now())
        if when.until is not None:
            limits.append((when.until - datetime.now(UTC)).total_seconds())
        return max(0.0, min(limits)) if limits else None

    @property
    def over(self) -> bool:
        """Whether its time is up for good."""
        return self.ends_in == 0.0

    def allows(self, actor: str, obj: Hashable) -> bool:
        """Count one that fits; whether it is to be acted upon."""
        when = self.when
        if self.over:
            return False
        key = {"rule": None, "actor": actor, "object": obj}[when.per]
        seen = self._fitting[key]
        self._fitting[key] = seen + 1
        seen -= when.after
        if seen < 0 or seen % when.every:
            return False
        if when.first is not None and seen // when.every >= when.first:
            return False
        return when.probability >= 1 or self._random.random() < when.probability


def _moment(part: Part) -> datetime:
    try:
        moment = datetime.fromisoformat(part.text())
    except ValueError:
        raise part.wrong(
            f"{part.name} is no time.", next_step='Write RFC 3339 in quotes: "2026-11-30T09:00:00Z".'
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
