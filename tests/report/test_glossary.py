"""What helps a reader who has never seen the KEP."""

from __future__ import annotations

import pytest

from hintbound.report import glossary


def names(text: str) -> list[str]:
    return [term.name for term in glossary.terms_in(text)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("A hinted pod keeps its hint.", ["hint"]),
        ("The victim goes; the preemptor is nominated.", ["nomination", "preemption"]),
        ("gate(apiserver, ClearingNominatedNodeNameAfterBinding)", ["clearing gate"]),
        ("Without the clearing gate the pod waits in PreBind.", ["clearing gate", "PreBind"]),
        ("Nothing of all this.", []),
    ],
)
def test_a_text_gets_the_terms_that_it_uses_and_no_others(text: str, terms: list[str]) -> None:
    assert names(text) == terms


def test_the_deepest_folder_tells_the_usual_cause() -> None:
    damage = glossary.usual_cause("suites/apiserver/damage/test_phase.py::test_any")
    assert "good news" in damage
    assert glossary.usual_cause("suites/apiserver/test_writes.py::test_any") != damage
    assert glossary.usual_cause("vendor/test_own.py::test_any") == ""


def test_keps_and_numbers_of_a_source_become_addresses() -> None:
    source = "KEP-5278 C6, kubernetes#134249, #134730: earlier releases; measured 1.35.4"
    assert glossary.links(source) == [
        "https://github.com/kubernetes/enhancements/issues/5278",
        "https://github.com/kubernetes/kubernetes/issues/134249",
        "https://github.com/kubernetes/kubernetes/issues/134730",
    ]
    assert glossary.links("kubernetes BindingREST; measured 1.33.13") == []
