"""The rules in force, shared by all listeners of a proxy, and what is counted of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from hintbound.errors import CannotStart, one_of
from hintbound.proxy import rules
from hintbound.proxy.rules import Rule
from hintbound.proxy.tally import Tally
from hintbound.proxy.target import Target

_Key = tuple[str, Target]
_Known = dict[_Key, tuple[Tally, ...]]
_MOST_KEPT: Final = 10_000


class Book:
    """Rules by name. Every change counts at once, for open watches, too."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}
        self._for_requests: _Known = {}
        self._for_objects: _Known = {}
        self._listeners: set[Callable[[], None]] = set()
        self.actors: set[str] = set()
        """Who has a listener: rules about others are refused, once anybody has."""

    def __iter__(self) -> Iterator[Tally]:
        return iter(self._tallies.values())

    def add(self, given: Rule | Mapping[str, Any] | Sequence[Rule | Mapping[str, Any]]) -> list[str]:
        """Put rules in force, as values or as data; gives their names.

        Raises CannotStart: one cannot be read, or its name is taken; then none of them is in force.
        """
        several = [given] if isinstance(given, Rule | Mapping) else list(given)
        new: list[Rule] = []
        for one in several:
            new += [one] if isinstance(one, Rule) else rules.of(one, actors=sorted(self.actors))
        names = [rule.name for rule in new]
        for index, name in enumerate(names):
            if name in self._tallies or name in names[:index]:
                raise CannotStart(
                    f"a rule {name!r} is in force.", next_step="Remove it, or choose another name."
                )
        self._tallies.update((rule.name, Tally(rule)) for rule in new)
        self._changed()
        return names

    def remove(self, name: str) -> Tally:
        """Take a rule out of force and let go what it holds; gives what it counted. Raises CannotStart."""
        tally = self.tally(name)
        del self._tallies[name]
        tally.lift()
        self._changed()
        return tally

    def release(self, name: str) -> None:
        """Let go what a rule holds; it acts no more, but is still told of. Raises CannotStart."""
        self.tally(name).lift()
        self._changed()

    def clear(self) -> None:
        """Take all rules out of force."""
        for tally in self._tallies.values():
            tally.lift()
        self._tallies.clear()
        self._changed()

    def tally(self, name: str) -> Tally:
        """What is counted of a rule. Raises CannotStart."""
        if name not in self._tallies:
            raise (
                one_of("rule", name, sorted(self._tallies))
                if self._tallies
                else CannotStart(f"no rule is in force, and so none {name!r}.")
            )
        return self._tallies[name]

    def hits(self, name: str, actor: str | None = None) -> int:
        """How often a rule bit, for all actors or one. Raises CannotStart."""
        hits = self.tally(name).hits
        return hits.total() if actor is None else hits[actor]

    def told(self) -> list[dict[str, Any]]:
        """All rules and what is counted of each, as JSON."""
        return [tally.told() for tally in self._tallies.values()]

    def for_request(self, actor: str, target: Target) -> tuple[Tally, ...]:
        """The rules that may act upon such a request, or must see it, in the order of their adding."""
        key = (actor, target)
        found = self._for_requests.get(key)
        if found is None:
            found = self._kept(self._for_requests, key, _sees)
        return found

    def for_objects(self, actor: str, target: Target) -> tuple[Tally, ...]:
        """The rules that may act upon objects in such a list or watch."""
        key = (actor, target)
        found = self._for_objects.get(key)
        if found is None:
            found = self._kept(self._for_objects, key, _reads)
        return found

    def _kept(self, known: _Known, key: _Key, asked: Callable[[Rule, Target], bool]) -> tuple[Tally, ...]:
        """Looked for once for each name: then a request costs the same with fifty rules as with one."""
        if len(known) > _MOST_KEPT:
            known.clear()
        actor, target = key
        found = known[key] = tuple(
            tally for tally in self if tally.rule.concerns(actor) and asked(tally.rule, target)
        )
        return found

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be told of every change; gives what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def _changed(self) -> None:
        self._for_requests.clear()
        self._for_objects.clear()
        for listener in tuple(self._listeners):
            listener()


def _sees(rule: Rule, target: Target) -> bool:
    if not rule.requests:
        return False
    matches = [rule.match, *(effect.also for effect in rule.requests if effect.also is not None)]
    return any(
        match.may_concern(target.verb, target.resource) and match.fits_names(target) for match in matches
    )


def _reads(rule: Rule, target: Target) -> bool:
    return (
        any(target.verb in effect.verbs for effect in rule.objects)
        and rule.match.may_concern(target.verb, target.resource)
        and rule.match.may_hold(target)
    )
