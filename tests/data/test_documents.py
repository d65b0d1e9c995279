"""Files that people write: what is wrong is named with file and line."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from hintbound.data import documents
from hintbound.data.documents import Part
from hintbound.errors import CannotStart

GOOD = """
kind: Thing
spec:
  name: one
  open: yes
  until: 2027-01-31
  words:
  - a
  - b
"""


MEND = "Mend it, or put it in quotes and remove its tag."


def read(folder: Path, text: str | bytes) -> Part:
    file = folder / "thing.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return documents.read(file)


def test_each_part_knows_its_line_and_its_name(tmp_path: Path) -> None:
    whole = read(tmp_path, GOOD).fields(required=["kind", "spec"])
    spec = whole["spec"].fields(required=["name", "open"], optional=["until", "words", "other"])
    assert {key: (part.name, part.line) for key, part in spec.items()} == {
        "name": ("spec.name", 4),
        "open": ("spec.open", 5),
        "until": ("spec.until", 6),
        "words": ("spec.words", 8),
    }
    assert spec["name"].text() == "one"
    assert spec["open"].boolean() is True
    assert spec["until"].day() == date(2027, 1, 31)
    assert [(word.name, word.line, word.text()) for word in spec["words"].items()] == [
        ("spec.words[0]", 8, "a"),
        ("spec.words[1]", 9, "b"),
    ]
    assert list(whole["spec"].entries()) == ["name", "open", "until", "words"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2\nb: 3\n", "2: not YAML: expected ',' or ']', but got ':'. Mend that line."),
        ("a: 1\n---\nb: 2\n", "2: not YAML: but found another document. Mend that line."),
        ("a: 1\nb: \x00\n", "2: not YAML: special characters are not allowed. Mend that line."),
        ("[" * 700, "1: not YAML: it is nested too deeply. Mend that line."),
        ('a: 1\nb: "\\U00110000"\n', "2: not YAML: an escape stands for no character. Mend that line."),
        ('a: "\\UFFFFFFFF"\n', "1: not YAML: an escape stands for no character. Mend that line."),
        ("a: *nobody\n", "1: not YAML: found undefined alias 'nobody'. Mend that line."),
        ("# nothing\n", "1: the file is empty. Write something there."),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CannotStart) as refused:
        read(tmp_path, text)
    assert str(refused.value) == f"{tmp_path}/thing.yaml:{message}"


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    said = r"thing\.yaml:2: it is no text: invalid start byte\. Save it as UTF-8\."
    with pytest.raises(CannotStart, match=said):
        read(tmp_path, b"a: 1\nb: \xff\n")


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"none\.yaml cannot be read: no such file or directory\."):
        documents.read(tmp_path / "none.yaml")
    with pytest.raises(CannotStart, match=r"cannot be read: is a directory\."):
        documents.read(tmp_path)
    with pytest.raises(CannotStart, match=r"'\\x00' cannot be read: embedded null byte\."):
        documents.read(Path("\0"))


def test_a_pipe_is_refused_and_does_not_keep_us_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotStart, match=r"pipe is no file\. Name one: pipes and devices are not read\."):
        documents.read(tmp_path / "pipe")


def test_what_nobody_has_written_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"has 1048577 bytes, more than the 1048576 that are read\."):
        read(tmp_path, b"#" * (documents.LARGEST + 1))


@pytest.mark.parametrize(
    ("text", "ask", "message"),
    [
        ("- a\n", lambda p: p.fields(), "1: thing.yaml is a list, not a mapping. Write KEY: VALUE there."),
        (
            "a:\n",
            lambda p: p.fields(required=["a"])["a"].fields(),
            "1: a is empty, not a mapping. Write KEY: VALUE there.",
        ),
        (
            "a: 1\nspec: 2\n",
            lambda p: p.fields(required=["a"], optional=["spek"]),
            "2: unknown key of thing.yaml 'spec'. Did you mean 'spek'? Known: a, spek.",
        ),
        ("a: 1\n", lambda p: p.fields(required=["a", "b"]), "1: thing.yaml has no 'b'. Add it."),
        (
            "a: 1\n\na: 2\n",
            lambda p: p.fields(required=["a"]),
            "3: 'a' stands there twice, first on line 1. Keep one of them.",
        ),
        (
            "1: 2\n",
            lambda p: p.entries(),
            "1: a key of thing.yaml is '1', not a text. Put it in quotes: \"1\".",
        ),
        (
            "a: 1.30\n",
            lambda p: p.entries()["a"].text(),
            "1: a is '1.30', not a text. Put it in quotes: \"1.30\".",
        ),
        ("a:\n", lambda p: p.entries()["a"].text(), "1: a is empty, not a text. Write one there."),
        ("a: ~\n", lambda p: p.entries()["a"].text(), "1: a is empty, not a text. Write one there."),
        ("a: [x]\n", lambda p: p.entries()["a"].text(), "1: a is a list, not a text. Write one there."),
        (
            "a: ' '\n",
            lambda p: p.entries()["a"].text(),
            "1: a is empty. Write something there, or remove it.",
        ),
        (
            "a: x\n",
            lambda p: p.entries()["a"].items(),
            "1: a is 'x', not a list. Write its members there, each behind a hyphen.",
        ),
        (
            "a: 'true'\n",
            lambda p: p.entries()["a"].boolean(),
            "1: a is 'true', not true or false. Write one of the two, without quotes.",
        ),
        (
            'a: "x\\e[31m"\n',
            lambda p: p.entries()["a"].text(),
            "1: a holds '\\x1b', which is no text. Remove it.",
        ),
        (
            '"\\uD800": 1\n',
            lambda p: p.entries(),
            "1: a key of thing.yaml holds '\\ud800', which is no text. Remove it.",
        ),
        ("a: 2027\n", lambda p: p.entries()["a"].day(), "1: a is '2027', not a day. Write it as 2027-01-31."),
        (
            "a: 2027-01-31 10:00:00\n",
            lambda p: p.entries()["a"].day(),
            "1: a is '2027-01-31 10:00:00', not a day. Write it as 2027-01-31.",
        ),
        (
            "a: 2027-02-31\n",
            lambda p: p.entries()["a"].day(),
            f"1: a cannot be read: day is out of range for month. {MEND}",
        ),
        (
            "a: !x y\n",
            lambda p: p.entries()["a"].text(),
            f"1: a cannot be read: could not determine a constructor for the tag '!x'. {MEND}",
        ),
        *(
            (
                f"a: !!{tag} {value}\n",
                lambda p: p.entries()["a"].text(),
                f"1: a cannot be read: it does not fit its tag tag:yaml.org,2002:{tag}. {MEND}",
            )
            for tag, value in (("int", "''"), ("float", "''"), ("bool", "x"), ("timestamp", "x"))
        ),
    ],
)
def test_what_is_not_as_it_must_be_is_told_with_its_line(
    tmp_path: Path, text: str, ask: Callable[[Part], object], message: str
) -> None:
    with pytest.raises(CannotStart) as refused:
        ask(read(tmp_path, text))
    assert str(refused.value) == f"{tmp_path}/thing.yaml:{message}"


def test_an_alias_that_holds_itself_ends(tmp_path: Path) -> None:
    (member,) = read(tmp_path, "a: &a [*a]\n").entries()["a"].items()
    assert member.items()[0].name == "a[0][0]"
