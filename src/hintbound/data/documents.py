"""YAML files that people write for us, read with the line of every part: an error says where to look."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any, Final

import yaml

from hintbound.errors import CannotStart, cause, one_of

LARGEST: Final = 1024 * 1024
"""Bytes: nobody writes more by hand."""
_KINDS: Mapping[type, str] = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}
_HOW: Mapping[str, str] = {
    "a mapping": "Write KEY: VALUE there.",
    "a list": "Write its members there, each behind a hyphen.",
    "a text": "Write one there.",
    "true or false": "Write one of the two, without quotes.",
    "a day": "Write it as 2027-01-31.",
}
"""What to do where something else stands."""
_NO_TEXT: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML can only say by an escape, and no report can show."""


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
        if odd := _NO_TEXT.search(value):
            raise self.wrong(f"{self.name} holds {odd[0]!a}, which is no text.", next_step="Remove it.")
        return value

    def boolean(self) -> bool:
        """True or false. Raises CannotStart."""
        value = self._scalar()
        if not isinstance(value, bool):
            raise self._not("true or false")
        return value

    def number(self) -> float:
        """A number that is not negative; whole ones are ints. Raises CannotStart."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise self._not("a number that is not negative")
        return value

    def whole(self, *, least: int = 0) -> int:
        """A whole number, `least` or more. Raises CannotStart."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._not(f"a whole number from {least} on")
        return value

    def json(self) -> Any:
        """Whatever stands there, as JSON would say it: null, texts, numbers, lists and mappings.

        Raises CannotStart: a key that is no text or stands twice, or a value that JSON has no word for.
        """
        if isinstance(self._node, yaml.MappingNode):
            return {key: part.json() for key, part in self._pairs(None).items()}
        if isinstance(self._node, yaml.SequenceNode):
            return [part.json() for part in self.items()]
        value = self._scalar()
        if isinstance(value, float) and not isfinite(value):
            raise self._not("something that JSON can say")
        if value is not None and not isinstance(value, str | bool | int | float):
            raise self._not("something that JSON can say")
        return value

    @property
    def is_list(self) -> bool:
        """Whether a list stands there."""
        return isinstance(self._node, yaml.SequenceNode)

    def day(self) -> date:
        """A day without a time. Raises CannotStart."""
        value = self._scalar()
        if type(value) is not date:  # a datetime is a date, too
            raise self._not("a day")
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
        except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
            # 2027-02-31, or a tag that is none, or not this value's: PyYAML does not look whether it fits.
            known = str(getattr(error, "problem", None) or error) if _says_why(error) else ""
            why = known or f"it does not fit its tag {self._node.tag}"
            raise self.wrong(
                f"{self.name} cannot be read: {' '.join(why.split()).rstrip('.')}.",
                next_step="Mend it, or put it in quotes and remove its tag.",
            ) from error

    def _not(self, wanted: str, next_step: str = "") -> CannotStart:
        empty = self._node.tag == "tag:yaml.org,2002:null" or not self._node.value
        kind = _KINDS.get(type(self._node)) or ("empty" if empty else repr(self._node.value))
        return self.wrong(
            f"{self.name} is {kind}, not {wanted}.", next_step=next_step or _HOW.get(wanted, "")
        )


def read(file: Path) -> Part:
    """The one YAML document of a file.

    Raises CannotStart: it cannot be read, is no YAML, or is empty.
    """
    try:
        stored = _bytes(file)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        why = cause(error)
        raise CannotStart(
            f"{ascii(str(file)) if isinstance(error, ValueError) else file} cannot be read: {why}.",
            next_step="Name a file that can.",
        ) from error
    try:
        text = stored.decode()
    except UnicodeDecodeError as error:
        line = stored.count(b"\n", 0, error.start) + 1
        raise CannotStart(
            f"{file}:{line}: it is no text: {error.reason}.", next_step="Save it as UTF-8."
        ) from error
    return parse(text, file)


def parse(text: str, file: Path) -> Part:
    """The one YAML document in a text that is said to come from `file`.

    Raises CannotStart: it is no YAML, or is empty.
    """
    try:
        node = _composed(text, file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _no_yaml(file, line, error.problem or error.context or "it cannot be read") from error
    except yaml.reader.ReaderError as error:
        raise _no_yaml(file, text.count("\n", 0, error.position) + 1, error.reason) from error
    if node is None:
        raise CannotStart(f"{file}:1: the file is empty.", next_step="Write something there.")
    return Part(node, file, file.name)


def _composed(text: str, file: Path) -> yaml.Node | None:
    """Raises YAMLError, and CannotStart for that at which PyYAML itself stumbles."""
    loader = yaml.SafeLoader(text)
    try:
        return loader.get_single_node()
    except RecursionError as error:
        raise _no_yaml(file, loader.line + 1, "it is nested too deeply") from error
    except (ValueError, OverflowError) as error:  # "\U00110000"
        raise _no_yaml(file, loader.line + 1, "an escape stands for no character") from error


def _bytes(file: Path) -> bytes:
    """What is in it; a pipe or a device would keep us waiting, or never end. Raises OSError, CannotStart."""
    found = file.stat()
    if stat.S_ISREG(found.st_mode) and found.st_size > LARGEST:
        raise CannotStart(
            f"{file} has {found.st_size} bytes, more than the {LARGEST} that are read.",
            next_step="Name the file that is meant.",
        )
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise CannotStart(f"{file} is no file.", next_step="Name one: pipes and devices are not read.")
    return file.read_bytes()


def _says_why(error: Exception) -> bool:
    return isinstance(error, yaml.YAMLError | ValueError)


def _no_yaml(file: Path, line: int, why: str) -> CannotStart:
    return CannotStart(f"{file}:{line}: not YAML: {' '.join(why.split())}.", next_step="Mend that line.")
