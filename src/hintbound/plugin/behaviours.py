"""A behaviour: one sentence with MUST force that stands on the test that proves it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from hintbound.checks import judging
from hintbound.clusters.protocol import Capability
from hintbound.plugin.applies import Condition
from hintbound.protocol import Affected, Feature, Level, Seconds, Severity

_ID = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+")
_ATTRIBUTE = "__hintbound_behaviour__"
"""Also looked for by the hooks, which do not import this module until they find it."""
DEADLINE: Seconds = 45.0
"""How long a scenario may take; ten times what the slowest takes alone, because machines are shared."""

Test = TypeVar("Test", bound=Callable[..., Coroutine[Any, Any, None]])


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the catalogue says of one behaviour."""

    id: str
    must: str
    why: str
    level: Level
    source: str
    applies: Condition
    needs: frozenset[Capability]
    """Of the cluster."""
    features: frozenset[Feature]
    """Of the scheduler."""
    severity: Severity
    exclusive: bool
    deadline: Seconds
    affects: tuple[Affected, ...]
    advice: str
    provisional: bool
    """What upstream may still change: a failure is told and does not make a run fail."""
    harms: frozenset[str] = frozenset()
    """The checks that its scenario breaks on purpose."""
    judges_nominator: bool = False
    """Whether the checks judge what its nominator writes, too."""


def behaviour(
    id: str,  # noqa: A002 - it is the catalogue's own word
    *,
    must: str,
    why: str,
    source: str,
    level: str = Level.CORE,
    applies: str = "",
    needs: Iterable[Capability | Feature] = (),
    severity: str = Severity.VIOLATION,
    exclusive: bool = False,
    deadline: Seconds = DEADLINE,
    affects: Iterable[str] = (),
    advice: str = "",
    provisional: bool = False,
    harms: Iterable[str] = (),
    judges_nominator: bool = False,
) -> Callable[[Test], Test]:
    """Put a behaviour on a test. Raises ValueError or TypeError, at import, for what the catalogue cannot
    hold.

    One behaviour is one test that takes `arena` and nothing else: its scenario begins before pytest would
    set up fixtures. `exclusive`: it needs a whole cluster (no nodes, restarts) and is played alone on a
    second control plane. `needs`: what the cluster must offer, and the scheduler be able to do. `affects`
    and `advice`: who notices when an upgrade or a gate makes it begin or end, and what they should do.
    `provisional`: it is about what upstream has not promised yet, behind a gate that is off by default.
    `harms`: the checks whose sentences its scenario breaks on purpose; all others judge its record.
    `judges_nominator`: they judge its nominator, too; elsewhere that writes what a scenario is about.
    """
    if not _ID.fullmatch(id):
        raise ValueError(
            f"behaviour id {id!r}: write capitals and digits joined by hyphens, e.g. NNN-HINT-TAKEN"
        )
    for name, text in (("must", must), ("why", why), ("source", source)):
        if not text.strip():
            raise ValueError(f"behaviour {id}: {name} is empty")
    if deadline <= 0:
        raise ValueError(f"behaviour {id}: deadline={deadline:g} is no time to do anything in")
    wanted = [_need(need, id) for need in needs]
    value = Behaviour(
        id,
        " ".join(must.split()),
        " ".join(why.split()),
        _one_of(Level, level, id),
        source,
        _condition(applies, id),
        frozenset(need for need in wanted if isinstance(need, Capability)),
        frozenset(need for need in wanted if isinstance(need, Feature)),
        _one_of(Severity, severity, id),
        exclusive,
        deadline,
        tuple(_one_of(Affected, who, id) for who in affects),
        " ".join(advice.split()),
        provisional,
        frozenset(_check(name, id) for name in harms),
        judges_nominator,
    )

    def put(test: Test) -> Test:
        if not inspect.iscoroutinefunction(test):
            raise TypeError(f"behaviour {id}: {test.__qualname__} must be `async def`")
        taken = [name for name in inspect.signature(test).parameters if name != "self"]
        if taken != ["arena"]:
            raise TypeError(
                f"behaviour {id}: {test.__qualname__} takes ({', '.join(taken)}); write (arena). A "
                f"scenario begins before "
                "pytest sets up fixtures, and what differs by a parameter is two behaviours"
            )
        setattr(test, _ATTRIBUTE, value)
        return test

    return put


Choice = TypeVar("Choice", Level, Severity, Affected)


def _one_of(kind: type[Choice], text: str, behaviour: str) -> Choice:
    if text not in list(kind):
        raise ValueError(
            f"behaviour {behaviour}: {kind.__name__.lower()}={text!r} is none of {', '.join(kind)}"
        )
    return kind(text)


def _need(word: str, behaviour: str) -> Capability | Feature:
    if word in list(Capability):
        return Capability(word)
    if word in list(Feature):
        return Feature(word)
    raise ValueError(
        f"behaviour {behaviour}: needs={word!r} is no capability of a cluster ({', '.join(Capability)}) and "
        f"no feature of a scheduler ({', '.join(Feature)})"
    )


def _check(name: str, behaviour: str) -> str:
    known = [check.name for check in judging.ours()]
    if name not in known:
        raise ValueError(f"behaviour {behaviour}: harms={name!r} is none of the checks {', '.join(known)}")
    return name


def _condition(text: str, behaviour: str) -> Condition:
    try:
        return Condition(text)
    except ValueError as error:
        raise ValueError(f"behaviour {behaviour}: {error}") from None


def behaviour_of(test: object) -> Behaviour | None:
    """The behaviour that stands on a test function, if any."""
    found = getattr(test, _ATTRIBUTE, None)
    return found if isinstance(found, Behaviour) else None
