"""Audit lines and pods, as real apiservers write them, cut down to what is read."""

from __future__ import annotations

from typing import Any

import orjson

from hintbound.history import Store
from hintbound.history.events import Event, Kind, Source


def pod(
    name: str = "p",
    *,
    uid: str = "u1",
    rv: str = "1",
    namespace: str = "ns",
    node: str = "",
    hint: str = "",
    deleting: bool = False,
    conditions: dict[str, str] | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": rv}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-30T09:00:00Z"
    status: dict[str, Any] = {"phase": "Pending"}
    if hint:
        status["nominatedNodeName"] = hint
    if conditions:
        status["conditions"] = [{"type": kind, "status": value} for kind, value in conditions.items()]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"nodeName": node} if node else {},
        "status": status,
    }


def audit(
    verb: str,
    *,
    name: str = "p",
    namespace: str = "ns",
    subresource: str = "",
    resource: str = "pods",
    user: str = "hintbound-author",
    code: int = 200,
    body: Any = None,
    answer: dict[str, Any] | None = None,
    at: float = 0.0,
    took: float = 0.001,
    stage: str = "ResponseComplete",
    level: str = "RequestResponse",
    audit_id: str = "",
    **target: str,
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level,
        "auditID": audit_id or f"{verb}-{name}-{at}",
        "stage": stage,
        "requestURI": f"/api/v1/namespaces/{namespace}/{resource}/{name}",
        "verb": verb,
        "user": {"username": user},
        "userAgent": f"{user}/1",
        "objectRef": {
            "resource": resource,
            "namespace": namespace,
            "name": name,
            "apiVersion": "v1",
            **target,
        },
        "responseStatus": {"metadata": {}, "code": code},
        "requestReceivedTimestamp": stamp(at),
        "stageTimestamp": stamp(at + took),
    }
    if subresource:
        event["objectRef"]["subresource"] = subresource
    if body is not None:
        event["requestObject"] = body
    if answer is not None:
        event["responseObject"] = answer
    return event


def line(event: dict[str, Any]) -> bytes:
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def watched(store: Store, kind: Kind, item: dict[str, Any], *, cluster: str = "") -> Event:
    metadata = item["metadata"]
    return store.append(
        kind,
        source=Source.WATCH,
        cluster=cluster,
        resource="pods",
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        data=item,
    )


def stamp(at: float) -> str:
    """A moment, seconds after nine, as the apiserver writes it."""
    whole, micros = divmod(round(at * 1e6), 1_000_000)
    return f"2026-11-30T09:{whole // 60:02d}:{whole % 60:02d}.{micros:06d}Z"
