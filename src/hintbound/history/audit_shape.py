"""The shape of audit events, as far as it is relied on: logs come from anywhere, and nothing in one may end
a reading."""

from __future__ import annotations

from typing import Any, Final

_STRINGS: Final = [
    "level",
    "auditID",
    "stage",
    "requestURI",
    "verb",
    "userAgent",
    "requestReceivedTimestamp",
    "stageTimestamp",
    "apiVersion",
]
_OBJECT_REF: Final = dict.fromkeys(
    ["resource", "namespace", "name", "uid", "resourceVersion", "subresource"], str
)
_ENVELOPE: Final = dict.fromkeys(_STRINGS, str) | {
    "user": {"username": str},
    "objectRef": _OBJECT_REF,
    "responseStatus": {"code": int},
    "annotations": ({"audit.k8s.io/truncated": str}, None),
}

_STRING_OR_NULL: Final = (str, None)
_METADATA: Final = dict.fromkeys(("uid", "name", "namespace", "resourceVersion"), _STRING_OR_NULL)
_BODY: Final = (
    {
        "kind": _STRING_OR_NULL,
        "metadata": (_METADATA | {"annotations": ({}, None)}, None),
        "status": ({"nominatedNodeName": _STRING_OR_NULL}, None),
        "preconditions": ({"uid": _STRING_OR_NULL}, None),
        "deleteOptions": ({"preconditions": ({"uid": _STRING_OR_NULL}, None)}, None),
        "gracePeriodSeconds": (int, None),
        "target": ({"name": _STRING_OR_NULL}, None),
    },
    [{"op": str, "path": str}],
    None,
)

_ANSWER: Final = (
    {
        "kind": str,
        "metadata": _METADATA
        | {
            "labels": {},
            "deletionTimestamp": _STRING_OR_NULL,
            "managedFields": [{"manager": str, "fieldsV1": ({"f:status": {}}, None)}],
        },
        "spec": {"nodeName": str, "terminationGracePeriodSeconds": (int, None)},
        "status": (str, {"nominatedNodeName": str, "conditions": [{"type": str, "status": str}]}),
        "details": {"uid": str},
        "items": ([{"metadata": _METADATA}], None),
    },
    None,
)


def whole(audit: dict[str, Any]) -> bool:
    """Whether an audit event about pods is one that an apiserver writes."""
    return (
        _fits(audit, _ENVELOPE)
        and _fits(audit.get("requestObject"), _BODY)
        and _fits(answer := audit.get("responseObject"), _ANSWER)
        and not (isinstance(answer, dict) and answer.get("kind") == "Pod" and not _is_pod(answer))
    )


def _is_pod(answer: dict[str, Any]) -> bool:
    return isinstance(answer.get("metadata"), dict) and isinstance(answer.get("status", {}), dict)


def refused(audit: dict[str, Any]) -> bool:
    """Whether the request was answered with an error: then anything may have been sent."""
    status = audit.get("responseStatus")
    code = status.get("code") if isinstance(status, dict) else None
    return type(code) is int and code >= 400


def _fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape: a type, None, a list of one, the keys of a dict (each may be absent), or
    one of several. A number is no bool."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            key not in value or _fits(value[key], inner) for key, inner in shape.items()
        )
    if isinstance(shape, tuple):
        return any(_fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(item, shape[0]) for item in value)
    return value is None if shape is None else type(value) is shape
