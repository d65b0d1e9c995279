"""Schedulers of one's own: each binds its own pods only, by its own gates and configuration."""

from __future__ import annotations

import asyncio

import pytest

from hintbound.clusters import SchedulerSpec
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.embedded.process import ComponentDied
from tests.clusters.world import World, processes_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

_ATTEMPTS = "scheduler_schedule_attempts"
_HINTS = "NominatedNodeNameForExpectation"


async def test_own_schedulers_bind_only_their_own_pods(cluster: EmbeddedCluster, world: World) -> None:
    specs = (
        SchedulerSpec("own-a", gates={_HINTS: False}),
        SchedulerSpec("own-b", config={"profiles": [{"percentageOfNodesToScore": 37}]}),
        SchedulerSpec("own-old", version="1.34"),
    )
    await world.node()
    own = await asyncio.gather(*(cluster.add_scheduler(spec) for spec in specs))
    try:
        for name in ("own-a", "own-b", "own-old", "default-scheduler", "nobody"):
            await world.pod(f"pod-of-{name}", schedulerName=name)
        for name in ("own-a", "own-b", "own-old", "default-scheduler"):
            await world.bound(f"pod-of-{name}")

        for spec, part in zip(specs, own, strict=True):
            attempts = await part.metrics(_ATTEMPTS)
            by_profile = {(s.labels["profile"], s.labels["result"]): s.value for s in attempts.samples}
            assert by_profile == {(spec.scheduler_name, "scheduled"): 1}
        nobodys = await world.get("pod-of-nobody")
        assert "nodeName" not in nobodys["spec"]
        assert nobodys["status"].get("conditions") is None

        states = {state.name: state for state in await cluster.components()}
        gates = [states[part.name].gates or {} for part in own]
        assert [gate[_HINTS] for gate in gates] == [False, True, False]
        assert [states[part.name].version for part in own] == ["v1.35.4", "v1.35.4", "v1.34.4"]
        served = await cluster.component(own[1].name).page("/configz")
        assert '"percentageofnodestoscore":37' in served.lower()
    finally:
        await asyncio.gather(*(cluster.remove(part) for part in own))

    programs = list(processes_of(cluster.folder).values())
    assert sum("kube-scheduler" in program for program in programs) == 1


async def test_own_scheduler_that_cannot_start_is_told_and_forgotten(cluster: EmbeddedCluster) -> None:
    before = [state.name for state in await cluster.components()]

    with pytest.raises(ComponentDied, match="unrecognized feature gate: Bogus"):
        await cluster.add_scheduler(SchedulerSpec("own", gates={"Bogus": True}))
    with pytest.raises(ComponentDied, match=r'unknown field \\?"profilez'):
        await cluster.add_scheduler(SchedulerSpec("own", config={"profilez": []}))

    assert [state.name for state in await cluster.components()] == before


async def test_own_scheduler_whose_starter_gives_up_does_not_stay(cluster: EmbeddedCluster) -> None:
    before = processes_of(cluster.folder)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await cluster.add_scheduler(SchedulerSpec("own"))

    assert processes_of(cluster.folder) == before
    assert [state.name for state in await cluster.components()].count("kube-scheduler") == 1
