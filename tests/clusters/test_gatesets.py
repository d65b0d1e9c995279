import pytest

from hintbound.clusters import ClusterSpec, parse
from hintbound.clusters.gatesets import GATE_SETS
from hintbound.errors import CannotStart

EXPECTATION = "NominatedNodeNameForExpectation"
CLEARING = "ClearingNominatedNodeNameAfterBinding"


def test_a_set_stands_for_its_gates() -> None:
    assert parse("embedded:1.35,@clearing-only") == ClusterSpec(
        "embedded", "1.35", {EXPECTATION: False, CLEARING: True}
    )


@pytest.mark.parametrize("order", [f"@nnn-on,{CLEARING}=false", f"{CLEARING}=false,@nnn-on"])
def test_a_single_gate_wins_over_the_set(order: str) -> None:
    assert parse(f"embedded:{order}").gates == {EXPECTATION: True, CLEARING: False}


def test_sets_add_up() -> None:
    spec = parse("embedded:1.35,@nnn-off,@async-api-on")

    assert spec.gates == {EXPECTATION: False, CLEARING: False, "SchedulerAsyncAPICalls": True}


def test_the_default_set_sets_nothing() -> None:
    assert parse("embedded:1.35,@default") == parse("embedded:1.35")


def test_a_set_leads_where_no_version_is_named() -> None:
    assert parse("embedded:@nnn-on") == parse("embedded,@nnn-on")


def test_an_unknown_set_is_told_with_the_nearest() -> None:
    with pytest.raises(CannotStart, match=r"unknown gate set '@nnn-of'\. Did you mean '@nnn-off'"):
        parse("embedded:1.35,@nnn-of")


def test_an_existing_cluster_takes_no_set() -> None:
    with pytest.raises(CannotStart, match="an existing cluster is taken as it is"):
        parse("existing:dev,@nnn-on")


@pytest.mark.parametrize("name", GATE_SETS)
def test_what_is_written_out_reads_back(name: str) -> None:
    spec = parse(f"embedded:1.37,@{name}")

    assert parse(str(spec)) == spec
