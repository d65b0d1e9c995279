"""The shape of audit events, as far as it is relied on: logs come from anywhere, and nothing in one may end
a reading.

The structs say what is read of a line, and what it must be if it is there; all else is skipped unread, but
must be JSON. So decoding one is also its check, and takes half the time of decoding all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

_TRUNCATED: Final = "audit.k8s.io/truncated"
_FIELDS: Final = {"status": "f:status"}


class Keys(msgspec.Struct, frozen=True, gc=False):
    """An object, whatever is in it."""


class User(msgspec.Struct, frozen=True, gc=False):
    """Who asked."""

    username: str = ""


class Target(msgspec.Struct, frozen=True, gc=False):
    """What it was asked of."""

    apiGroup: str = ""  # noqa: N815
    resource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815
    subresource: str = ""


class Answered(msgspec.Struct, frozen=True, gc=False):
    """How it was answered."""

    code: int = 0


class Annotations(msgspec.Struct, frozen=True, gc=False, rename={"truncated": _TRUNCATED}):
    """What the apiserver noted."""

    truncated: str = ""


class Named(msgspec.Struct, frozen=True, gc=False):
    """Metadata of what was sent."""

    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    resourceVersion: str | None = None  # noqa: N815
    annotations: Keys | None = None


class SentStatus(msgspec.Struct, frozen=True, gc=False):
    """The status that was sent."""

    nominatedNodeName: str | UnsetType | None = UNSET  # noqa: N815
    conditions: list[Keys] | None = None


class Uid(msgspec.Struct, frozen=True, gc=False):
    """A uid, or none."""

    uid: str | None = None


class Options(msgspec.Struct, frozen=True, gc=False):
    """DeleteOptions of an eviction."""

    preconditions: Uid | None = None


class Node(msgspec.Struct, frozen=True, gc=False):
    """Where a binding puts a pod."""

    name: str | None = None


class Sent(msgspec.Struct, frozen=True, gc=False):
    """What was sent."""

    kind: str | None = None
    metadata: Named | None = None
    status: SentStatus | None = None
    preconditions: Uid | None = None
    deleteOptions: Options | None = None  # noqa: N815
    gracePeriodSeconds: int | None = None  # noqa: N815
    target: Node | None = None
    dryRun: Any = None  # noqa: N815


class Step(msgspec.Struct, frozen=True, gc=False):
    """A step of a JSON patch."""

    op: str = ""
    path: str = ""
    value: Any = None


class Owned(msgspec.Struct, frozen=True, gc=False, rename=_FIELDS):
    """What a manager owns."""

    status: Keys | None = None


class Manager(msgspec.Struct, frozen=True, gc=False):
    """An entry of managedFields."""

    manager: str = ""
    fieldsV1: Owned | None = None  # noqa: N815


class PodMetadata(msgspec.Struct, frozen=True, gc=False):
    """Metadata of what was answered."""

    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    resourceVersion: str | None = None  # noqa: N815
    labels: Keys | None = None
    deletionTimestamp: str | None = None  # noqa: N815
    managedFields: list[Manager] | None = None  # noqa: N815


class Spec(msgspec.Struct, frozen=True, gc=False):
    """Of a pod."""

    nodeName: str = ""  # noqa: N815
    terminationGracePeriodSeconds: int | None = None  # noqa: N815


class Condition(msgspec.Struct, frozen=True, gc=False):
    """Of a pod."""

    type: str = ""
    status: str = ""


class Status(msgspec.Struct, frozen=True, gc=False):
    """Of a pod."""

    nominatedNodeName: str = ""  # noqa: N815
    conditions: list[Condition] = []


class Details(msgspec.Struct, frozen=True, gc=False):
    """Of a Status."""

    uid: str = ""


class Item(msgspec.Struct, frozen=True, gc=False):
    """Of a list."""

    metadata: Named = Named()


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What was answered: a pod, a Status, a list."""

    kind: str = ""
    metadata: PodMetadata | UnsetType = UNSET
    spec: Spec = Spec()
    status: str | Status = ""
    details: Details = Details()
    items: list[Item] | None = None


class Audit(msgspec.Struct, frozen=True, gc=False):
    """An audit event; a line without an `auditID` is none by itself (a batch, a wrapped one)."""

    auditID: str = ""  # noqa: N815
    apiVersion: str = ""  # noqa: N815
    level: str = ""
    stage: str = ""
    verb: str = ""
    requestURI: str = ""  # noqa: N815
    userAgent: str = ""  # noqa: N815
    requestReceivedTimestamp: str = ""  # noqa: N815
    stageTimestamp: str = ""  # noqa: N815
    user: User = User()
    objectRef: Target = Target()  # noqa: N815
    responseStatus: Answered = Answered()  # noqa: N815
    annotations: Annotations | None = None
    requestObject: Sent | list[Step] | None = None  # noqa: N815
    responseObject: Answer | None = None  # noqa: N815


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """As much as tells that a line is an audit event, where no more is wanted."""

    auditID: str = ""  # noqa: N815
    apiVersion: str = ""  # noqa: N815
    stageTimestamp: str = ""  # noqa: N815


decoded: Final = msgspec.json.Decoder(Audit).decode
"""A line; raises msgspec.MsgspecError for one that is not JSON, or has another shape."""

enveloped: Final = msgspec.json.Decoder(Envelope).decode
"""The same, less of it."""


def shaped(audit: Mapping[str, Any]) -> Audit | None:
    """An audit event about pods that was read already; None when it is none that an apiserver writes."""
    try:
        return msgspec.convert(audit, Audit)
    except (msgspec.ValidationError, RecursionError):
        return None


def is_pod(answer: Answer) -> bool:
    """Whether an answer of kind Pod is one."""
    return answer.metadata is not UNSET and not (isinstance(answer.status, str) and answer.status)


def refused(audit: Mapping[str, Any]) -> bool:
    """Whether the request was answered with an error: then anything may have been sent."""
    status = audit.get("responseStatus")
    code = status.get("code") if isinstance(status, dict) else None
    return type(code) is int and code >= 400
