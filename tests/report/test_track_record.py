"""The track record: what it keeps, what it takes over, what it shows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hintbound.errors import CannotStart
from hintbound.report import track_record
from hintbound.report.track_record import Bug, History, Play, TrackRecord

HAS = Play("embedded:1.34.4", True, 5, 5, "2026-11-30", ("victim-deleted-once",), "6 DELETEs")
HAS_NOT = Play("embedded:1.35.4", False, 5, 5, "2026-11-30")
BUG = Bug(
    "kubernetes#134249",
    "many DELETEs",
    "BUG-KUBERNETES-134249",
    ("victim-deleted-once",),
    "a webhook holds the DELETE",
    "A note.",
    (HAS, HAS_NOT),
)
RECORD = TrackRecord("0.1.0", (BUG,))


def test_nothing_is_lost_on_the_way_to_disk() -> None:
    with_history = replace(RECORD, bugs=(replace(BUG, history=History("a::b", "2026-11-30")),))
    for record in (RECORD, with_history):
        assert TrackRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_another_format_is_refused() -> None:
    with pytest.raises(CannotStart, match="Make it anew: make regressions"):
        TrackRecord.from_json({"format": "v2"})


@pytest.mark.parametrize(
    "bug",
    [
        replace(BUG, plays=(replace(HAS, as_said=4), HAS_NOT)),
        replace(BUG, plays=(HAS, replace(HAS_NOT, as_said=4))),
        replace(BUG, plays=(replace(HAS, seen_by=()), HAS_NOT)),
        replace(BUG, history=History("a::b", "")),
    ],
    ids=["shows not always", "shows where it must not", "unseen by its check", "not found in the history"],
)
def test_what_came_out_otherwise_does_not_hold(bug: Bug) -> None:
    assert BUG.holds
    assert not bug.holds


def test_what_was_not_played_now_is_kept_as_it_was() -> None:
    unplayed = replace(HAS_NOT, times=0, as_said=0, last="")
    again = replace(HAS, last="2026-12-01")
    newer = replace(RECORD, bugs=(replace(BUG, plays=(again, unplayed)),))

    assert RECORD.updated(newer).bugs[0].plays == (again, HAS_NOT)


def test_what_is_no_longer_said_is_dropped() -> None:
    newer = replace(RECORD, bugs=(replace(BUG, plays=(HAS,)),))
    assert RECORD.updated(newer).bugs[0].plays == (HAS,)
    turned = replace(RECORD, bugs=(replace(BUG, plays=(replace(HAS_NOT, has=True, times=0, last=""),)),))
    assert RECORD.updated(turned).bugs[0].plays[0].times == 0, "it was played for the contrary"


def test_a_row_tells_where_how_often_and_by_what() -> None:
    page = track_record.page(RECORD)
    assert (
        "| kubernetes#134249<br>`BUG-KUBERNETES-134249` | many DELETEs | `victim-deleted-once` | "
        "`1.34.4` 5/5 | `1.35.4` 5/5 | 2026-11-30 |"
    ) in page
    assert "* **kubernetes#134249**: a webhook holds the DELETE. A note." in page


def test_a_check_that_missed_it_once_is_not_said_to_see_it() -> None:
    other = replace(HAS, cluster="embedded:1.33.13", seen_by=())
    row = track_record.page(replace(RECORD, bugs=(replace(BUG, plays=(HAS, other)),)))
    assert "| many DELETEs | - |" in row


def test_mutants_and_histories_are_named() -> None:
    by_mutant = replace(HAS, cluster="mutant:splits-nomination")
    assert "the mutant `splits-nomination` 5/5" in track_record.page(
        replace(RECORD, bugs=(replace(BUG, plays=(by_mutant,)),))
    )
    by_hand = replace(BUG, plays=(HAS_NOT,), history=History("a::b", "2026-11-29"))
    row = track_record.page(replace(RECORD, bugs=(by_hand,)))
    assert "| no pinned release; a history written by hand | `1.35.4` 5/5 | 2026-11-29 |" in row
