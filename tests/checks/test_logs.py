"""Audit logs as they come: rotated, compressed, batched, wrapped, cut off, doubled, in any order."""

from __future__ import annotations

import gzip
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hintbound.checks.judging import ours, tally
from hintbound.checks.records import Intake
from hintbound.errors import CannotStart
from hintbound.history import Event, PodLife, Request, Source, audit_files, audit_lines, audit_lives
from hintbound.history.audit_found import Wanted
from hintbound.history.audit_lines import LONGEST_LINE, Unreadable, audit_events
from tests.checks.in_memory import in_memory
from tests.checks.record import CONTEXT, clean
from tests.history.lines import audit, line, pod

LINES = [line(dict(event.data)) for event in clean().events if event.source == Source.AUDIT]


def read(*paths: Path | str, wanted: Wanted | None = None) -> tuple[list[PodLife], Intake]:
    return in_memory(audit_files.files(map(str, paths)), wanted or Wanted())


def told(lives: list[PodLife]) -> list[tuple[str, str, list[str], list[str]]]:
    """Lives in comparable words."""
    return sorted(
        (life.name, life.uid, [r.audit_id for r in life.requests], [v.rv for v in life.versions])
        for life in lives
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, list[str], list[str]]]:
    log = tmp_path_factory.mktemp("logs") / "audit.log"
    log.write_bytes(b"".join(LINES))
    lives, intake = read(log)
    assert intake.missing == []
    assert [life.name for life in lives] == ["hinted", "lower", "preemptor", "victim"]
    return told(lives)


def test_rotated_files_in_any_order_compressed_or_not_are_one_log(tmp_path: Path, expected: object) -> None:
    shuffled = random.Random(1).sample(LINES, len(LINES))
    (tmp_path / "audit-2026-11-30T09-00-00.000.log.gz").write_bytes(gzip.compress(b"".join(shuffled[:5])))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "audit.log").write_bytes(b"".join(shuffled[5:9]))
    (tmp_path / "z-audit.log").write_bytes(b"\n\n" + b"".join(shuffled[9:]).rstrip())

    lives, intake = read(tmp_path)

    assert (told(lives), intake.files, intake.missing) == (expected, 3, [])


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the program zstd")
def test_zstd_is_read_and_a_cut_off_one_is_told(tmp_path: Path, expected: object) -> None:
    log = tmp_path / "audit.log.zst"
    log.write_bytes(
        subprocess.run(["zstd", "-c"], input=b"".join(LINES), capture_output=True, check=True).stdout
    )

    assert told(read(log)[0]) == expected

    log.write_bytes(log.read_bytes()[:-9])
    assert read(log)[1].missing == ["1 lines could not be read"]


def test_events_of_several_apiservers_and_copies_count_once(tmp_path: Path, expected: object) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(b"".join(LINES))

    assert told(read(tmp_path)[0]) == expected


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, expected: object) -> None:
    (tmp_path / "in").write_bytes(b"".join(LINES))
    with (tmp_path / "in").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert told(read("-")[0]) == expected


def test_stdin_that_is_closed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)

    with pytest.raises(CannotStart, match="stdin is closed"):
        audit_files.files(["-"])


def _eks(text: str) -> dict[str, Any]:
    return {"timestamp": 1, "message": text}


def _aks(text: str) -> dict[str, Any]:
    return {"category": "kube-audit", "properties": {"log": text, "stream": "stdout"}}


def _row(event: dict[str, Any]) -> dict[str, Any]:
    """As the table AKSAudit has it; some exports give its dynamic columns as strings."""
    names = {
        "auditID": "AuditId",
        "requestURI": "RequestUri",
        "requestReceivedTimestamp": "RequestReceivedTime",
    }
    names["stageTimestamp"] = "StageReceivedTime"
    found = {names.get(key, key[0].upper() + key[1:]): value for key, value in event.items()}
    return found | {"ObjectRef": orjson.dumps(event["objectRef"]).decode(), "Type": "AKSAudit"}


def _text(event: dict[str, Any]) -> str:
    return orjson.dumps(event).decode()


Wrap = Callable[[list[dict[str, Any]]], list[Any]]
WRAPS: dict[str, Wrap] = {
    "EventList": lambda events: [{"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": events}],
    "EKS": lambda events: [_eks(_text(one)) for one in events],
    "EKS-subscription": lambda events: [
        {"messageType": "CONTROL_MESSAGE", "logEvents": [{"id": "", "message": "CWL CONTROL MESSAGE: ..."}]},
        {"messageType": "DATA_MESSAGE", "logEvents": [_eks(_text(one)) for one in events]},
    ],
    "EKS-events": lambda events: [{"events": [_eks(_text(one)) for one in events]}],
    "AKS": lambda events: [_aks(_text(one)) for one in events],
    "AKS-records": lambda events: [{"records": [_aks(_text(one)) for one in events]}],
    "AKS-AzureDiagnostics": lambda events: [
        {"Category": "kube-audit", "log_s": _text(one)} for one in events
    ],
    "AKS-AKSAudit": lambda events: [_row(one) for one in events],
    "list": lambda events: [events],
}


@pytest.mark.parametrize("wrapped", WRAPS.values(), ids=WRAPS.keys())
def test_batches_and_wrapped_events_are_the_same_log(wrapped: Wrap, tmp_path: Path, expected: object) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join(map(line, wrapped([orjson.loads(text) for text in LINES]))))

    lives, intake = read(log)

    assert (told(lives), intake.missing) == (expected, [])


def test_line_of_an_export_to_s3_begins_with_its_time(tmp_path: Path, expected: object) -> None:
    log = tmp_path / "000000.gz"
    log.write_bytes(gzip.compress(b"".join(b"2026-11-30T09:00:00.000Z " + text for text in LINES)))

    lives, intake = read(log)

    assert (told(lives), intake.missing) == (expected, [])


def test_wrapped_events_of_several_apiservers_and_copies_count_once(tmp_path: Path, expected: object) -> None:
    events = [orjson.loads(text) for text in LINES]
    for name, wrap in WRAPS.items():
        (tmp_path / f"{name}.log").write_bytes(b"".join(map(line, wrap(events[::-1]))))

    assert told(read(tmp_path)[0]) == expected


def test_body_that_aks_left_out_is_told_as_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    skipped = {"RequestObject": "skipped-too-big-size-object"}
    log.write_bytes(b"".join(line(_row(orjson.loads(text)) | skipped) for text in LINES))

    lives, intake = read(log)

    assert intake.missing == []
    assert all(request.truncated for life in lives for request in life.requests)


def test_resources_of_other_api_groups_are_no_pods(tmp_path: Path, expected: object) -> None:
    other = audit("create", resource="bindings", name="queue", code=201, apiGroup="rabbitmq.com")
    of_gke = {
        "protoPayload": {
            "methodName": "com.rabbitmq.v1beta1.bindings.create",
            "resourceName": "rabbitmq.com/v1beta1/namespaces/ns/bindings/queue",
        },
        "timestamp": "2026-11-30T09:00:00.000001Z",
    }
    batch = {"kind": "EventList", "items": [other]}
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join([*LINES, *map(line, (other, batch, of_gke))]))

    assert told(read(log)[0]) == expected


def test_record_of_cloud_logging_is_the_event_it_tells_of() -> None:
    answer = pod(rv="7", hint="n1") | {"@type": "core.k8s.io/v1.Pod"}
    record = {
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "authenticationInfo": {"principalEmail": "system:kube-scheduler"},
            "methodName": "io.k8s.core.v1.pods.status.patch",
            "resourceName": "core/v1/namespaces/ns/pods/p/status",
            "status": {"code": 10, "message": "conflict"},
            "response": answer,
        },
        "timestamp": "2026-11-30T09:00:00.000001Z",
        "operation": {"id": "a-1", "producer": "k8s.io"},
    }

    (event,) = audit_events(line(record))

    target: Mapping[str, str] = event["objectRef"]
    assert [target[key] for key in ("resource", "namespace", "name", "subresource")] == [
        "pods",
        "ns",
        "p",
        "status",
    ]
    assert (event["verb"], event["auditID"], event["user"]["username"]) == (
        "patch",
        "a-1",
        "system:kube-scheduler",
    )
    assert event["responseStatus"]["code"] == 409


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LINES[0][:-20] + b"\n", "not JSON (cut off?)"),
        (b"I1130 09:00:00 klog line\n", "not JSON"),
        (b'{"a": 1}\n', "JSON, but no audit event"),
        (b'{"protoPayload": {}, "operation": "x"}\n', "a record of Cloud Logging that cannot be read"),
        (b"[1]\n", "JSON, but int and no audit event"),
        (
            line(orjson.loads(LINES[0]) | {"apiVersion": "audit.k8s.io/v1beta1"}),
            "audit.k8s.io/v1beta1, not audit.k8s.io/v1",
        ),
        (
            line(orjson.loads(LINES[0]) | {"stageTimestamp": "yesterday"}),
            "an audit event whose fields are none that Kubernetes writes",
        ),
        (
            line(orjson.loads(LINES[0]) | {"stageTimestamp": "9999-12-31T23:59:59-14:00"}),
            "an audit event whose fields are none that Kubernetes writes",
        ),
        (b'{"x": "' + b"y" * LONGEST_LINE + b'"}\n', "longer than 8 MiB"),
    ],
    ids=["truncated", "klog", "other", "GKE", "list", "v1beta1", "fields", "year 10000", "8MiB"],
)
def test_line_that_cannot_be_read_is_told_by_file_and_line(
    text: bytes, why: str, tmp_path: Path, expected: object
) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(LINES[0] + text + b"".join(LINES[1:]))

    lives, intake = read(log)

    assert told(lives) == expected, "the lines around it were lost"
    assert dict(intake.places) == {why: [f"{log}:2"]}
    assert intake.missing == ["1 lines could not be read"]


def test_gzip_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    log = tmp_path / "audit.log.gz"
    log.write_bytes(gzip.compress(b"".join(LINES))[:-12])

    lives, intake = read(log)

    assert lives
    assert any("cut off" in why for why in intake.flaws)


def test_part_of_a_batch_that_is_no_event_loses_not_those_before_it() -> None:
    events = audit_events(line({"kind": "EventList", "items": [orjson.loads(LINES[0]), {}]}))

    next(events)
    with pytest.raises(Unreadable):
        next(events)


def test_window_and_namespace_choose_what_is_judged(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    other = line(audit("create", namespace="other", code=201, answer=pod(namespace="other"), at=100))
    log.write_bytes(b"".join([*LINES, other]))

    assert [life.namespace for life in read(log, wanted=Wanted(namespaces=frozenset({"other"})))[0]] == [
        "other"
    ]
    late = Wanted(since="2026-11-30T09:01:00.000000Z")
    assert [life.namespace for life in read(log, wanted=late)[0]] == ["other"]
    early = Wanted(until="2026-11-30T09:01:00.000000Z")
    assert {life.namespace for life in read(log, wanted=early)[0]} == {"ns"}


@pytest.mark.parametrize("missing", ["nowhere.log", "empty"])
def test_path_without_a_log_is_refused(missing: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(CannotStart):
        read(tmp_path / missing)


def lives_of(*audits: dict[str, Any]) -> list[tuple[str, list[str]]]:
    events = [
        Event(i, e["stageTimestamp"], 0.0, Source.AUDIT, **audit_lines.event_fields(e))
        for i, e in enumerate(audits)
    ]
    found = audit_lives.lives_of(list(filter(None, map(Request.of, events))))
    return [(life.uid, [request.audit_id for request in life.requests]) for life in found]


def test_create_begins_another_life_even_where_no_uid_is_told() -> None:
    metadata: dict[str, Any] = {"level": "Metadata"}
    found = lives_of(
        audit("create", code=201, at=1, audit_id="a", **metadata),
        audit("delete", at=2, audit_id="b", **metadata),
        audit("create", code=201, at=3, audit_id="c", **metadata),
        audit("create", subresource="binding", code=201, at=4, audit_id="d", uid="u2", **metadata),
        audit("patch", subresource="status", at=5, audit_id="e", **metadata),
    )

    assert found == [("", ["a", "b"]), ("u2", ["c", "d", "e"])]


def test_uid_splits_lives_whose_creates_are_not_in_the_log() -> None:
    found = lives_of(
        audit("patch", subresource="status", at=1, audit_id="a", answer=pod(uid="u1", rv="5")),
        audit("delete", at=2, audit_id="b"),
        audit("patch", subresource="status", at=3, audit_id="c", answer=pod(uid="u2", rv="9")),
    )

    assert found == [("u1", ["a", "b"]), ("u2", ["c"])]


def test_binding_that_is_answered_before_its_create_belongs_to_it() -> None:
    found = lives_of(
        audit("create", code=201, at=1, took=0.5, audit_id="create", answer=pod(uid="u1")),
        audit("create", subresource="binding", code=201, at=1.1, audit_id="bind", uid="u1"),
    )

    assert found == [("u1", ["create", "bind"])]


def test_refused_create_begins_nothing() -> None:
    found = lives_of(
        audit("create", code=201, at=1, audit_id="a", answer=pod(uid="u1")),
        audit("create", code=409, at=2, audit_id="b"),
    )

    assert found == [("u1", ["a", "b"])]


JUNK = st.sampled_from([None, True, 7, "", "x", [], [None], {}, {"a": None}])


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in _places(item, (*path, key)))]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_in_any_place_of_a_line_ends_the_reading(data: st.DataObject, tmp_path: Path) -> None:
    number = data.draw(st.integers(0, len(LINES) - 1))
    event = orjson.loads(LINES[number])
    place = data.draw(st.sampled_from(_places(event)[1:]))
    inner = event
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = data.draw(JUNK)
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join([*LINES[:number], line(event), *LINES[number + 1 :]]))

    lives, intake = read(log)

    tallies = [tally(check, lives, CONTEXT) for check in ours()]
    crashes = [why for one in tallies for why in one.unknowns if "crashed" in why]
    assert not crashes
    assert intake.lines == len(LINES)
