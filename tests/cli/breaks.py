"""A way to break a behaviour's sentence, and how the behaviour must say so."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT = "embedded:1.35"
OTHER_GATES = "embedded:1.34,NominatedNodeNameForExpectation=true,ClearingNominatedNodeNameAfterBinding=false"

POD_GROUPS = "embedded:1.37,@pod-groups"


@dataclass(frozen=True)
class Break:
    """How a sentence is broken, and how its behaviour must say so."""

    said: str
    """A pattern of the reason."""
    where: str = DEFAULT
    changes: dict[str, str] = field(default_factory=dict)
