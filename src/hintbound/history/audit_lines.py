"""What a line of an audit log says, whatever its form: one line at a time, with no memory of others.

Read are the lines of kube-apiserver's own log backend (an event each), batches as its webhook backend posts
them (EventList), and either of them as managed clusters wrap it (`audit_clouds`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from hintbound.history import audit_clouds
from hintbound.history.audit_clouds import AUDIT_API

LONGEST_LINE: Final = 8 * 1024 * 1024
"""Bytes. kube-apiserver cuts events off long before; a longer line is no line of an audit log."""

_EXPORTED: Final = re.compile(rb"\d{4}-\d\d-\d\dT[0-9:.]+Z\s+(\{.*)", re.DOTALL)
"""What CloudWatch exports to S3: each line begins with its time."""
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
        if exported := _EXPORTED.match(line):
            yield from audit_events(exported[1])
            return
        raise Unreadable("not JSON (cut off?)" if line.lstrip().startswith(b"{") else "not JSON") from error
    for one in record if isinstance(record, list) else (record,):  # gcloud prints a list
        yield from _unwrapped(one)


def _unwrapped(record: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(record, dict):
        raise Unreadable(f"JSON, but {type(record).__name__} and no audit event")
    if "auditID" in record:
        _demand_api(record)
        yield audit_clouds.cut_off(record)
    elif (inside := audit_clouds.batch(record)) is not None:
        _demand_api(record)
        for item in inside:
            yield from _unwrapped(item)
    elif isinstance(payload := record.get("protoPayload"), dict):
        try:
            event = audit_clouds.of_cloud_logging(record, payload)
        except (AttributeError, TypeError, ValueError, IndexError):
            raise Unreadable("a record of Cloud Logging that cannot be read") from None
        yield event
    elif (row := _row(record)) is not None:
        yield audit_clouds.cut_off(row)
    elif isinstance(text := audit_clouds.text(record), str):
        yield from audit_events(text.encode())
    else:
        raise Unreadable("JSON, but no audit event")


def _row(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        return audit_clouds.row(record)
    except ValueError:
        raise Unreadable("a row of Log Analytics that cannot be read") from None


def _demand_api(record: Mapping[str, Any]) -> None:
    if record.get("apiVersion", AUDIT_API) != AUDIT_API:  # in a batch they carry none
        raise Unreadable(f"{record['apiVersion']}, not {AUDIT_API}")


def about_pods(audit: Mapping[str, Any]) -> bool:
    """Whether an audit event is about pods, or a binding of one; other API groups have resources of these
    names, too (`bindings` of rabbitmq.com)."""
    target = audit.get("objectRef")
    return isinstance(target, dict) and target.get("resource") in _PODS and not target.get("apiGroup")


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
