"""What a rule asks of a JSON object, and what it changes in one."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hintbound.data.documents import Part
from hintbound.proxy.paths import Path

_OPERATORS: Final = ("is", "isNot", "in", "matches", "present")
_EDITS: Final = ("set", "remove", "copy", "replace")


@dataclass(frozen=True, slots=True)
class Condition:
    """A question about one place: true when anything that stands there fits."""

    path: Path
    says: Callable[[list[Any]], bool]

    def holds(self, obj: Any) -> bool:
        """Whether it is so in this object."""
        return self.says(self.path.find(obj))


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to an object, in place; true when there was something to change."""

    apply: Callable[[Any], bool]


def edited(obj: Any, edits: Sequence[Edit]) -> bool:
    """Make all changes in place; whether any of them found something to change."""
    found = [edit.apply(obj) for edit in edits]  # each, whatever the one before found
    return any(found)


def conditions(part: Part) -> tuple[Condition, ...]:
    """Read a list of conditions. Raises CannotStart."""
    return tuple(map(_condition, part.items()))


def edits(part: Part) -> tuple[Edit, ...]:
    """Read a list of edits. Raises CannotStart."""
    found = tuple(map(_edit, part.items()))
    if not found:
        raise part.wrong(f"{part.name} is empty.", next_step=f"Write an edit: one of {', '.join(_EDITS)}.")
    return found


def path(part: Part) -> Path:
    """Read a path. Raises CannotStart."""
    try:
        return Path.of(part.text())
    except ValueError as error:
        raise part.wrong(
            f"{part.name}: {error}.", next_step="Write it as `status.conditions[0].type`."
        ) from error


def regex(part: Part) -> re.Pattern[str]:
    """Read a regular expression. Raises CannotStart."""
    try:
        return re.compile(part.text())
    except re.error as error:
        raise part.wrong(
            f"{part.name} is no regular expression: {error}.", next_step="Mend it (Python's syntax)."
        ) from error


def one_key(
    part: Part, known: Sequence[str], what: str, besides: Sequence[str] = ()
) -> tuple[str, dict[str, Part]]:
    """The one key of a mapping that says what is meant, and all keys. Raises CannotStart."""
    found = part.fields(optional=(*known, *besides))
    chosen = [key for key in known if key in found]
    if len(chosen) != 1:
        several = f"has {' and '.join(chosen)}" if chosen else f"says no {what}"
        raise part.wrong(f"{part.name} {several}.", next_step=f"Write one of {', '.join(known)}.")
    return chosen[0], found


def _condition(part: Part) -> Condition:
    operator, found = one_key(part, _OPERATORS, "condition", ["path"])
    if "path" not in found:
        raise part.wrong(f"{part.name} has no 'path'.", next_step="Add it.")
    return Condition(path(found["path"]), _question(operator, found[operator]))


def _question(operator: str, part: Part) -> Callable[[list[Any]], bool]:
    if operator == "present":
        wanted = part.boolean()
        return lambda there: bool(there) is wanted
    if operator == "matches":
        pattern = regex(part)
        return lambda there: any(isinstance(one, str) and pattern.search(one) for one in there)
    if operator == "in":
        known = [member.json() for member in part.items()]
        return lambda there: any(_among(one, known) for one in there)
    value = part.json()
    if operator == "isNot":
        return lambda there: not any(_same(one, value) for one in there)
    return lambda there: any(_same(one, value) for one in there)


def _among(one: Any, known: Sequence[Any]) -> bool:
    return any(_same(one, value) for value in known)


def _same(one: Any, other: Any) -> bool:
    """As JSON has it: true is not 1."""
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def _edit(part: Part) -> Edit:
    what, found = one_key(part, _EDITS, "edit", ["value", "to", "pattern", "with"])
    needed = {"set": ["value"], "remove": [], "copy": ["to"], "replace": ["pattern", "with"]}[what]
    wrong = [key for key in found if key != what and key not in needed]
    if wrong or any(key not in found for key in needed):
        takes = f"takes {' and '.join(needed)}" if needed else "takes nothing else"
        raise part.wrong(f"{part.name}: {what!r} {takes}.", next_step="Mend that edit.")
    place = path(found[what])
    if what == "set":
        value = found["value"].json()
        return Edit(lambda obj: place.set(obj, copy.deepcopy(value)))
    if what == "remove":
        return Edit(place.remove)
    if what == "copy":
        return Edit(_copy(place, path(found["to"])))
    return Edit(_replace(place, regex(found["pattern"]), found["with"]))


def _copy(source: Path, target: Path) -> Callable[[Any], bool]:
    def apply(obj: Any) -> bool:
        found = source.find(obj)
        return bool(found) and target.set(obj, copy.deepcopy(found[0]))

    return apply


def _replace(place: Path, pattern: re.Pattern[str], part: Part) -> Callable[[Any], bool]:
    template = part.json()
    if not isinstance(template, str):
        raise part.wrong(f"{part.name} is no text.", next_step="Put it in quotes.")
    try:
        re.compile(f"{pattern.pattern}|").sub(template, "")  # matches anything: the template is read
    except (re.error, IndexError) as error:
        raise part.wrong(f"{part.name} does not fit its pattern: {error}.") from error
    return lambda obj: place.update(
        obj, lambda old: pattern.sub(template, old) if isinstance(old, str) else old
    )
