"""Components that die by themselves, and stages that cannot be started."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from hintbound.clusters import spec
from hintbound.clusters.protocol import ComponentState
from hintbound.errors import CannotStart
from hintbound.history.store import Store
from hintbound.kube.errors import ConnectionFailed
from hintbound.plugin import stage as stage_module
from hintbound.plugin.stage import Stage, start_all
from hintbound.protocol import ComponentKind
from hintbound.report.folder import RunFolder

SCHEDULER = SimpleNamespace(name="kube-scheduler")
ANOTHERS = SimpleNamespace(name="kube-scheduler-1")


@pytest.fixture
def stage(store: Store, tmp_path: Path) -> Stage:
    made = Stage("shared", spec.parse("embedded:1.35"), store, RunFolder("r", tmp_path))
    made.states = (
        ComponentState("kube-scheduler", ComponentKind.SCHEDULER, "v1.35.4", {"X": True}),
        ComponentState("kube-apiserver", ComponentKind.APISERVER, "v1.34.0", None),
    )
    store.own("hb-a", test="A")
    return made


def begin(store: Store) -> None:
    store.append("scenario-started", source="engine", cluster="shared", namespace="hb-a")


def test_a_death_during_the_scenario_counts(stage: Stage, store: Store) -> None:
    begin(store)
    stage._component("exited", SCHEDULER, {"code": -9})
    assert stage.deaths("hb-a") == ["kube-scheduler died by itself (SIGKILL)"]


def test_a_death_before_the_scenario_counts_until_it_is_started_again(stage: Stage, store: Store) -> None:
    stage._component("exited", SCHEDULER, {"code": 1})
    begin(store)
    assert stage.deaths("hb-a") == ["kube-scheduler died by itself (exit code 1)"]
    stage._component("started", SCHEDULER, {})
    assert stage.deaths("hb-a") == []


def test_a_death_that_was_repaired_meanwhile_counts(stage: Stage, store: Store) -> None:
    begin(store)
    stage._component("exited", SCHEDULER, {"code": 1})
    stage._component("started", SCHEDULER, {})
    assert stage.deaths("hb-a") == ["kube-scheduler died by itself (exit code 1)"]


def test_the_death_of_another_scenarios_scheduler_does_not_count(stage: Stage, store: Store) -> None:
    begin(store)
    stage._component("exited", ANOTHERS, {"code": 1})
    assert stage.deaths("hb-a") == []
    assert stage.deaths("hb-a", own=["kube-scheduler-1"]) == ["kube-scheduler-1 died by itself (exit code 1)"]


def test_what_a_test_ends_itself_is_no_death(stage: Stage, store: Store) -> None:
    begin(store)
    for event in ("killed", "stopped", "paused"):
        stage._component(event, SCHEDULER, {})
    assert stage.deaths("hb-a") == []


def test_a_version_counts_as_read_where_gates_do_not(stage: Stage) -> None:
    assert stage.facts.versions[ComponentKind.APISERVER] == "v1.34.0"
    assert ComponentKind.APISERVER not in stage.facts.gates


class Lasting:
    """A cluster that can stay and has logs of its own."""

    capabilities: frozenset[str] = frozenset()

    def __init__(self, fails: Exception | None = None) -> None:
        self.did: list[str] = []
        self._fails = fails

    async def start(self) -> None:
        if self._fails:
            raise self._fails

    async def components(self) -> list[ComponentState]:
        return []

    def client(self, *_: object) -> None:
        return None

    async def close(self) -> None:
        self.did.append("closed")

    async def leave(self) -> str:
        self.did.append("left")
        return "run-1"

    def kubeconfig(self, user: str = "") -> Path:
        raise NotImplementedError(user)

    async def export_logs(self, into: Path) -> None:
        self.did.append(f"exported into {'/'.join(into.parts[-3:])}")


@pytest.mark.parametrize(
    ("keep", "spoiled", "did"),
    [
        (False, False, ["closed"]),
        (True, False, ["left"]),
        (False, True, ["exported into logs/shared/nodes", "closed"]),
        (True, True, ["exported into logs/shared/nodes", "left"]),
    ],
)
async def test_a_cluster_ends_as_it_was_asked_and_leaves_its_logs_where_they_matter(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool, spoiled: bool, did: list[str]
) -> None:
    cluster = Lasting()
    monkeypatch.setattr("hintbound.clusters.open_cluster", lambda *_, **__: cluster)
    monkeypatch.setattr(stage_module, "WatchRecorder", lambda *_, **__: contextlib.AsyncExitStack())
    stage = Stage("shared", spec.parse("embedded"), store, RunFolder("r", tmp_path), keep=keep)
    await stage.start()
    stage.spoiled = spoiled
    await stage.close()
    assert (cluster.did, stage.kept) == (did, "run-1" if keep else "")


async def test_a_cluster_that_did_not_start_is_not_kept(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Lasting(CannotStart("no."))
    monkeypatch.setattr("hintbound.clusters.open_cluster", lambda *_, **__: cluster)
    stage = Stage("shared", spec.parse("embedded"), store, RunFolder("r", tmp_path), keep=True)
    with pytest.raises(CannotStart):
        await stage.start()
    assert (cluster.did, stage.kept) == (["closed"], "")


async def test_a_cluster_that_is_broken_off_while_it_is_left_is_ended(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Lasting()
    monkeypatch.setattr(cluster, "leave", AsyncMock(side_effect=asyncio.CancelledError))
    monkeypatch.setattr("hintbound.clusters.open_cluster", lambda *_, **__: cluster)
    monkeypatch.setattr(stage_module, "WatchRecorder", lambda *_, **__: contextlib.AsyncExitStack())
    stage = Stage("shared", spec.parse("embedded"), store, RunFolder("r", tmp_path), keep=True)
    await stage.start()
    with pytest.raises(asyncio.CancelledError):
        await stage.close()
    assert (cluster.did, stage.kept) == (["closed"], "")


@pytest.mark.parametrize("text", ["existing:mine", "kind:cluster=mine"])
def test_what_is_not_ours_is_not_ours_to_keep(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("hintbound.clusters.open_cluster", lambda *_, **__: Lasting())
    with pytest.raises(CannotStart, match=r"is not for us to keep or to end\. Leave --keep out\."):
        Stage("shared", spec.parse(text), store, RunFolder("r", tmp_path), keep=True)


class Cluster:
    """Starts as it is told."""

    capabilities: frozenset[str] = frozenset()

    def __init__(self, fails: BaseException | None) -> None:
        self._fails = fails
        self.closed = 0

    async def start(self) -> None:
        if self._fails:
            raise self._fails
        await asyncio.Event().wait()

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (CannotStart("no such version."), "no such version."),
        (ConnectionFailed("refused", method="GET", path="/"), "the shared control plane cannot be observed"),
    ],
)
async def test_a_stage_that_cannot_start_closes_all_of_them(
    stage: Stage, store: Store, tmp_path: Path, fails: BaseException, said: str
) -> None:
    other = Stage("exclusive", spec.parse("embedded:1.35"), store, RunFolder("r", tmp_path))
    clusters: list[Any] = [Cluster(fails), Cluster(None)]
    stage.cluster, other.cluster = clusters
    with pytest.raises(CannotStart, match=said):
        await start_all([stage, other], lambda _stage: None)
    assert [cluster.closed for cluster in clusters] == [1, 1]
