"""Counters of a component, before and after."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hintbound.clusters.protocol import Component
from hintbound.kube.metrics import Metrics
from hintbound.plugin.judgement import NotSeen, Unproven
from hintbound.plugin.tally import Tally


class Pages:
    """A component whose `/metrics` shows one page after the other, the last one for ever."""

    name = "kube-scheduler-1"

    def __init__(self, *pages: str) -> None:
        self._pages = list(pages)

    async def metrics(self, *families: str) -> Metrics:
        page = self._pages.pop(0) if len(self._pages) > 1 else self._pages[0]
        return Metrics.parse(page, *families)


def page(**counts: int) -> str:
    lines = ["# TYPE runs_seconds histogram"]
    for point, count in counts.items():
        lines += [f'runs_seconds_bucket{{point="{point}",status="Success",le="+Inf"}} {count}']
        lines += [f'runs_seconds_count{{point="{point}",status="Success"}} {count}']
        lines += [f'runs_seconds_sum{{point="{point}",status="Success"}} 0.1']
    return "\n".join(lines) + "\n"


async def begin(*pages: str, patience: float = 5) -> Tally:
    component = cast(Component, cast(Any, Pages(*pages)))
    return await Tally.begin(component, "runs_seconds_count", by="point", patience=patience)


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        ({"Filter": 3}, {"Filter": 4}, {"Filter": 1, "Score": 0}),
        ({"Filter": 3}, {"Filter": 3, "Score": 2}, {"Filter": 0, "Score": 2}),
    ],
)
async def test_only_what_was_counted_since_counts(
    before: dict[str, int], after: dict[str, int], counted: dict[str, int]
) -> None:
    tally = await begin(page(**before), page(**after))
    so_far = await tally.so_far()
    assert {point: so_far[point] for point in counted} == counted


async def test_a_counter_that_comes_late_is_waited_for() -> None:
    tally = await begin(page(), page(), page(Filter=2), page(Filter=5))
    assert (await tally.so_far())["Filter"] == 3


async def test_a_counter_that_is_not_there_is_not_taken_for_zero() -> None:
    with pytest.raises(Unproven, match="kube-scheduler-1 does not count runs_seconds_count"):
        await begin(page(), patience=0.2)


async def test_counts_are_awaited() -> None:
    tally = await begin(page(Filter=3), page(Filter=3), page(Filter=4), page(Filter=5))
    assert (await tally.until(lambda made: made["Filter"] == 2, "two runs"))["Filter"] == 2


async def test_counts_that_never_come_are_named() -> None:
    tally = await begin(page(Filter=3), page(Filter=4, Score=1))
    with pytest.raises(NotSeen, match=r"awaited for 0.2 s: two runs; counted instead: Filter=1, Score=1"):
        await tally.until(lambda made: made["Filter"] == 2, "two runs", patience=0.2)
