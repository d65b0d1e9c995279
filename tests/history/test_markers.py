from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hintbound.history import (
    AuditRecorder,
    CaughtUp,
    ClientRecorder,
    Kind,
    Recorder,
    Source,
    Store,
    WatchRecorder,
    caught_up,
    read,
)
from hintbound.kube import Client
from hintbound.kube.resources import PODS
from hintbound.protocol import MARKER_LABEL
from tests.history.apiserver import Apiserver
from tests.history.lines import audit, line, pod, watched


class Stage:
    """A cluster with all three recorders on it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "audit.log"
        self.store = Store(folder / "history.ndjson")
        self.apiserver = Apiserver(self.log)
        self.client_recorder = ClientRecorder(self.store, cluster="shared")
        self.audit_recorder = AuditRecorder(
            self.store, [self.log], copy=folder / "audit.ndjson", cluster="shared"
        )
        self.watch_recorder: WatchRecorder
        self.client: Client

    async def caught_up(self, timeout: float = 5.0) -> CaughtUp:
        recorders: list[Recorder] = [self.watch_recorder, self.audit_recorder, self.client_recorder]
        return await caught_up(
            self.store, self.client, recorders, namespace="ns", test="T", cluster="shared", timeout=timeout
        )

    def log_patch(self, rv: str, hint: str) -> None:
        with self.log.open("ab") as log:
            log.write(line(audit("patch", subresource="status", answer=pod(rv=rv, hint=hint), at=float(rv))))

    def log_create(self, rv: str) -> None:
        with self.log.open("ab") as log:
            log.write(line(audit("create", code=201, answer=pod(rv=rv), at=float(rv))))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    async with AsyncExitStack() as opened:
        opened.enter_context(stage.store)
        await opened.enter_async_context(stage.apiserver)
        untapped = await opened.enter_async_context(stage.apiserver.client())
        stage.client = await opened.enter_async_context(stage.apiserver.client(stage.client_recorder))
        await opened.enter_async_context(stage.audit_recorder)
        stage.watch_recorder = await opened.enter_async_context(
            WatchRecorder(stage.store, untapped, cluster="shared", resources=[PODS])
        )
        stage.store.own("ns", test="T")
        yield stage


async def test_a_record_that_all_have_seen_is_complete_and_says_so_on_disk(stage: Stage) -> None:
    result = await stage.caught_up()
    stage.store.close()

    assert (result.complete, result.joined, result.reason) == (True, True, "")
    (marker,) = [event for event in read(stage.store.path) if event.kind == Kind.MARKER]
    assert (marker.test, marker.namespace, marker.data["complete"]) == ("T", "ns", True)


async def test_the_marker_is_a_pod_that_can_never_run(stage: Stage) -> None:
    await stage.caught_up()
    (made,) = stage.apiserver.objects["pods"].values()

    assert MARKER_LABEL in made["metadata"]["labels"]
    assert made["spec"]["schedulingGates"]


async def test_a_lagging_audit_log_is_named(stage: Stage) -> None:
    stage.apiserver.log = None

    result = await stage.caught_up(timeout=0.2)

    assert not result.complete
    assert len(result.lagging) == 1
    assert "the audit recorder of shared had not seen the marker pod ns/" in result.reason


async def test_a_dead_recorder_is_named_at_once(stage: Stage) -> None:
    stage.apiserver.refuse = 403
    died = asyncio.create_task(stage.store.wait_for(lambda event: event.kind == Kind.DIED, 5))
    await stage.apiserver.cut()
    await died
    stage.apiserver.refuse = None

    result = await stage.caught_up(timeout=30)

    assert not result.complete
    assert result.seconds < 5
    assert "the watch recorder of shared stopped: the watch of pods stopped: Forbidden" in result.reason


async def test_a_client_that_is_not_tapped_leaves_the_client_recorder_behind(stage: Stage) -> None:
    async with stage.apiserver.client() as stage.client:
        result = await stage.caught_up(timeout=0.2)

    assert [reason.split(" had")[0] for reason in result.lagging] == ["the client recorder of shared"]


async def test_a_marker_that_cannot_be_made_is_told(stage: Stage) -> None:
    stage.apiserver.refuse = 403

    result = await stage.caught_up()

    assert not result.complete
    assert "could not be created: POST /api/v1/namespaces/ns/pods: 403 Forbidden" in result.reason


async def test_a_version_whose_audit_line_comes_late_is_awaited(stage: Stage) -> None:
    await stage.apiserver.put("ADDED", pod())
    stage.log_create("1")
    await stage.apiserver.put("MODIFIED", pod(hint="n1"))
    waiting = asyncio.create_task(stage.caught_up())
    await asyncio.sleep(0.15)
    assert not waiting.done()
    stage.log_patch("2", "n1")

    result = await waiting
    assert (result.complete, result.reason) == (True, "")


@pytest.mark.parametrize(
    ("killed", "complete"), [("kube-apiserver-3", True), ("kube-scheduler", False), ("", False)]
)
async def test_what_an_apiserver_wrote_as_it_was_killed_is_told_by_no_log(
    stage: Stage, killed: str, complete: bool
) -> None:
    await stage.apiserver.put("ADDED", pod())
    stage.log_create("1")
    await stage.store.wait_for(lambda event: event.kind == Kind.ADDED, 5)
    if killed:
        stage.store.append(
            Kind.COMPONENT_KILLED, source=Source.ENGINE, cluster="shared", name=killed, data={}
        )
    await stage.apiserver.put("MODIFIED", pod(hint="n1"))

    result = await stage.caught_up(timeout=5 if complete else 0.3)

    assert (result.complete, bool(result.unexplained)) == (complete, not complete)


async def test_a_version_that_the_audit_log_never_tells_of_is_named(stage: Stage) -> None:
    await stage.apiserver.put("ADDED", pod())
    stage.log_create("1")
    await stage.apiserver.put("MODIFIED", pod(hint="n1"))

    result = await stage.caught_up(timeout=0.3)

    assert result.unexplained == ("the audit log does not tell who made pod ns/p at 2 (modified)",)
    assert not result.complete


async def test_below_request_response_the_record_is_not_whole(stage: Stage) -> None:
    stage.apiserver.level = "Metadata"
    await stage.apiserver.put("ADDED", pod())

    result = await stage.caught_up()

    assert (result.complete, result.joined) == (False, False)
    assert result.reason == "the audit log keeps pods at level Metadata, and RequestResponse is needed"


async def test_without_an_audit_log_watch_and_client_suffice(stage: Stage) -> None:
    recorders: list[Recorder] = [stage.watch_recorder, stage.client_recorder]
    result = await caught_up(stage.store, stage.client, recorders, namespace="ns", cluster="shared")

    assert (result.complete, result.joined) == (True, False)


async def test_a_gap_of_the_watch_in_which_the_audit_log_shows_nothing_new_is_healed(stage: Stage) -> None:
    await stage.apiserver.put("ADDED", pod())
    stage.log_create("1")
    await stage.store.wait_for(lambda e: e.source == Source.WATCH, 5, namespace="ns")
    await stage.apiserver.cut(forget=True)

    result = await stage.caught_up()

    assert result.complete
    assert len(result.healed) == 1
    assert "between resourceVersions 1 and" in result.healed[0]


async def test_a_gap_that_hides_a_version_is_not_healed(stage: Stage) -> None:
    await stage.apiserver.put("ADDED", pod())
    stage.log_create("1")
    await stage.store.wait_for(lambda e: e.source == Source.WATCH, 5, namespace="ns")
    stage.apiserver.refuse = 503
    await stage.apiserver.cut()
    await stage.apiserver.put("MODIFIED", pod(hint="n1"))
    stage.log_patch("2", "n1")
    await stage.apiserver.put("MODIFIED", pod(hint="n2"))
    stage.log_patch("3", "n2")
    await stage.apiserver.cut(forget=True)
    stage.apiserver.refuse = None
    await stage.store.wait_for(lambda e: e.kind == Kind.LISTED, 5, namespace="ns")

    result = await stage.caught_up()

    assert not result.complete
    assert result.healed == ()
    assert "the watch of pods missed" in result.reason


@pytest.mark.parametrize(
    ("source", "kind"), [(Source.AUDIT, Kind.GAP), (Source.WATCH, Kind.DIED), (Source.CLIENT, Kind.GAP)]
)
async def test_other_losses_are_never_healed(stage: Stage, source: Source, kind: Kind) -> None:
    watched(stage.store, Kind.LISTED, pod(rv="0"), cluster="shared")
    stage.store.append(kind, source=source, cluster="shared", data={"reason": "something was lost"})

    result = await stage.caught_up()

    assert result.gaps == ("something was lost",)
    assert not result.complete


async def test_losses_before_the_test_and_of_other_clusters_do_not_count(stage: Stage) -> None:
    stage.store.append(Kind.GAP, source=Source.WATCH, cluster="shared", data={"reason": "before"})
    stage.store.append(Kind.SCENARIO_STARTED, source=Source.ENGINE, test="T")
    stage.store.append(Kind.GAP, source=Source.WATCH, cluster="exclusive", data={"reason": "elsewhere"})

    assert (await stage.caught_up()).reason == ""
