"""YAML files that people write for us, read with the line of every part: an error says where to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from hintbound.errors import CannotStart, one_of

_KINDS: Mapping[type, str] = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}


class Part:
    """One value in a file: what it is called there, on which line it stands, and what it must be."""

    def __init__(self, node: yaml.Node, file: Path, name: str) -> None:
        self._node = node
        self.file = file
        self.name = name
        """As a reader finds it: `spec.command[1]`; the file's own for the whole."""
        self.line: int = node.start_mark.line + 1

    def wrong(self, what: str, *, next_step: str = "") -> CannotStart:
        """The error for this part: `file:line: what`."""
        return CannotStart(f"{self.file}:{self.line}: {what}", next_step=next_step)

    def none_of(self, kind: str, wrong: str, right: Sequence[str]) -> CannotStart:
        """The error for a name that is none of the known ones."""
        error = one_of(kind, wrong, list(right))
        return self.wrong(error.message, next_step=error.next_step)

    def fields(self, *, required: Iterable[str] = (), optional: Iterable[str] = ()) -> dict[str, Part]:
        """The values of a mapping that has these keys and no others. Raises CannotStart."""
        required = tuple(required)
        known = [*required, *optional]
        found = self._pairs(known)
        if missing := [key for key in required if key not in found]:
            raise self.wrong(f"{self.name} has no {missing[0]!r}.", next_step="Add it.")
        return found

    def entries(self) -> dict[str, Part]:
        """The values of a mapping whose keys are names of the writer's choice. Raises CannotStart."""
        return self._pairs(None)

    def items(self) -> list[Part]:
        """The members of a list. Raises CannotStart."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self._not("a list")
        return [Part(node, self.file, f"{self.name}[{index}]") for index, node in enumerate(self._node.value)]

    def text(self) -> str:
        """A text that is not empty. Raises CannotStart."""
        value = self._scalar()
        if not isinstance(value, str):
            quoted = isinstance(self._node, yaml.ScalarNode) and value is not None
            raise self._not("a text", f'Put it in quotes: "{self._node.value}".' if quoted else "")
        if not value.strip():
            raise self.wrong(f"{self.name} is empty.", next_step="Write something there, or remove it.")
        return value

    def boolean(self) -> bool:
        """True or false. Raises CannotStart."""
        value = self._scalar()
        if not isinstance(value, bool):
            raise self._not("true or false")
        return value

    def day(self) -> date:
        """A day without a time. Raises CannotStart."""
        value = self._scalar()
        if type(value) is not date:  # a datetime is a date, too
            raise self._not("a day", "Write it as 2027-01-31.")
        return value

    def _pairs(self, known: Sequence[str] | None) -> dict[str, Part]:
        if not isinstance(self._node, yaml.MappingNode):
            raise self._not("a mapping")
        whole = self.name == self.file.name
        found: dict[str, Part] = {}
        for key_node, node in self._node.value:
            at = Part(key_node, self.file, f"a key of {self.name}")
            key = at.text()
            if known is not None and key not in known:
                raise at.none_of(f"key of {self.name}", key, known)
            if key in found:
                first = found[key].line
                raise at.wrong(
                    f"{key!r} stands there twice, first on line {first}.", next_step="Keep one of them."
                )
            found[key] = Part(node, self.file, key if whole else f"{self.name}.{key}")
        return found

    def _scalar(self) -> Any:
        if not isinstance(self._node, yaml.ScalarNode):
            return None
        try:
            return yaml.constructor.SafeConstructor().construct_object(self._node)
        except (yaml.YAMLError, ValueError) as error:  # 2027-02-31, or a tag that is none
            why = getattr(error, "problem", None) or error
            raise self.wrong(f"{self.name} cannot be read: {why}.") from error

    def _not(self, wanted: str, next_step: str = "") -> CannotStart:
        kind = _KINDS.get(type(self._node)) or (repr(self._node.value) if self._node.value else "empty")
        return self.wrong(f"{self.name} is {kind}, not {wanted}.", next_step=next_step)


def read(file: Path) -> Part:
    """The one YAML document of a file.

    Raises CannotStart: it cannot be read, is no YAML, or is empty.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CannotStart(f"{file} cannot be read: {why}.", next_step="Name a file that can.") from error
    except UnicodeDecodeError as error:
        raise CannotStart(f"{file} is no text: {error.reason}.", next_step="Save it as UTF-8.") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _no_yaml(file, line, error.problem or error.context or "it cannot be read") from error
    except yaml.reader.ReaderError as error:
        raise _no_yaml(file, text.count("\n", 0, error.position) + 1, error.reason) from error
    except RecursionError as error:
        raise _no_yaml(file, 1, "it is nested too deeply") from error
    if node is None:
        raise CannotStart(f"{file}:1: the file is empty.", next_step="Write something there.")
    return Part(node, file, file.name)


def _no_yaml(file: Path, line: int, why: str) -> CannotStart:
    return CannotStart(f"{file}:{line}: not YAML: {' '.join(why.split())}.", next_step="Mend that line.")
