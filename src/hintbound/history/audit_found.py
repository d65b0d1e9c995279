"""What is wanted of audit logs, and what was found in them beside writes to pods."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

MOST_PLACES: Final = 5
"""So many places are named for each kind of line that could not be read."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the records is to be judged."""

    since: str = ""
    """RFC 3339 in UTC with microseconds, as the apiserver writes it: such strings sort as times do. Empty:
    from the beginning."""
    until: str = ""
    namespaces: frozenset[str] = frozenset()
    """Empty: all."""

    @property
    def everything(self) -> bool:
        """Whether nothing is left out, which might have taken room."""
        return not (self.since or self.until or self.namespaces)

    def has(self, namespace: str, time: str) -> bool:
        """Whether something is within."""
        if self.namespaces and namespace and namespace not in self.namespaces:
            return False
        return (not self.since or time >= self.since) and (not self.until or time < self.until)


@dataclass(slots=True)
class Found:
    """What lines gave, beside rows."""

    lines: int = 0
    """Blank ones are not counted."""
    events: int = 0
    """Audit events, whatever they are about."""
    nameless: int = 0
    """Writes to pods that no answer names: creates with generateName at level Metadata, collections."""
    flaws: Counter[str] = field(default_factory=Counter)
    """Lines that were not read, by reason."""
    places: dict[str, list[int]] = field(default_factory=dict)
    """Where the first of each are."""
    first: str = ""
    """When the first event was completed, as it stands there."""
    last: str = ""
    """When the last write to a pod was completed."""

    def flaw(self, reason: str, line: int) -> None:
        """Note a line that could not be read."""
        self.flaws[reason] += 1
        places = self.places.setdefault(reason, [])
        if len(places) < MOST_PLACES:
            places.append(line)
