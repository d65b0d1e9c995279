from __future__ import annotations

from pathlib import Path
from typing import Any

from hintbound.history import Event, Kind, ProxyRecorder, Source, Store, read

PASSED: dict[str, Any] = {
    "actor": "scheduler",
    "method": "PATCH",
    "verb": "patch",
    "resource": "pods/status",
    "namespace": "ns",
    "name": "a",
    "status": 200,
    "seconds": 0.1234567,
    "forwarded": 2,
    "rules": [("split", "split in two")],
    "error": "",
}


def test_an_exchange_tells_what_rules_did_and_what_was_forwarded(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        ProxyRecorder(store, cluster="shared").passed(**PASSED)
    (event,) = read(tmp_path / "h")

    assert (event.source, event.kind, event.cluster) == (Source.PROXY, Kind.PASSED, "shared")
    assert (event.resource, event.namespace, event.name) == ("pods/status", "ns", "a")
    assert event.data == {
        "actor": "scheduler",
        "method": "PATCH",
        "verb": "patch",
        "status": 200,
        "seconds": 0.123457,
        "forwarded": 2,
        "rules": [{"rule": "split", "did": "split in two"}],
    }


def test_what_a_rule_does_to_an_open_watch_is_told_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        ProxyRecorder(store).acted(
            actor="scheduler",
            verb="watch",
            resource="pods",
            namespace="",
            name="",
            rule="drop",
            what="an event was dropped",
        )
        (event,) = [Event.from_line(line) for line in (tmp_path / "h").read_bytes().splitlines()]

    assert event.kind == Kind.ACTED
    assert event.data["rules"] == [{"rule": "drop", "did": "an event was dropped"}]


def test_full_disk_ends_the_recording_and_not_the_proxy(tmp_path: Path) -> None:
    store = Store(tmp_path / "h")
    recorder = ProxyRecorder(store)
    store.close()
    recorder.passed(**PASSED)
    recorder.passed(**PASSED)

    assert "closed" in recorder.trouble
