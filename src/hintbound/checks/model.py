"""What a check is given and what it gives: a record in, violations out; no I/O, no clock, no global."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hintbound.checks.traits import Trait
from hintbound.history.events import Event
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.setting import NodeVersion, Setting
from hintbound.history.writers import Request
from hintbound.protocol import SCHEDULER_USER, ComponentKind, Seconds, Severity

Proof = PodVersion | NodeVersion | Request | Event
"""What shows a violation: a version of a pod or node, a request, or any other event of the record."""

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

    @property
    def event(self) -> Event:
        """The decisive event: where and when it happened."""
        return event_of(self.proof[0])

    @property
    def pod(self) -> str:
        """`namespace/name` of the pod that it is about; empty where it is about none."""
        return f"{self.event.namespace}/{self.event.name}" if self.event.name else ""

    @property
    def time(self) -> str:
        """When it happened, RFC 3339, UTC: by the apiserver's clock where the audit log tells it."""
        decisive = self.proof[0]
        return decisive.completed if isinstance(decisive, Request) else event_of(decisive).time


@dataclass(frozen=True, slots=True)
class Unknown:
    """A life, or a record, of which a check cannot tell whether its sentence holds."""

    reason: str
    """Why, the same words for the same cause: reasons are counted."""

    def __post_init__(self) -> None:
        """Raises ValueError for one without words."""
        if not self.reason or self.reason.isspace():
            raise ValueError("what is unknown needs a reason")


def event_of(proof: Proof) -> Event:
    """The event of the record that a proof stands for."""
    return proof if isinstance(proof, Event) else proof.event


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
    """The whole record, in order; the lives are made of it. Empty for an audit log, which may be huge."""
    schedulers: frozenset[str] = frozenset({SCHEDULER_USER})
    """Users that bind pods and nominate."""
    nominators: frozenset[str] = frozenset()
    """Users, no schedulers, that write hints."""
    instruments: frozenset[str] = frozenset()
    """Users whose writes are a test's own: they bind, hint and do harm on purpose, and are not judged."""

    unit: str | None = None
    """Which unit of the record is given (see `Units`); None: the whole record."""
    told: Mapping[str, Seconds] = field(default_factory=dict)
    """In a unit: what `Units.tells` said of all lives of the record, the latest of each name."""
    ends: Seconds = 0.0
    """In a unit: when the record ends, on the clock of its lives."""
    setting: Setting | None = None
    """What surrounded the pods: nodes, faults. None where the record has nothing of it, as an audit log, or
    not all."""

    def gate(self, component: ComponentKind, name: str) -> bool | None:
        """Whether a gate is on; None where nobody tells."""
        return self.gates.get(component, {}).get(name)


@dataclass(frozen=True, slots=True)
class Units:
    """How a record falls apart for a check that judges lives together, so that no machine need hold all of
    it: into named units, for instance the pods of a node."""

    home: Callable[[PodLife, Context], str]
    """The unit in which a life that the check concerns is judged. There the check is given it, and must
    judge no life that is at home elsewhere (`Context.unit`)."""
    seen_in: Callable[[PodLife, Context], Iterable[str]] = lambda life, context: ()
    """Other units in which the check must see a life, whether it concerns it or not."""
    tells: Callable[[PodLife, Context], Iterable[tuple[str, Seconds]]] = lambda life, context: ()
    """What every unit must know because of this life: names, each with a moment (`Context.told`)."""
    needs: Trait | None = None
    """A life that has none of these is neither seen elsewhere nor tells anything. None: nobody knows."""


def ALONE(life: PodLife, context: Context) -> str:  # noqa: N802
    """A home for lives that need see no other, only what is told of all."""
    return f"{life.namespace}/{life.name}"


Judge = Callable[[Sequence[PodLife], Context], Iterable[Violation | Unknown]]
Concerns = Callable[[PodLife, Context], bool]
LifeJudge = Callable[[PodLife, Context], Iterable[Violation | Unknown]]
ByTraits = Callable[[int, Context], "bool | Unknown | None"]
"""What can be said of a life by its traits alone: False, the sentence does not concern it; True, it does, and
nothing is wrong in this life; Unknown, it does, and nobody can tell; None, look at it."""


@dataclass(frozen=True, slots=True)
class Known:
    """A public bug of kube-scheduler by which it breaks a sentence."""

    source: str
    """`kubernetes#134249`."""
    before: str
    """The first minor, `1.35`, that has it no more."""

    def has(self, version: str) -> bool:
        """Whether a version, `v1.34.4`, has the bug."""
        return _minor(version) < _minor(self.before)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.removeprefix("v").split(".")[:2]))


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence about every record, and the function that finds where it is broken."""

    name: str
    must: str
    severity: Severity
    judge: Judge
    concerns: Concerns | None = None
    """Whether a life has in it what the sentence speaks of: only such lives count as judged. None: all."""
    about: str = "pods"
    """What such lives are, for a record that has none: `pods that were bound`."""
    each: LifeJudge | None = None
    """Judges one life that the sentence concerns; then a record may be given life by life, on any machine.
    None: lives are judged together."""
    needs: Trait | None = None
    """A life that has none of these it cannot concern, so that nobody need ask. None: nobody knows."""
    by_traits: ByTraits | None = None
    """Spares the look at most lives: must say what the look would. None: nobody knows."""
    without_setting: str = ""
    """Why it cannot tell of any life where nothing is known of what surrounded the pods, as of an audit log
    (`Context.setting`): then nobody need ask it. Empty: it can."""
    units: Units | None = None
    """Of a check that judges lives together: what may be judged apart. None: nothing; then a long log is
    more than it can be given, and it cannot tell."""
    known: Sequence[Known] = ()
    """What has been reported of released versions: it fails no scenario there, and is told."""

    def __call__(self, lives: Sequence[PodLife], context: Context) -> Iterable[Violation | Unknown]:
        """Judge a record. Raises whatever the function raises."""
        return self.judge(lives, context)


def check(
    name: str,
    *,
    must: str,
    severity: Severity = Severity.VIOLATION,
    concerns: Concerns | None = None,
    about: str = "pods",
    known: Sequence[Known] = (),
    needs: Trait | None = None,
    by_traits: ByTraits | None = None,
    without_setting: str = "",
    units: Units | None = None,
) -> Callable[[Judge], Check]:
    """Make a check of a function. Raises ValueError or TypeError, at import, for what cannot be one."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"check {name!r}: write small letters and digits joined by hyphens, e.g. acme-hints")
    if not must.strip():
        raise ValueError(f"check {name}: must is empty")

    def put(function: Judge) -> Check:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"check {name}: it must be an ordinary function: a check awaits nothing")
        sentence = " ".join(must.split())
        return Check(
            name,
            sentence,
            Severity(severity),
            function,
            concerns,
            about,
            needs=needs,
            by_traits=by_traits,
            without_setting=without_setting,
            units=units,
            known=known,
        )

    return put


def check_life(
    name: str,
    *,
    must: str,
    concerns: Concerns,
    about: str,
    severity: Severity = Severity.VIOLATION,
    known: Sequence[Known] = (),
    needs: Trait | None = None,
    by_traits: ByTraits | None = None,
) -> Callable[[LifeJudge], Check]:
    """Make a check of a function that judges one life that it `concerns`. Raises as `check` does."""

    def put(function: LifeJudge) -> Check:
        def judge(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
            for life in lives:
                if concerns(life, context):
                    yield from function(life, context)

        made = check(
            name,
            must=must,
            severity=severity,
            concerns=concerns,
            about=about,
            known=known,
            needs=needs,
            by_traits=by_traits,
        )(judge)
        return replace(made, each=function)

    return put
