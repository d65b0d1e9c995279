from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hintbound.history import ClientRecorder, Event, Kind, Source, Store
from hintbound.kube.errors import ConnectionLost, NotFound
from hintbound.kube.exchange import Call, Outcome


def _call(method: str = "POST", path: str = "/api/v1/namespaces/ns/pods", **about: Any) -> Call:
    values: dict[str, Any] = {
        "id": "audit-id",
        "actor": "hintbound-author",
        "user_agent": "hintbound/test",
        "method": method,
        "path": path,
        "query": {},
        "content_type": "application/json",
        "body": None,
        "watch": False,
        "started": 10.0,
        "started_at": 1e9,
    }
    return Call(**(values | about))


def _events(store: Store) -> list[Event]:
    return store.slice(namespace="ns")


def test_an_exchange_is_a_request_and_a_response_with_one_id(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        recorder = ClientRecorder(store, cluster="shared")
        body = {"metadata": {"name": "p"}}
        call = _call(body=body)
        recorder.start(call)
        body["metadata"]["name"] = "changed by the caller later"
        answer = {"metadata": {"name": "p", "uid": "u1", "resourceVersion": "7"}}
        recorder.finished(call, Outcome(ended=10.5, ended_at=1e9, status=201, body=answer))
        request, response = _events(store)

    assert (request.kind, request.name, request.uid) == (Kind.REQUEST, "p", "")
    assert (response.kind, response.name, response.uid, response.resource_version) == (
        Kind.RESPONSE,
        "p",
        "u1",
        "7",
    )
    assert request.data["id"] == response.data["id"] == "audit-id"
    assert request.data["body"] == {"metadata": {"name": "p"}}
    assert (response.data["status"], response.data["seconds"]) == (201, 0.5)
    assert {event.source for event in (request, response)} == {Source.CLIENT}


def test_a_refusal_is_a_response_with_its_reason(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        call = _call("PATCH", "/api/v1/namespaces/ns/pods/p/status")
        refusal = NotFound(
            status=404, reason="NotFound", message="no pod", method=call.method, path=call.path
        )
        ClientRecorder(store).finished(
            call, Outcome(ended=11, ended_at=1e9, status=404, headers={"retry-after": "2"}, error=refusal)
        )
        (event,) = _events(store)

    assert (event.kind, event.resource, event.name) == (Kind.RESPONSE, "pods/status", "p")
    assert (event.data["status"], event.data["reason"], event.data["retryAfter"]) == (404, "NotFound", "2")


@pytest.mark.parametrize("applied", [True, False])
def test_no_answer_is_lost_and_says_whether_it_may_have_been_applied(tmp_path: Path, applied: bool) -> None:
    with Store(tmp_path / "h") as store:
        call = _call()
        error = ConnectionLost("reset", method="POST", path=call.path, may_have_been_applied=applied)
        ClientRecorder(store).finished(call, Outcome(ended=11, ended_at=1e9, error=error))
        (event,) = _events(store)

    assert event.kind == Kind.LOST
    assert event.data["mayHaveBeenApplied"] is applied


def test_a_watch_is_opened_and_closed(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        recorder = ClientRecorder(store)
        call = _call("GET", watch=True)
        recorder.start(call)
        recorder.opened(call, Outcome(ended=11, ended_at=1e9, status=200))
        recorder.finished(call, Outcome(ended=12, ended_at=1e9, status=200))

        assert [event.kind for event in _events(store)] == [Kind.REQUEST, Kind.RESPONSE, Kind.CLOSED]


def test_a_list_is_recorded_by_its_length(tmp_path: Path) -> None:
    with Store(tmp_path / "h") as store:
        body = {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": [{}, {}]}
        ClientRecorder(store).finished(_call("GET"), Outcome(ended=11, ended_at=1e9, status=200, body=body))
        (event,) = _events(store)

    assert event.data["body"] == {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "itemCount": 2}


@pytest.mark.parametrize(
    ("path", "resource", "namespace", "name"),
    [
        ("/api/v1/namespaces/ns/pods", "pods", "ns", ""),
        ("/api/v1/namespaces/ns/pods/p", "pods", "ns", "p"),
        ("/api/v1/namespaces/ns/pods/p/status", "pods/status", "ns", "p"),
        ("/api/v1/namespaces/ns", "namespaces", "", "ns"),
        ("/api/v1/namespaces/ns/status", "namespaces/status", "", "ns"),
        ("/api/v1/nodes/n1", "nodes", "", "n1"),
        ("/api/v1/nodes", "nodes", "", ""),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", "clusterroles", "", "system:node"),
        ("/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", "leases", "ns", "l"),
        ("/metrics", "", "", ""),
    ],
)
def test_the_target_is_read_from_the_path(
    tmp_path: Path, path: str, resource: str, namespace: str, name: str
) -> None:
    with Store(tmp_path / "h") as store:
        ClientRecorder(store).start(_call("GET", path))
    event = Event.from_line((tmp_path / "h").read_bytes())

    assert (event.resource, event.namespace, event.name) == (resource, namespace, name)


def test_a_full_disk_never_reaches_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with Store(tmp_path / "h") as store:
        recorder = ClientRecorder(store)
        monkeypatch.setattr(os, "write", full)
        recorder.start(_call())

    assert "disk is full" in recorder.trouble
