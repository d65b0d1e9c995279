"""Audit events as managed clusters wrap them, recognised by shape. Follows what the vendors document:

* EKS, CloudWatch Logs: a record whose `message` is the event as a string, alone, or within `logEvents` (what
  a subscription sends) or `events` (what the API answers);
* AKS, Azure Monitor: `properties.log` is the event as a string, alone or within `records` (event hubs,
  storage); rows of Log Analytics have it in `log_s` (table AzureDiagnostics), or its fields as columns of
  their own (tables AKSAudit and AKSAuditAdmin);
* GKE, Cloud Logging: `protoPayload` is an AuditLog, which tells verb and object in words of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

AUDIT_API: Final = "audit.k8s.io/v1"

_BATCHES: Final = ("records", "logEvents", "events")
_TEXTS: Final = ("message", "@message", "log", "log_s")
_TOO_BIG: Final = "skipped-too-big-size-object"
"""What AKS puts in the place of a body."""

_COLUMNS: Final = {
    "AuditId": "auditID",
    "Level": "level",
    "Stage": "stage",
    "Verb": "verb",
    "RequestUri": "requestURI",
    "UserAgent": "userAgent",
    "User": "user",
    "ObjectRef": "objectRef",
    "ResponseStatus": "responseStatus",
    "RequestObject": "requestObject",
    "ResponseObject": "responseObject",
    "Annotations": "annotations",
    "RequestReceivedTime": "requestReceivedTimestamp",
    "StageReceivedTime": "stageTimestamp",
}
_HTTP_OF_GRPC: Final = {0: 200, 3: 400, 5: 404, 6: 409, 7: 403, 8: 429, 10: 409, 16: 401}


def batch(record: Mapping[str, Any]) -> Iterable[Any] | None:
    """The records within one; None where it is none of several."""
    if record.get("kind") == "EventList":
        return _list(record.get("items"))
    if record.get("messageType") == "CONTROL_MESSAGE":  # CloudWatch tries whether it is heard
        return ()
    for key in _BATCHES:
        if isinstance(inside := record.get(key), list):
            return inside
    return None


def _list(items: Any) -> Iterable[Any]:
    return items if isinstance(items, list) else ()


def text(record: Mapping[str, Any]) -> object:
    """The event as a string within a record; None where there is none."""
    properties = record.get("properties")
    if isinstance(properties, str):  # Log Analytics exports the properties themselves as a string
        try:
            properties = orjson.loads(properties)
        except ValueError:
            return None
    if isinstance(properties, dict):
        return properties.get("log")
    return next((record[key] for key in _TEXTS if record.get(key)), None)


def row(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The event of a row of the tables AKSAudit and AKSAuditAdmin; None for any other record."""
    if "AuditId" not in record or "Stage" not in record:
        return None
    found = {"apiVersion": AUDIT_API}
    for column, name in _COLUMNS.items():
        value = record.get(column)
        if isinstance(value, str) and value.startswith(("{", "[")):  # a column that holds JSON
            value = orjson.loads(value)
        if value is not None and value != "":
            found[name] = value
    return found


def cut_off(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event, said to be cut off where a body was left out because it is too long."""
    skipped = [name for name in ("requestObject", "responseObject") if event.get(name) == _TOO_BIG]
    if not skipped:
        return event
    noted = event.get("annotations")
    noted = {**(noted if isinstance(noted, dict) else {}), "audit.k8s.io/truncated": "true"}
    return {**event, **dict.fromkeys(skipped), "annotations": noted}


def of_cloud_logging(record: Mapping[str, Any], payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Cloud Logging tells verb and object in `methodName` (io.k8s.core.v1.pods.binding.create) and
    `resourceName` (core/v1/namespaces/ns/pods/p/binding), the code as a gRPC one. Raises whatever comes of a
    record that is none."""
    verb = str(payload.get("methodName", "")).rpartition(".")[2]
    path = str(payload.get("resourceName", "")).split("/")
    kind = path.index("namespaces") + 2 if "namespaces" in path else 2
    namespace = path[kind - 1] if "namespaces" in path else ""
    resource, name, subresource = ([*path[kind:], "", "", ""])[:3]
    answer, body = _typed(payload.get("response")), payload.get("request")
    status = payload.get("status")
    code = status.get("code") if isinstance(status, dict) else 0
    return {
        "apiVersion": AUDIT_API,
        "level": "RequestResponse" if answer else "Request" if body else "Metadata",
        "auditID": (record.get("operation") or {}).get("id") or record.get("insertId") or "",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": (payload.get("authenticationInfo") or {}).get("principalEmail", "")},
        "userAgent": (payload.get("requestMetadata") or {}).get("callerSuppliedUserAgent", ""),
        "objectRef": {
            "apiGroup": "" if path[0] == "core" else path[0],
            "resource": resource,
            "namespace": namespace,
            "name": name,
            "subresource": subresource,
        },
        "responseStatus": {"code": _HTTP_OF_GRPC.get(code or 0, 500)},
        "requestObject": body,
        "responseObject": answer,
        "requestReceivedTimestamp": record.get("timestamp", ""),
        "stageTimestamp": record.get("timestamp", ""),
    }


def _typed(answer: Any) -> Any:
    """An object of which Cloud Logging may tell the kind in `@type` only: `core.k8s.io/v1.Pod`."""
    if isinstance(answer, dict) and "kind" not in answer and isinstance(answer.get("@type"), str):
        return {**answer, "kind": answer["@type"].rpartition(".")[2]}
    return answer
