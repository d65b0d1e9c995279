"""The catalogue: what the suites say they judge."""

from __future__ import annotations

import re

import pytest
import yaml

from hintbound import data
from hintbound.clusters.protocol import Capability
from hintbound.plugin import catalogue
from hintbound.plugin.catalogue import Entry
from hintbound.protocol import Level, Severity
from hintbound.report import glossary


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return catalogue.collect()


def test_the_catalogue_in_the_suites_is_current(entries: list[Entry]) -> None:
    written = (data.folder("suites") / catalogue.FILE).read_text(encoding="utf-8")
    assert written == catalogue.to_yaml(entries), "run `make behaviours`"


def test_every_behaviour_says_what_a_reader_needs(entries: list[Entry]) -> None:
    for entry in entries:
        behaviour = entry.behaviour
        assert re.fullmatch(r"[A-Z`].*\.", behaviour.must), f"{behaviour.id}: must is no sentence"
        assert re.fullmatch(r"[A-Z0-9`].*\.", behaviour.why), f"{behaviour.id}: why is no sentence"
        assert re.fullmatch(r"[A-Z`].{30,220}\.", entry.tested), f"{behaviour.id}: how is it tested?"
        assert glossary.usual_cause(entry.file), f"{behaviour.id}: what does its failure come from?"
        assert entry.about, f"{behaviour.id}: its file says nothing of itself"
        path, _, test = entry.file.partition("::")
        assert (data.folder("suites").parent / path).is_file()
        assert test.startswith("test_")


def test_what_an_upgrade_changes_and_what_is_legal_but_harmful_say_who_is_affected_and_what_to_do(
    entries: list[Entry],
) -> None:
    for entry in entries:
        behaviour = entry.behaviour
        harmful = behaviour.severity is Severity.HAZARD
        if behaviour.applies.text or harmful or behaviour.affects or behaviour.advice:
            assert behaviour.affects, f"{behaviour.id}: it affects nobody"
            assert re.fullmatch(r"[A-Z].{40,260}\.", behaviour.advice), f"{behaviour.id}: no advice"


def test_what_is_provisional_applies_only_behind_a_gate_that_is_off_by_default(entries: list[Entry]) -> None:
    provisional = [entry.behaviour for entry in entries if entry.behaviour.provisional]
    assert provisional
    for behaviour in provisional:
        assert {gate for _, gate in behaviour.applies.gates()} == {"GenericWorkload"}, behaviour.id


def test_the_first_ten_sentences_are_judged_with_gates_on_and_off(entries: list[Entry]) -> None:
    ids = {entry.behaviour.id for entry in entries}
    assert ids >= {
        "NNN-FIELD-DROPPED-AT-CREATE",
        "NNN-FIELD-MAIN-RESOURCE-IGNORED",
        "NNN-FIELD-VALIDATED",
        "NNN-BOUND-FORBIDDEN",
        "NNN-BOUND-ACCEPTED",
        "NNN-BIND-CLEARS",
        "NNN-BIND-KEEPS",
        "NNN-HINT-TAKEN",
        "NNN-HINT-FALLS-THROUGH",
        "NNN-HINT-EQUAL-YIELDS",
        "NNN-HINT-HIGHER-IGNORES",
        "NNN-CLEAR-NOTHING-FITS",
        "NNN-PREEMPT-NOMINATES-WAITS-BINDS",
    }


def test_every_capability_is_put_into_words() -> None:
    assert glossary.CAPABILITIES.keys() == set(Capability)


def test_core_behaviours_ask_for_no_restart_and_one_apiserver(entries: list[Entry]) -> None:
    for entry in entries:
        if entry.behaviour.level is Level.CORE:
            assert not entry.behaviour.needs & {"RESTART_COMPONENT", "MANY_APISERVERS"}, entry.behaviour.id


def test_yaml_leaves_out_what_is_empty_and_loses_nothing(entries: list[Entry]) -> None:
    records = yaml.safe_load(catalogue.to_yaml(entries))
    assert [record["id"] for record in records] == [entry.behaviour.id for entry in entries]
    for record, entry in zip(records, entries, strict=True):
        assert record["must"] == entry.behaviour.must
        assert record.get("applies", "") == entry.behaviour.applies.text
        assert all(value not in ("", [], False) for value in record.values())
