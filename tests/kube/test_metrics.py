"""Metrics: sums, gates and versions as a component states them."""

from __future__ import annotations

import time

import pytest

from hintbound.kube import Metrics, component_version, feature_gates

PAGE = """\
# HELP kubernetes_feature_enabled [BETA] This metric records the stage and enablement of a k8s feature.
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="NominatedNodeNameForExpectation",stage="BETA"} 1
kubernetes_feature_enabled{name="SchedulerAsyncAPICalls",stage="BETA"} 0
kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0
kubernetes_feature_enabled{name="StorageVersionHash",stage=""} 1
# HELP kubernetes_build_info [ALPHA] A metric with a constant '1' value
# TYPE kubernetes_build_info gauge
kubernetes_build_info{build_date="",compiler="gc",git_commit="",git_version="v1.35.4",major="",minor=""} 1
# HELP scheduler_schedule_attempts_total [STABLE] Number of, not scheduler_schedule_attempts_total{x="1"} 5
# TYPE scheduler_schedule_attempts_total counter
scheduler_schedule_attempts_total{profile="a",result="scheduled"} 3
scheduler_schedule_attempts_total{profile="a",result="unschedulable"} 2
scheduler_schedule_attempts_total{profile="b",result="scheduled"} 10
# TYPE scheduler_pod_scheduling_attempts histogram
scheduler_pod_scheduling_attempts_bucket{le="1"} 4
scheduler_pod_scheduling_attempts_bucket{le="+Inf"} 5
scheduler_pod_scheduling_attempts_sum 7
scheduler_pod_scheduling_attempts_count 5
# TYPE escaped gauge
escaped{text="a \\"quoted\\", {braced} scheduler_schedule_attempts_total\\n"} 1.5e+06
"""


def test_gates_are_read_by_name() -> None:
    assert feature_gates(PAGE) == {
        "NominatedNodeNameForExpectation": True,
        "SchedulerAsyncAPICalls": False,
        "AllAlpha": False,
        "StorageVersionHash": True,
    }


def test_version_is_that_of_the_build() -> None:
    assert component_version(PAGE) == "v1.35.4"
    assert component_version("# nothing\n") is None


@pytest.mark.parametrize(
    "families", [(), ("scheduler_schedule_attempts_total", "scheduler_pod_scheduling_attempts")]
)
def test_value_sums_over_the_labels_not_named(families: tuple[str, ...]) -> None:
    metrics = Metrics.parse(PAGE, *families)

    assert metrics.value("scheduler_schedule_attempts_total") == 15
    assert metrics.value("scheduler_schedule_attempts_total", profile="a") == 5
    assert metrics.value("scheduler_schedule_attempts_total", profile="b", result="scheduled") == 10
    assert metrics.value("scheduler_schedule_attempts_total", profile="c") == 0
    assert metrics.value("scheduler_pod_scheduling_attempts_bucket", le="1") == 4
    assert metrics.value("scheduler_pod_scheduling_attempts_count") == 5


def test_only_wanted_families_are_kept() -> None:
    kept = Metrics.parse(PAGE, "scheduler_schedule_attempts_total")

    assert {sample.name for sample in kept.samples} == {"scheduler_schedule_attempts_total"}
    assert len(kept.samples) == 3


def test_filter_changes_nothing_of_what_it_keeps() -> None:
    families = sorted({sample.name for sample in Metrics.parse(PAGE).samples})

    assert set(map(repr, Metrics.parse(PAGE, *families).samples)) == set(
        map(repr, Metrics.parse(PAGE).samples)
    )


def test_a_page_of_many_megabytes_takes_a_moment() -> None:
    line = 'apiserver_request_duration_seconds_bucket{verb="GET",resource="r%d",le="0.%d"} 1\n'
    big = "".join(line % (n % 300, n) for n in range(150_000)) + PAGE

    begun = time.process_time()
    assert feature_gates(big)["NominatedNodeNameForExpectation"]

    assert len(big) > 10_000_000
    assert time.process_time() - begun < 0.5
