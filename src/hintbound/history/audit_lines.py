"""What a line of an audit log says: the map step of `hintbound check`, one line at a time, with no memory
of others.

Read are the lines of kube-apiserver's own log backend (an event each), batches as its webhook backend posts
them (EventList), and either of them as managed clusters wrap it: EKS in CloudWatch (a record whose
`message` or `@message` is the event as a string), AKS in Azure Monitor (`properties.log`, a string, also
within `records`), GKE in Cloud Logging (`protoPayload`, an AuditLog).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

AUDIT_API: Final = "audit.k8s.io/v1"
LONGEST_LINE: Final = 8 * 1024 * 1024
"""Bytes. kube-apiserver cuts events off long before; a longer line is no line of an audit log."""

_PODS: Final = ("pods", "bindings")
READS: Final = ("get", "list", "watch")
STRANGE: Final = "an audit event whose fields are none that Kubernetes writes"


class Unreadable(ValueError):
    """A line, or a part of it, that is no audit event: says why, in words that can be counted."""


def audit_events(line: bytes) -> Iterator[Mapping[str, Any]]:
    """The audit events in a line, as the apiserver wrote them. Raises Unreadable, after those before it."""
    try:
        record = orjson.loads(line)
    except ValueError as error:
        raise Unreadable("not JSON (cut off?)" if line.lstrip().startswith(b"{") else "not JSON") from error
    yield from _unwrapped(record)


def _unwrapped(record: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(record, dict):
        raise Unreadable(f"JSON, but {type(record).__name__} and no audit event")
    if "auditID" in record:
        if record.get("apiVersion", AUDIT_API) != AUDIT_API:  # in a batch they carry none
            raise Unreadable(f"{record['apiVersion']}, not {AUDIT_API}")
        yield record
    elif record.get("kind") == "EventList" or isinstance(record.get("records"), list):
        if record.get("apiVersion", AUDIT_API) != AUDIT_API:
            raise Unreadable(f"{record['apiVersion']}, not {AUDIT_API}")
        for item in record.get("items") or record.get("records") or ():
            yield from _unwrapped(item)
    elif isinstance(payload := record.get("protoPayload"), dict):
        try:
            event = _of_cloud_logging(record, payload)
        except (AttributeError, TypeError, ValueError, IndexError):
            raise Unreadable("a record of Cloud Logging that cannot be read") from None
        yield event
    elif isinstance(text := _text(record), str):
        yield from audit_events(text.encode())
    else:
        raise Unreadable("JSON, but no audit event")


def _text(record: Mapping[str, Any]) -> object:
    """The event as a string within the record of CloudWatch or Azure Monitor."""
    properties = record.get("properties")
    if isinstance(properties, str):  # Log Analytics exports the properties themselves as a string
        try:
            properties = orjson.loads(properties)
        except ValueError:
            return None
    if isinstance(properties, dict):
        return properties.get("log")
    return record.get("message") or record.get("@message") or record.get("log")


def _of_cloud_logging(record: Mapping[str, Any], payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Cloud Logging tells verb and object in `methodName` (io.k8s.core.v1.pods.binding.create) and
    `resourceName` (core/v1/namespaces/ns/pods/p/binding), the code as a gRPC one."""
    verb = str(payload.get("methodName", "")).rpartition(".")[2]
    path = str(payload.get("resourceName", "")).split("/")
    kind = path.index("namespaces") + 2 if "namespaces" in path else 2
    namespace = path[kind - 1] if "namespaces" in path else ""
    resource, name, subresource = ([*path[kind:], "", "", ""])[:3]
    answer, body = payload.get("response"), payload.get("request")
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


_HTTP_OF_GRPC: Final = {0: 200, 3: 400, 5: 404, 6: 409, 7: 403, 8: 429, 10: 409, 16: 401}


def about_pods(audit: Mapping[str, Any]) -> bool:
    """Whether an audit event is about pods, or a binding of one."""
    target = audit.get("objectRef")
    return isinstance(target, dict) and target.get("resource") in _PODS


def event_fields(audit: dict[str, Any]) -> dict[str, Any]:
    """What an event of the history takes from an audit event about pods; lists that were read are left
    out."""
    target = audit.get("objectRef") or {}
    answer = audit.get("responseObject") or {}
    pod = answer.get("metadata") or {} if answer.get("kind") == "Pod" else {}
    body = audit.get("requestObject")  # a JSON patch is a list
    sent = (body.get("metadata") or {}) if isinstance(body, dict) else {}
    if audit.get("verb") in READS:
        audit.pop("responseObject", None)
    return {
        "kind": audit.get("stage") or "",
        "resource": "/".join(filter(None, (target.get("resource"), target.get("subresource")))),
        "namespace": target.get("namespace") or "",
        "name": target.get("name") or pod.get("name") or sent.get("name") or "",
        "uid": pod.get("uid") or target.get("uid") or "",
        "resource_version": pod.get("resourceVersion") or "",
        "data": audit,
    }
