"""docs/proxy.md says of rules what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from hintbound.errors import CannotStart
from hintbound.proxy import of
from hintbound.proxy.effects import EFFECTS
from hintbound.proxy.effects.effect import RequestEffect
from hintbound.proxy.rules import of_text
from tests.proxy.documented import PAGE, blocks


def rows(heading: str) -> dict[str, list[str]]:
    """The table under a heading, by its first column."""
    text = PAGE.read_text().partition(heading)[2].partition("\n##")[0]
    found = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    return {key: rest.replace("\\|", "\0").split(" | ") for key, rest in found}


def test_every_effect_has_its_sentence() -> None:
    wanted = {
        key: ("requests" if issubclass(cls, RequestEffect) else "objects", " ".join(str(cls.__doc__).split()))
        for key, cls in EFFECTS.items()
    }
    told = {key: (row[0], row[2]) for key, row in rows("### What is done").items()}

    assert told == wanted
    assert list(told) == sorted(told)


def test_every_example_is_a_rule() -> None:
    for key, (_, example, _) in rows("### What is done").items():
        (rule,) = of({"name": key, "do": yaml.safe_load(example.strip("`"))})
        assert {effect.key for effect in (*rule.requests, *rule.objects)} == {key}


@pytest.mark.parametrize(
    ("heading", "part"), [("### Which requests", "match"), ("### Which of them", "when")]
)
def test_every_key_is_told(heading: str, part: str) -> None:
    with pytest.raises(CannotStart) as refused:
        of({"name": "a", part: {"xxxxx": 1}, "do": {"reset": {}}})
    known = re.search(r"Known: (.*)\.", str(refused.value))

    assert known is not None
    assert set(rows(heading)) == set(known[1].split(", "))


def test_every_block_is_a_rule_file() -> None:
    assert len(blocks()) > 2
    for block in blocks():
        assert of_text(block, Path("docs/proxy.md"))
