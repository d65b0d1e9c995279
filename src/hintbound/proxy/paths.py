"""Places in a JSON object, written as people write them: `status.conditions[type=PodScheduled].status`.

A step is a key, an index (`[0]`), a member by one of its fields (`[type=PodScheduled]`), all members (`[*]`),
or a key that holds dots (`["hintbound.dev/decision"]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_STEP: Final = re.compile(
    r"""\.?(?P<key>[A-Za-z0-9_$-]+)
      | \["(?P<quoted>[^"]+)"\]
      | \[(?P<index>\d+)\]
      | \[(?P<field>[A-Za-z0-9_-]+)=(?P<value>[^\]]*)\]
      | (?P<all>\[\*\])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Member:
    """The members of a list of which a field has this value."""

    field: str
    value: str


class Every:
    """All members of a list."""


_EVERY: Final = Every()
Step = str | int | Member | Every


@dataclass(frozen=True, slots=True)
class Path:
    """A place, or several where a step means several members."""

    text: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, text: str) -> Path:
        """Read one. Raises ValueError, which says what cannot be read."""
        steps: list[Step] = []
        at = 0
        while at < len(text):
            found = _STEP.match(text, at)
            if found is None or (at == 0 and text[0] == "."):
                raise ValueError(f"{text!r} is no path: {text[at:]!r} is no step")
            steps.append(_step(found))
            at = found.end()
        if not steps:
            raise ValueError("a path is empty")
        return cls(text, tuple(steps))

    def find(self, obj: Any) -> list[Any]:
        """What stands there: nothing where the path does not lead anywhere, None for an explicit null."""
        return [place[key] for place, key in self._places(obj)]

    def set(self, obj: Any, value: Any) -> bool:
        """Put a value there, with the mappings that are missing on the way. Whether anything was changed."""
        *way, last = self.steps
        places: list[Any] = [obj]
        for step in way:
            nearer: list[Any] = []
            for place in places:
                if isinstance(step, str) and isinstance(place, dict) and place.get(step) is None:
                    place[step] = {}
                if isinstance(place, dict | list):
                    nearer += [place[key] for key in _keys(place, step)]
            places = nearer
        changed = False
        for place in places:
            keys = [last] if isinstance(place, dict) and isinstance(last, str) else _keys(place, last)
            for key in keys:
                known = key in place if isinstance(place, dict) else True
                if not known or place[key] != value:
                    place[key] = value
                    changed = True
        return changed

    def remove(self, obj: Any) -> bool:
        """Take away what stands there. Whether there was anything."""
        places = self._places(obj)
        for place, key in reversed(places):  # from the end: the indexes before stay what they are
            del place[key]
        return bool(places)

    def update(self, obj: Any, change: Callable[[Any], Any]) -> bool:
        """Put in place of what stands there what `change` makes of it. Whether anything is another."""
        changed = False
        for place, key in self._places(obj):
            new = change(place[key])
            changed |= new != place[key]
            place[key] = new
        return changed

    def _places(self, obj: Any) -> list[tuple[Any, Any]]:
        *way, last = self.steps
        places: list[Any] = [obj]
        for step in way:
            places = [place[key] for place in places for key in _keys(place, step)]
        return [(place, key) for place in places for key in _keys(place, last)]


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    if found["field"] is not None:
        return Member(found["field"], found["value"])
    return _EVERY if found["all"] else found["key"] or found["quoted"]


def _keys(place: Any, step: Step) -> list[Any]:
    """The keys or indexes of a mapping or list that a step means, where they are there."""
    if isinstance(place, dict):
        return [step] if isinstance(step, str) and step in place else []
    if not isinstance(place, list):
        return []
    if isinstance(step, Every):
        return list(range(len(place)))
    if isinstance(step, Member):
        return [
            index
            for index, member in enumerate(place)
            if isinstance(member, dict) and str(member.get(step.field)) == step.value
        ]
    return [step] if isinstance(step, int) and step < len(place) else []
