"""What a check is given and what it gives: a record in, violations out; no I/O, no clock, no global."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hintbound.history.events import Event
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.writers import Request
from hintbound.protocol import ComponentKind, Severity

Proof = PodVersion | Request | Event
"""What shows a violation: a version of a pod, a request, or any other event of the record."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Violation:
    """One place in a record where a sentence is broken."""

    said: str
    """One line with the values: who, which pod, what came instead."""
    proof: tuple[Proof, ...]
    """Two to five events that show it, the decisive one first; at least that one."""

    def __post_init__(self) -> None:
        """Raises ValueError for one that shows nothing."""
        if not self.said.strip() or not self.proof:
            raise ValueError("a violation needs words and at least one proof")


@dataclass(frozen=True, slots=True)
class Context:
    """What is known beside the lives of the pods."""

    behaviour: str
    """The id of the behaviour whose scenario made the record."""
    namespace: str
    cluster: str
    gates: Mapping[ComponentKind, Mapping[str, bool]] = field(default_factory=dict)
    """As each component says itself; one that does not is absent."""
    versions: Mapping[ComponentKind, str] = field(default_factory=dict)
    events: Sequence[Event] = ()
    """The whole record, in order; the lives are made of it."""


Judge = Callable[[Sequence[PodLife], Context], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence about every record, and the function that finds where it is broken."""

    name: str
    must: str
    severity: Severity
    judge: Judge

    def __call__(self, lives: Sequence[PodLife], context: Context) -> Iterable[Violation]:
        """Judge a record. Raises whatever the function raises."""
        return self.judge(lives, context)


def check(name: str, *, must: str, severity: Severity = Severity.VIOLATION) -> Callable[[Judge], Check]:
    """Make a check of a function. Raises ValueError or TypeError, at import, for what cannot be one."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"check {name!r}: write small letters and digits joined by hyphens, e.g. acme-hints")
    if not must.strip():
        raise ValueError(f"check {name}: must is empty")

    def put(function: Judge) -> Check:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"check {name}: it must be an ordinary function: a check awaits nothing")
        return Check(name, " ".join(must.split()), Severity(severity), function)

    return put
