"""What the decorator refuses, at import, before any cluster."""

from __future__ import annotations

from typing import Any

import pytest

from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.plugin.behaviours import behaviour_of

GOOD: dict[str, Any] = {"id": "NNN-ONE", "must": "It must.", "why": "Because.", "source": "KEP-5278"}


async def good(arena: Arena) -> None:
    """A test."""


async def with_a_fixture(arena: Arena, tmp_path: object) -> None:
    """Asks for more than there can be."""


async def without_arena() -> None:
    """Asks for nothing."""


def no_coroutine(arena: Arena) -> None:
    """Not async."""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"id": "nnn-one"}, "behaviour id 'nnn-one': write capitals and digits joined by hyphens"),
        ({"id": "NNN"}, "write capitals"),
        ({"id": "NNN--ONE"}, "write capitals"),
        ({"must": " "}, "behaviour NNN-ONE: must is empty"),
        ({"why": ""}, "why is empty"),
        ({"source": "\n"}, "source is empty"),
        ({"level": "basic"}, "behaviour NNN-ONE: level='basic' is none of core, extended"),
        ({"severity": "bad"}, "severity='bad' is none of violation, hazard"),
        ({"applies": "gate(kubelet, X)"}, "behaviour NNN-ONE: applies='gate(kubelet, X)'"),
        ({"needs": ["WINGS"]}, "behaviour NNN-ONE: needs='WINGS' is no capability of a cluster (AUDIT, "),
        ({"deadline": 0}, "deadline=0 is no time"),
    ],
)
def test_what_the_catalogue_cannot_hold_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the text is looked at below
        behaviour(**{**GOOD, **wrong})
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (no_coroutine, "must be `async def`"),
        (with_a_fixture, "takes (arena, tmp_path); write (arena)"),
        (without_arena, "takes (); write (arena)"),
    ],
)
def test_a_behaviour_stands_on_a_coroutine_that_takes_the_arena_alone(test: Any, said: str) -> None:
    with pytest.raises(TypeError) as refusal:
        behaviour(**GOOD)(test)
    assert said in str(refusal.value)


def test_a_method_can_carry_a_behaviour() -> None:
    class TestHints:
        @behaviour(**GOOD)
        async def test_one(self, arena: Arena) -> None:
            """In a class."""

    assert behaviour_of(TestHints.test_one) is not None


def test_the_sentence_is_one_line_however_it_was_written() -> None:
    test = behaviour(**{**GOOD, "must": "It\n   must."}, needs=[Capability.AUDIT, Feature.HINTS])(good)
    found = behaviour_of(test)
    assert found is not None
    assert (found.must, found.level, found.severity) == ("It must.", "core", "violation")
    assert found.needs == {Capability.AUDIT}
    assert found.features == {Feature.HINTS}


def test_only_a_real_behaviour_is_taken_for_one() -> None:
    class Anything:
        def __getattr__(self, name: str) -> object:
            return object()

    assert behaviour_of(Anything()) is None
