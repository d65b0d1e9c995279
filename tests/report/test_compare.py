import pytest

from hintbound.protocol import Verdict
from hintbound.report import ExpectedFailure
from hintbound.report.compare import Turn, compare
from tests.report.runs import outcome


@pytest.mark.parametrize(
    ("was", "now", "turn"),
    [
        (Verdict.PASS, Verdict.FAIL, Turn.BREAKS),
        (Verdict.NOT_SUPPORTED, Verdict.FAIL, Turn.BREAKS),
        (Verdict.FAIL, Verdict.PASS, Turn.HEALS),
        (Verdict.PASS, Verdict.NOT_SUPPORTED, Turn.ENDS),
        (Verdict.FAIL, Verdict.NOT_SUPPORTED, Turn.ENDS),
        (Verdict.NOT_SUPPORTED, Verdict.PASS, Turn.BEGINS),
        (Verdict.PASS, Verdict.UNKNOWN, Turn.UNCLEAR),
        (Verdict.SKIP, Verdict.PASS, Turn.UNCLEAR),
    ],
)
def test_each_pair_of_verdicts_has_its_turn(was: Verdict, now: Verdict, turn: Turn) -> None:
    (change,) = compare([outcome(was, "NNN-A")], [outcome(now, "NNN-A")])

    assert change.turn is turn


@pytest.mark.parametrize("verdict", list(Verdict))
def test_equal_verdicts_are_no_change(verdict: Verdict) -> None:
    assert compare([outcome(verdict, "NNN-A")], [outcome(verdict, "NNN-A")]) == []


def test_a_behaviour_that_one_side_does_not_know_cannot_be_compared() -> None:
    changes = compare([outcome(Verdict.PASS, "NNN-OLD")], [outcome(Verdict.PASS, "NNN-NEW")])

    assert [(change.turn, change.outcome.behaviour) for change in changes] == [
        (Turn.UNCLEAR, "NNN-NEW"),
        (Turn.UNCLEAR, "NNN-OLD"),
    ]


def test_that_a_failure_was_expected_changes_nothing_about_it() -> None:
    known = outcome(Verdict.FAIL, "NNN-A", expected=ExpectedFailure("We know.", "2999-12-31"))

    assert compare([outcome(Verdict.FAIL, "NNN-A")], [known]) == []
    assert compare([outcome(Verdict.PASS, "NNN-A")], [known])[0].turn is Turn.BREAKS


def test_the_worst_comes_first() -> None:
    before = [outcome(Verdict.NOT_SUPPORTED, "NNN-A"), outcome(Verdict.PASS, "NNN-B")]
    after = [outcome(Verdict.PASS, "NNN-A"), outcome(Verdict.FAIL, "NNN-B")]

    assert [change.outcome.behaviour for change in compare(before, after)] == ["NNN-B", "NNN-A"]
