from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hintbound.errors import CannotStart
from hintbound.history import AuditRecorder, Event, Kind, Source, Store
from tests.history.lines import audit, line, pod


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    with Store(tmp_path / "history.ndjson") as store:
        yield store


def _recorder(store: Store, *logs: Path) -> AuditRecorder:
    return AuditRecorder(store, logs, copy=store.path.with_name("audit.ndjson"), cluster="shared")


def _patch(rv: str, name: str = "p") -> bytes:
    return line(audit("patch", name=name, subresource="status", answer=pod(name, rv=rv, hint="n1")))


async def _until(store: Store, name: str) -> Event:
    return await store.wait_for(lambda e: e.name == name, 2, namespace="ns", what=f"the line about {name}")


def _names(store: Store) -> list[str]:
    return [event.name for event in store.slice(namespace="ns") if event.source == Source.AUDIT]


async def test_a_line_about_a_pod_becomes_an_event_with_its_version(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(_patch("7"))
    async with _recorder(store, log):
        event = await _until(store, "p")

    assert (event.kind, event.cluster, event.resource) == (Kind.RESPONSE_COMPLETE, "shared", "pods/status")
    assert (event.uid, event.resource_version) == ("u1", "7")
    assert event.data["user"]["username"] == "hintbound-author"


async def test_every_line_is_kept_byte_by_byte_and_others_are_only_counted(
    tmp_path: Path, store: Store
) -> None:
    log = tmp_path / "audit.log"
    content = line(audit("update", resource="leases", name="l")) + _patch("7") + b'{"odd": "pods-like"}\n'
    log.write_bytes(content)
    async with _recorder(store, log) as recorder:
        await _until(store, "p")

    assert (tmp_path / "audit.ndjson").read_bytes() == content
    assert recorder.others == {"another resource": 2}
    assert len(store) == 1


async def test_half_a_line_waits_for_its_other_half(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    whole = _patch("7", "first")
    with log.open("wb", buffering=0) as file:
        async with _recorder(store, log) as recorder:
            for cut in (whole[:10], whole[10:200]):
                file.write(cut)
                await asyncio.sleep(0.03)
                assert len(store) == 0
            file.write(whole[200:] + _patch("8", "second")[:40])
            await _until(store, "first")
            file.write(_patch("8", "second")[40:])
            await _until(store, "second")

    assert recorder.gaps == []
    assert _names(store) == ["first", "second"]


async def test_a_log_may_come_later_than_the_recorder(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "later" / "audit.log"
    async with _recorder(store, log) as recorder:
        await asyncio.sleep(0.03)
        log.parent.mkdir()
        log.write_bytes(_patch("7"))
        await _until(store, "p")

    assert recorder.gaps == []


async def test_nothing_is_lost_or_doubled_across_a_rotation(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(_patch("1", "a"))
    async with _recorder(store, log) as recorder:
        await _until(store, "a")
        with log.open("ab") as file:
            file.write(_patch("2", "b"))
        log.rename(tmp_path / "audit-2026-11-30T09-00-00.001.log")
        log.write_bytes(_patch("3", "c"))
        await _until(store, "c")

    assert _names(store) == ["a", "b", "c"]
    assert recorder.gaps == []


async def test_several_rotations_between_two_looks_lose_nothing(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(_patch("1", "a"))
    async with _recorder(store, log) as recorder:
        await _until(store, "a")
        for number, name in enumerate("bcd"):
            log.rename(tmp_path / f"audit-2026-11-30T09-00-0{number}.001.log")
            log.write_bytes(_patch("2", name))
        (tmp_path / "audit-2.log").write_bytes(_patch("9", "another apiserver"))
        await _until(store, "d")

    assert _names(store) == ["a", "b", "c", "d"]
    assert recorder.gaps == []


async def test_what_was_compressed_before_it_was_read_is_a_gap(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(_patch("1", "a"))
    async with _recorder(store, log) as recorder:
        await _until(store, "a")
        log.rename(tmp_path / "audit.log.1")
        (tmp_path / "audit-2026-11-30T09-00-01.001.log.gz").write_bytes(b"compressed")
        log.write_bytes(_patch("2", "b"))
        await _until(store, "b")

    assert len(recorder.gaps) == 1
    assert "compressed before it could be read" in recorder.gaps[0]


async def test_a_truncated_log_is_read_on_and_told_as_a_gap(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(_patch("1", "a" * 50))
    async with _recorder(store, log) as recorder:
        await _until(store, "a" * 50)
        log.write_bytes(_patch("2", "b"))
        await _until(store, "b")

    assert len(recorder.gaps) == 1
    assert "audit.log was cut from" in recorder.gaps[0]
    assert [event.data["reason"] for event in store.losses()] == recorder.gaps


async def test_a_line_that_is_no_json_is_a_gap_that_shows_it(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b'{"resource":"pods"\n' + _patch("1", "a"))
    async with _recorder(store, log) as recorder:
        await _until(store, "a")

    assert len(recorder.gaps) == 1
    assert '{"resource":"pods"' in recorder.gaps[0]


async def test_the_end_takes_in_what_the_log_still_holds(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    async with _recorder(store, log):
        log.write_bytes(b"".join(_patch(str(n), f"p{n}") for n in range(3)))

    assert _names(store) == ["p0", "p1", "p2"]


async def test_a_production_log_may_be_joined_at_its_end(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(_patch("1", "old"))
    recorder = AuditRecorder(store, [log], copy=tmp_path / "audit.ndjson", from_start=False)
    async with recorder:
        await asyncio.sleep(0.03)
        with log.open("ab") as file:
            file.write(_patch("2", "new"))
        await _until(store, "new")

    assert _names(store) == ["new"]


async def test_lines_of_several_apiservers_are_followed_at_once(tmp_path: Path, store: Store) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    async with _recorder(store, first, second):
        first.write_bytes(_patch("1", "a"))
        second.write_bytes(_patch("2", "b"))
        await _until(store, "a")
        await _until(store, "b")


async def test_a_list_of_pods_is_an_event_without_the_pods(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(line(audit("list", name="", answer={"kind": "PodList", "items": [pod()]})) + _patch("1"))
    async with _recorder(store, log):
        await _until(store, "p")

    (listing, _) = store.slice(namespace="ns")
    assert "responseObject" not in listing.data


async def test_a_generated_name_comes_from_the_answer(tmp_path: Path, store: Store) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(
        line(audit("create", name="", body={"metadata": {"generateName": "p-"}}, answer=pod("p-x")))
    )
    async with _recorder(store, log):
        assert (await _until(store, "p-x")).uid == "u1"


async def test_a_recorder_that_dies_says_so(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "audit.log"
    log.mkdir()  # reading a folder fails with IsADirectoryError
    async with _recorder(store, log) as recorder:
        died = await store.wait_for(lambda e: e.kind == Kind.DIED, 2)

    assert "Is a directory" in recorder.trouble
    assert died.data["reason"] == recorder.trouble


async def test_a_copy_that_cannot_be_written_is_one_clear_line(tmp_path: Path, store: Store) -> None:
    recorder = AuditRecorder(store, [], copy=tmp_path / "absent" / "audit.ndjson")

    with pytest.raises(CannotStart, match="cannot be written: No such file"):
        await recorder.__aenter__()


async def test_a_line_is_recorded_within_25_ms_and_an_idle_log_costs_little(
    tmp_path: Path, store: Store
) -> None:
    """What a busy machine adds is measured beside it: by how much too late a sleep of 25 ms ends."""
    log = tmp_path / "audit.log"
    log.touch()
    async with _recorder(store, log):
        await asyncio.sleep(0.3)
        cpu = time.process_time()
        await asyncio.sleep(0.5)
        idle = (time.process_time() - cpu) / 0.5
        measured = [(await _latency(store, log, f"p{n}"), await _sleep(0.025)) for n in range(9)]

    latency, allowed = (sorted(column)[4] for column in zip(*measured, strict=True))
    assert latency < allowed, measured
    assert idle < 0.05


async def _sleep(seconds: float) -> float:
    """How long it takes in truth."""
    begun = time.monotonic()
    await asyncio.sleep(seconds)
    return time.monotonic() - begun


async def _latency(store: Store, log: Path, name: str) -> float:
    clock: Callable[[], float] = time.monotonic
    with log.open("ab") as file:
        file.write(_patch("1", name))
    written = clock()
    await _until(store, name)
    return clock() - written
