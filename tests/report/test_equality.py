"""Equal verdicts of two clusters: what is alike, what explains a difference, what nothing explains."""

from __future__ import annotations

from typing import Any

import pytest

from hintbound.protocol import Verdict
from hintbound.report import ClusterInfo, ComponentInfo, Outcome, Run
from hintbound.report.equality import equality, write
from tests.report.runs import outcome, run

PASS, SKIP, VOID = Verdict.PASS, Verdict.SKIP, Verdict.NOT_SUPPORTED
KINDS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def of(
    *outcomes: Outcome, version: str = "v1.35.4", gates: dict[str, bool] | None = None, **about: Any
) -> Run:
    gates = {"Some": True} if gates is None else gates
    parts = tuple(ComponentInfo(kind, kind, version, gates) for kind in KINDS)
    return run(*outcomes, **{"clusters": (ClusterInfo("shared", parts),)} | about)


def test_equal_verdicts_hold_whatever_they_are() -> None:
    both = [outcome(verdict, f"NNN-{verdict.name}") for verdict in Verdict]
    compared = equality(of(*both), of(*both))

    assert compared.holds
    assert [one.behaviour for one in compared.alike] == [one.behaviour for one in both]


@pytest.mark.parametrize("verdicts", [(SKIP, PASS), (PASS, SKIP), (VOID, SKIP)])
def test_what_one_cluster_cannot_offer_is_explained_by_its_record(verdicts: tuple[Verdict, Verdict]) -> None:
    first, second = (
        outcome(verdict, "NNN-A", reason="it does not offer REAL_NODES" if verdict is SKIP else "")
        for verdict in verdicts
    )
    compared = equality(of(first), of(second))

    assert compared.holds
    assert [change.outcome.behaviour for change in compared.explained] == ["NNN-A"]
    assert "skip: it does not offer REAL_NODES" in write([compared]).partition("## Explained differences")[2]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([(PASS, "NNN-A")], [(Verdict.FAIL, "NNN-A")]),
        ([(PASS, "NNN-A")], [(VOID, "NNN-A")]),
        ([(Verdict.UNKNOWN, "NNN-A")], [(PASS, "NNN-A")]),
        ([(PASS, "NNN-A")], []),
        ([], [(SKIP, "NNN-A")]),
    ],
)
def test_any_other_difference_fails_and_is_shown(
    first: list[tuple[Verdict, str]], second: list[tuple[Verdict, str]]
) -> None:
    compared = equality(of(*(outcome(*one) for one in first)), of(*(outcome(*one) for one in second)))

    assert not compared.holds
    assert [change.outcome.behaviour for change in compared.unexplained] == ["NNN-A"]
    assert "| `NNN-A` |" in write([compared]).partition("## Unexplained differences")[2]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"version": "v1.35.8"}, "kube-scheduler is v1.35.4 and v1.35.8"),
        ({"gates": {"Some": False}}, "kube-scheduler: Some is on and off"),
        ({"gates": {}}, "kube-apiserver: Some is on and not known"),
        ({"clusters": ()}, "kube-scheduler is known of one only"),
        ({"reason": "interrupted"}, "interrupted"),
        ({"finished": ""}, "the run has not come to its end"),
    ],
)
def test_runs_that_are_not_of_one_version_and_gates_or_not_complete_do_not_compare(
    other: dict[str, Any], words: str
) -> None:
    compared = equality(of(outcome(PASS, "NNN-A")), of(outcome(PASS, "NNN-A"), **other))

    assert not compared.holds
    assert words in write([compared]).partition("## What cannot be compared")[2]


def test_the_page_counts_what_is_alike_and_names_both_clusters() -> None:
    outcomes = [outcome(PASS, "NNN-A"), outcome(PASS, "NNN-B"), outcome(VOID, "NNN-C")]
    page = write([equality(of(*outcomes), of(*outcomes, cluster_spec="kind:a.yaml"))])

    (row,) = [line for line in page.splitlines() if line.startswith("| 1 |")]
    assert row == (
        "| 1 | `embedded:1.35` | v1.35.4, 12 s | `kind:a.yaml` | v1.35.4, 12 s "
        "| 2 pass, 1 not-supported | 0 | 0 |"
    )
    assert "##" not in page.removeprefix("# ")


def test_a_difference_that_several_pairs_show_stands_once() -> None:
    lacking = outcome(SKIP, "NNN-A", reason="it does not offer REAL_NODES")
    pair = equality(of(lacking), of(outcome(PASS, "NNN-A")))

    (row,) = [line for line in write([pair, pair]).splitlines() if line.startswith("| `NNN-A`")]
    assert row == "| `NNN-A` | 1, 2 | skip: it does not offer REAL_NODES | pass |"
