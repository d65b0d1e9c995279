"""Behaviours that reproduce public bugs: judged only when asked for, and complete in what they say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hintbound import assets, data, mutants
from hintbound.checks import judging
from hintbound.clusters import spec
from hintbound.plugin import catalogue
from hintbound.plugin.catalogue import Entry
from hintbound.plugin.regressions import regression, regression_of
from hintbound.protocol import Level, Profile

NEEDED = {
    *(f"kubernetes#{number}" for number in (85677, 89111, 92600, 95752, 106780, 134217, 134249)),
    *(f"kubernetes#{number}" for number in (134400, 135392, 135900, 138434, 139417, 141694)),
    "enhancements#5771",
}


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return [entry for entry in catalogue.collect() if entry.behaviour.level is Level.REGRESSION]


def test_only_their_own_profile_includes_them() -> None:
    assert [profile for profile in Profile if profile.includes(Level.REGRESSION)] == [Profile.REGRESSIONS]
    assert [level for level in Level if Profile.REGRESSIONS.includes(level)] == [Level.REGRESSION]
    assert [level for level in Level if Profile.ALL.includes(level)] == [Level.CORE, Level.EXTENDED]


def test_each_bug_is_a_file_that_bears_its_number(entries: list[Entry]) -> None:
    assert {entry.regression.bug for entry in entries if entry.regression} >= NEEDED
    for entry in entries:
        assert entry.regression is not None, f"{entry.behaviour.id} says nothing of its bug"
        name = entry.regression.bug.replace("#", "_")
        assert entry.file.startswith(f"suites/regressions/test_{name}.py::")
        assert entry.behaviour.id == f"BUG-{name.replace('_', '-').upper()}"
        assert entry.about.startswith(f"{entry.regression.bug}: ")


def test_what_reproduces_no_bug_says_nothing_of_one() -> None:
    for entry in catalogue.collect():
        assert (entry.regression is None) is (entry.behaviour.level is not Level.REGRESSION)


def test_clusters_are_pinned_and_checks_known(entries: list[Entry]) -> None:
    known = {check.name for check in judging.ours()}
    for entry in entries:
        assert entry.regression is not None
        for text in (*entry.regression.shows, *entry.regression.absent):
            found = re.fullmatch(r"embedded:([\d.]+)((?:,\w+=(?:true|false))*)", text)
            assert found, f"{text!r} names no exact version"
            assert found[1] in assets.versions()
            spec.parse(text)
        assert set(entry.regression.checks) <= known
        assert set(entry.regression.mutants) <= {mutant.name for mutant in mutants.all_mutants()}
        file, _, test = entry.regression.history.partition("::")
        assert not file or test.partition("[")[0] in (data.folder("suites").parent / file).read_text()
        assert not set(entry.regression.shows) & set(entry.regression.absent)


FINE = {"bug": "kubernetes#1", "about": "x", "shows": ["embedded:1.35.4"], "means": "x"}


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({**FINE, "bug": "k/k #1"}, "write kubernetes#NUMBER"),
        ({**FINE, "shows": []}, "no check finds it in a history"),
        (FINE, "say in a note why no cluster is without it"),
    ],
)
def test_what_the_track_record_cannot_hold_is_refused(about: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        regression(**about)


def test_only_a_real_regression_is_taken_for_one() -> None:
    assert regression_of(lambda: None) is None
