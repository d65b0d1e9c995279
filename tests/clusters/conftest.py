"""A state folder of its own for each test, and two real control planes that all tests share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from hintbound.clusters import parse
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.embedded.options import Options
from hintbound.protocol import ComponentKind
from tests.clusters.world import World

SPEC = "embedded:1.35,OpportunisticBatching=false,kube-scheduler.SchedulerAsyncAPICalls=true"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No cluster of this machine is seen or touched."""
    folder = tmp_path / "state"
    monkeypatch.setenv("HINTBOUND_STATE", str(folder))
    return folder


@dataclass
class Pair:
    """Two control planes on one machine at the same time."""

    cluster: EmbeddedCluster
    ordinary: EmbeddedCluster
    told: list[tuple[str, str]] = field(default_factory=list)
    """Of the first cluster: event and component."""


@pytest.fixture(scope="session")
def shared_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pair(shared_state: Path) -> AsyncIterator[Pair]:
    told: list[tuple[str, str]] = []
    ordinary = {ComponentKind.APISERVER: ["--disable-admission-plugins="]}
    pair = Pair(
        EmbeddedCluster(
            parse(SPEC), Options(listener=lambda event, process, _: told.append((event, process.name)))
        ),
        EmbeddedCluster(parse("embedded:1.35"), Options(name="ordinary", flags=ordinary)),
        told,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HINTBOUND_STATE", str(shared_state))
        pair.cluster.resolve()
        pair.ordinary.resolve()
        await asyncio.gather(pair.cluster.start(), pair.ordinary.start())
    yield pair
    await asyncio.gather(pair.cluster.close(), pair.ordinary.close())


@pytest.fixture
def cluster(pair: Pair) -> EmbeddedCluster:
    """The one most tests use; it has gates set and the two admission plugins off."""
    return pair.cluster


@pytest.fixture
def ordinary(pair: Pair) -> EmbeddedCluster:
    """One with all default admission plugins, as clusters of others have them."""
    return pair.ordinary


@pytest_asyncio.fixture(loop_scope="session")
async def world(cluster: EmbeddedCluster) -> AsyncIterator[World]:
    """A namespace and nodes of its own on the shared cluster."""
    async with World(cluster) as world:
        yield world
