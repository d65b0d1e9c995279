"""Rules: what is asked of a request or an object, when, and what is done then. Read strictly, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from hintbound.data import documents
from hintbound.data.documents import Part
from hintbound.proxy.matching import Match
from hintbound.proxy.timing import When

if TYPE_CHECKING:
    from hintbound.proxy.effects import OnObjects, OnRequest

GIVEN: Final = Path("rules")
"""The name of the file in what is said of rules that come from no file."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It acts either upon requests or upon the objects that are read, never upon both."""

    name: str
    match: Match
    when: When
    actors: frozenset[str] = frozenset()
    """Whose requests; empty for anybody's."""
    requests: tuple[OnRequest, ...] = ()
    objects: tuple[OnObjects, ...] = ()
    line: int = 0

    def concerns(self, actor: str) -> bool:
        """Whether it is about this actor."""
        return not self.actors or actor in self.actors

    @property
    def needs_body(self) -> bool:
        """Whether it must have a request's body whole."""
        return bool(self.match.body) or any(effect.needs_body for effect in self.requests)


def read(file: Path, *, actors: Sequence[str] = ()) -> list[Rule]:
    """The rules of a file: a mapping with the list `rules`, or that list alone.

    `actors`: those that there are; a rule about another is refused. Raises CannotStart, with file and line.
    """
    return of_part(documents.read(file), actors=actors)


def of(given: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, actors: Sequence[str] = ()) -> list[Rule]:
    """Rules that are given as data: one, several, or what a file says. Raises CannotStart."""
    whole = [given] if isinstance(given, Mapping) and "rules" not in given else given
    text = yaml.safe_dump(whole if isinstance(whole, Mapping) else list(whole), sort_keys=False)
    return of_part(documents.parse(text, GIVEN), actors=actors)


def of_text(text: str, file: Path, *, actors: Sequence[str] = ()) -> list[Rule]:
    """Rules in a text that is said to come from `file`. Raises CannotStart."""
    return of_part(documents.parse(text, file), actors=actors)


def of_part(whole: Part, *, actors: Sequence[str] = ()) -> list[Rule]:
    """Rules that have been read as YAML. Raises CannotStart."""
    listed = whole if whole.is_list else whole.fields(required=["rules"])["rules"]
    found: dict[str, Rule] = {}
    for part in listed.items():
        rule = _rule(part, actors)
        if rule.name in found:
            raise part.wrong(
                f"the rule {rule.name!r} is there already, on line {found[rule.name].line}.",
                next_step="Give each a name of its own.",
            )
        found[rule.name] = rule
    return list(found.values())


def _rule(part: Part, actors: Sequence[str]) -> Rule:
    found = part.fields(required=["name", "do"], optional=["actor", "match", "when", "why"])
    if "why" in found:
        found["why"].text()
    match = Match.of(found["match"]) if "match" in found else Match()
    requests, objects = _effects(found["do"])
    for at, effect in (*requests, *objects):
        if match.verbs and not match.verbs & effect.verbs:
            raise at.wrong(
                f"{effect.key!r} cannot act upon {_and(match.verbs)}.",
                next_step=f"It acts upon {_and(effect.verbs)}.",
            )
    if requests and (match.object or match.events):
        what = "object" if match.object else "event"
        raise found["match"].wrong(
            f"{requests[0][1].key!r} acts upon requests, 'match.{what}' asks what lists and watches hold.",
            next_step="Ask the request's body: 'match.body'.",
        )
    if objects and match.body:
        raise found["match"].wrong(
            f"{objects[0][1].key!r} acts upon what is read, and 'match.body' is about what is sent.",
            next_step="Ask the object: 'match.object'.",
        )
    if match.body and match.verbs and not match.verbs - {"get", "list", "watch"}:
        raise found["match"].wrong(
            f"{_and(match.verbs)} have no body.", next_step="Remove 'match.body', or name another verb."
        )
    return Rule(
        name=found["name"].text(),
        match=match,
        when=When.of(found["when"]) if "when" in found else When(),
        actors=_actors(found["actor"], actors) if "actor" in found else frozenset(),
        requests=tuple(effect for _, effect in requests),
        objects=tuple(effect for _, effect in objects),
        line=part.line,
    )


def _effects(part: Part) -> tuple[list[tuple[Part, Any]], list[tuple[Part, Any]]]:
    from hintbound.proxy.effects import EFFECTS
    from hintbound.proxy.effects.effect import RequestEffect

    known = sorted(EFFECTS)
    listed = part.items() if part.is_list else [part]
    found: list[tuple[Part, Any]] = []
    for one in listed:
        for key, at in one.fields(optional=known).items():
            if any(effect.key == key for _, effect in found):
                raise at.wrong(
                    f"{key!r} stands there twice.", next_step="Keep one of them, or write two rules."
                )
            if found and getattr(found[-1][1], "ends", False):
                raise at.wrong(
                    f"{key!r} is never reached: {found[-1][1].key!r} before it answers.",
                    next_step="Put it before, or remove it.",
                )
            found.append((at, EFFECTS[key].of(at)))
    if not found:
        raise part.wrong(f"{part.name} does nothing.", next_step=f"Write one of {', '.join(known)}.")
    requests = [(at, effect) for at, effect in found if isinstance(effect, RequestEffect)]
    objects = [(at, effect) for at, effect in found if not isinstance(effect, RequestEffect)]
    if requests and objects:
        names = requests[0][1].key, objects[0][1].key
        raise part.wrong(
            f"{names[0]!r} acts upon requests and {names[1]!r} upon objects that are read.",
            next_step="Write two rules.",
        )
    return requests, objects


def _actors(part: Part, known: Sequence[str]) -> frozenset[str]:
    parts = part.items() if part.is_list else [part]
    for one in parts:
        if known and one.text() not in known:
            raise one.none_of("actor", one.text(), known)
    return frozenset(one.text() for one in parts)


def _and(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
