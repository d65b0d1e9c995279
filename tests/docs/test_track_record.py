"""The track record in the docs is the one of these regressions, complete, and as it was played."""

from __future__ import annotations

import json
import re

import pytest

from hintbound import data
from hintbound.plugin import catalogue
from hintbound.plugin.catalogue import Entry
from hintbound.report import track_record
from hintbound.report.track_record import TrackRecord

DOCS = data.folder("docs")
ENOUGH = 5
"""So often a race must not be one."""


@pytest.fixture(scope="module")
def record() -> TrackRecord:
    return TrackRecord.from_json(json.loads((DOCS / track_record.FILE).read_bytes()))


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    return {entry.behaviour.id: entry for entry in catalogue.collect() if entry.regression}


def test_page_is_written_from_the_record(record: TrackRecord) -> None:
    page = (DOCS / track_record.PAGE).read_text(encoding="utf-8")
    assert page == track_record.page(record), "run `python tools/track_record.py --page`"


def test_record_is_of_what_the_regressions_say(record: TrackRecord, entries: dict[str, Entry]) -> None:
    assert {bug.behaviour for bug in record.bugs} == set(entries), "run `make regressions`"
    for bug in record.bugs:
        said = entries[bug.behaviour].regression
        assert said is not None
        assert (bug.bug, bug.about, bug.checks, bug.means, bug.note) == (
            said.bug,
            said.about,
            said.checks,
            said.means,
            said.note,
        )
        with_mutants = {f"{track_record.MUTANT}{name}" for name in said.mutants}
        assert {play.cluster for play in bug.plays if play.has} == {*said.shows, *with_mutants}
        assert {play.cluster for play in bug.plays if not play.has} == set(said.absent)


def test_every_bug_came_out_as_it_is_said_often_enough(record: TrackRecord) -> None:
    for bug in record.bugs:
        assert bug.holds, f"{bug.bug} did not come out as it is said: run `make regressions`"
        for play in bug.plays:
            assert play.times >= ENOUGH, f"{bug.bug} was played {play.times} times on {play.cluster}"
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", play.last)
