from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hintbound.errors import CannotStart
from hintbound.history import Event, Kind, Source, Store, read


def test_what_was_appended_reads_back_equal(tmp_path: Path) -> None:
    with Store(tmp_path / "history.ndjson") as store:
        written = [
            store.append(Kind.RUN_STARTED, source=Source.ENGINE),
            store.append(
                Kind.ADDED,
                source=Source.WATCH,
                cluster="shared",
                resource="pods",
                namespace="ns",
                name="p",
                uid="u",
                resource_version="7",
                data={"metadata": {"name": "p", "labels": {"ü": "\u2028"}}},
            ),
        ]

    assert list(read(tmp_path)) == written
    assert [event.index for event in written] == [0, 1]


def test_a_field_of_a_later_version_survives_reading_and_writing() -> None:
    line = b'{"index":3,"time":"t","mono":1.5,"source":"oracle","kind":"omen","later":{"a":[1]}}\n'

    event = Event.from_line(line)

    assert event.extra == {"later": {"a": [1]}}
    assert Event.from_line(event.to_line()) == event


def test_a_line_that_is_no_event_names_what_is_missing() -> None:
    with pytest.raises(ValueError, match="index, kind, mono, source, time"):
        Event.from_line(b'{"index":3}')


_WRITER = """
import sys
from pathlib import Path
from hintbound.history import Kind, Source, Store

store = Store(Path(sys.argv[1]))
while True:
    event = store.append(Kind.ADDED, source=Source.WATCH, namespace="ns", data={"fill": "x" * 3000})
    sys.stdout.write(f"{event.index}\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("after", [3, 50, 777])
def test_sigkill_loses_at_most_the_last_line(tmp_path: Path, after: int) -> None:
    file = tmp_path / "history.ndjson"
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= after:
                break
        writer.send_signal(signal.SIGKILL)
        told = [int(line) for line in writer.stdout if line.endswith("\n")]

    events = list(read(file))

    assert [event.index for event in events] == list(range(len(events)))
    assert len(events) > max([after, *told])


def test_a_cut_off_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    file = tmp_path / "history.ndjson"
    with Store(file) as store:
        first = store.append(Kind.ADDED, source=Source.WATCH)
        store.append(Kind.MODIFIED, source=Source.WATCH)
    os.truncate(file, file.stat().st_size - 9)

    reading = read(file)

    assert list(reading) == [first]
    assert "line 2 of history.ndjson" in reading.truncated


def test_a_whole_history_tells_of_no_cut(tmp_path: Path) -> None:
    with Store(tmp_path / "history.ndjson") as store:
        store.append(Kind.ADDED, source=Source.WATCH)
    reading = read(tmp_path)

    assert len(list(reading)) == 1
    assert reading.truncated == ""


def test_damage_in_the_middle_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "history.ndjson"
    with Store(file) as store:
        event = store.append(Kind.ADDED, source=Source.WATCH)
    file.write_bytes(event.to_line() + b"{half\n" + event.to_line())

    with pytest.raises(CannotStart, match=r"line 2 of .*history\.ndjson is no event"):
        list(read(file))


def test_an_absent_history_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be read: No such file"):
        list(read(tmp_path / "none"))


def test_a_history_is_never_written_over(tmp_path: Path) -> None:
    Store(tmp_path / "history.ndjson").close()

    with pytest.raises(CannotStart, match="already there"):
        Store(tmp_path / "history.ndjson")


def test_an_unwritable_folder_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CannotStart, match="cannot be written: Not a directory"):
        Store(tmp_path / "file" / "history.ndjson")


def test_a_full_disk_is_told_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "history.ndjson"
    write = os.write
    room = 400

    def write_on_a_small_disk(fd: int, data: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(fd, data[:room])
        room -= written
        return written

    with Store(file) as store:
        monkeypatch.setattr(os, "write", write_on_a_small_disk)
        first = store.append(Kind.ADDED, source=Source.WATCH)
        with pytest.raises(CannotStart, match="disk is full"):
            store.append(Kind.ADDED, source=Source.WATCH, data={"fill": "x" * 1000})
        with pytest.raises(CannotStart, match="disk is full"):
            store.append(Kind.ADDED, source=Source.WATCH)

    reading = read(file)
    assert list(reading) == [first]
    assert reading.truncated == ""


def _append(store: Store, **values: Any) -> Event:
    return store.append(values.pop("kind", Kind.ADDED), source=values.pop("source", Source.WATCH), **values)


def test_a_slice_holds_the_tests_own_events_and_the_losses_since_its_start(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        _append(store, kind=Kind.GAP, cluster="shared", data={"reason": "before"})
        store.own("a", test="A")
        start = _append(store, kind=Kind.SCENARIO_STARTED, source=Source.ENGINE, test="A")
        mine = _append(store, namespace="a", cluster="shared")
        _append(store, namespace="b", cluster="shared")
        node = _append(store, resource="nodes", test="A", cluster="shared")
        _append(store, resource="nodes", cluster="shared")
        gap = _append(store, kind=Kind.GAP, cluster="shared", data={"reason": "after"})
        _append(store, kind=Kind.GAP, cluster="exclusive", data={"reason": "elsewhere"})

        assert store.slice(namespace="a", test="A", cluster="shared") == [start, mine, node, gap]
        assert mine.test == "A"
        assert store.losses(since=start.index, cluster="shared") == [gap]


def test_a_forgotten_test_leaves_memory_but_not_the_file(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        event = _append(store, namespace="a", test="A")
        store.forget(namespace="a", test="A")

        assert store.slice(namespace="a", test="A") == []
    assert list(read(tmp_path / "h")) == [event]


def test_nodes_with_a_tests_label_are_its_own_and_all_nodes_stay_known(tmp_path: Path) -> None:
    with Store(tmp_path / "history.ndjson") as store:
        store.own("hb-one", test="ONE", label="one")
        own = store.append(
            Kind.ADDED, source=Source.WATCH, cluster="shared", test="one", resource="nodes", name="n1"
        )
        other = store.append(
            Kind.ADDED, source=Source.WATCH, cluster="shared", test="two", resource="nodes", name="n2"
        )
        store.append(
            Kind.ADDED, source=Source.WATCH, cluster="exclusive", test="three", resource="nodes", name="n3"
        )

        assert store.slice(test="ONE") == [own]
        store.forget(namespace="hb-one", test="ONE")
        assert store.nodes(cluster="shared") == [own, other]


async def test_a_waiter_gets_the_event_that_was_there_before_it(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        event = _append(store, namespace="a", name="p")

        assert await store.wait_for(lambda e: e.name == "p", 0, namespace="a") == event


async def test_an_append_wakes_only_the_waiter_it_fits(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        fits = asyncio.create_task(store.wait_for(lambda e: e.name == "p", 5, namespace="a"))
        anywhere = asyncio.create_task(store.wait_for(lambda e: e.name == "p", 5))
        other = asyncio.create_task(store.wait_for(lambda e: e.name == "p", 5, namespace="b"))
        await asyncio.sleep(0)
        event = _append(store, namespace="a", name="p")

        assert await fits == await anywhere == event
        assert not other.done()
        other.cancel()


async def test_a_timeout_names_what_was_awaited(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "h") as store,
        pytest.raises(TimeoutError, match=r"pod a/p bound was not recorded within 0\.01 s"),
    ):
        await store.wait_for(lambda _: False, 0.01, what="pod a/p bound")


async def test_a_broken_predicate_reaches_its_waiter_and_not_the_recorder(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        waiting = asyncio.create_task(store.wait_for(lambda e: e.data["absent"] == 1, 5))
        await asyncio.sleep(0)
        _append(store, namespace="a")

        with pytest.raises(KeyError, match="absent"):
            await waiting
