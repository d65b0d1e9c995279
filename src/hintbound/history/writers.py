"""Which request made which version of a pod: the audit log's half of the join."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from hintbound.history.events import Event, Kind, Source
from hintbound.protocol import Seconds

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Request:
    """One write to a pod, as the apiserver logged it once it had answered.

    Of a run's history the whole event is at hand. Of an audit log, which may be huge, `event`, `body` and
    `answer` are read again from the log when they are asked for (`audit_requests.LoggedRequest`); all else
    is cheap.
    """

    __slots__ = ()

    event: Event
    verb: str
    subresource: str
    """`status`, `binding`, `eviction`, …; empty for the pod itself."""
    name: str
    """Empty for a collection."""
    uid: str
    """Of the pod, as answered or as demanded; empty when neither tells."""
    received: str
    """By the apiserver's clock, RFC 3339 with microseconds: such strings sort as times do."""
    completed: str

    @classmethod
    def of(cls, event: Event) -> Request | None:
        """The request that an event tells of; None for anything but an answered write to pods."""
        if event.source != Source.AUDIT or event.kind != Kind.RESPONSE_COMPLETE:
            return None
        resource, _, subresource = event.resource.partition("/")
        verb = event.data.get("verb", "")
        if resource not in ("pods", "bindings") or verb not in WRITES:
            return None
        return _Recorded(
            event=event,
            verb=verb,
            subresource="binding" if resource == "bindings" else subresource,
            name=event.name,
            uid=event.uid or demanded_uid(event.data.get("requestObject"), event.data.get("responseObject")),
            received=event.data.get("requestReceivedTimestamp", ""),
            completed=event.data.get("stageTimestamp", ""),
        )

    @property
    def user(self) -> str:
        """Who asked."""
        return str(self.event.data.get("user", {}).get("username", ""))

    @property
    def user_agent(self) -> str:
        """With which program."""
        return str(self.event.data.get("userAgent", ""))

    @property
    def uri(self) -> str:
        """What was asked for, with its query."""
        return str(self.event.data.get("requestURI", ""))

    @property
    def audit_id(self) -> str:
        """Joins it with the client's view of the same exchange."""
        return str(self.event.data.get("auditID", ""))

    @property
    def level(self) -> str:
        """How much the log keeps of it: `Metadata`, `Request` or `RequestResponse`."""
        return str(self.event.data.get("level", ""))

    @property
    def truncated(self) -> bool:
        """Whether the apiserver cut off what was sent or answered."""
        return (self.event.data.get("annotations") or {}).get("audit.k8s.io/truncated") == "true"

    @property
    def named_uid(self) -> str:
        """The uid that was sent, as far as the log has it beside the name, at every level; else empty."""
        return str((self.event.data.get("objectRef") or {}).get("uid") or "")

    @property
    def named_rv(self) -> str:
        """The resourceVersion that was sent, as far as the log has it beside the name, at every level."""
        return str((self.event.data.get("objectRef") or {}).get("resourceVersion") or "")

    @property
    def body(self) -> Any:
        """What was sent; for a patch the patch itself. None where the log keeps no bodies."""
        return self.event.data.get("requestObject")

    @property
    def answer(self) -> Mapping[str, Any]:
        """What was answered; empty where the log keeps no bodies."""
        return self.event.data.get("responseObject") or {}

    @property
    def sent_rv(self) -> str:
        """`metadata.resourceVersion` of what was sent; empty for none, and for a JSON patch."""
        metadata = self.body.get("metadata") if isinstance(self.body, dict) else None
        return str((metadata.get("resourceVersion") if isinstance(metadata, dict) else "") or "")

    @property
    def hint(self) -> str | None:
        """The hint that a write to `pods/status` sends, empty for one that clears it; None when it sends
        none, or the log does not keep what was sent."""
        if self.subresource != "status" or self.verb not in ("patch", "update"):
            return None
        return hint_in(self.body)

    @property
    def shown(self) -> Shown | None:
        """What the answer shows of the pod; None when it is no pod, or the log keeps no answers."""
        return shown_in(self.answer) if self.rv else None

    @property
    def code(self) -> int:
        """The status code."""
        return int(self.event.data.get("responseStatus", {}).get("code", 0))

    @property
    def rv(self) -> str:
        """The resourceVersion of the pod that was answered; also of one that the request left as it was."""
        return self.event.resource_version

    @property
    def mono(self) -> Seconds:
        """When it was recorded, on the clock of the record."""
        return self.event.mono

    @property
    def resource(self) -> str:
        """`pods`, `pods/status`, …"""
        return self.event.resource

    @property
    def succeeded(self) -> bool:
        """Whether the apiserver said yes."""
        return 200 <= self.code < 300

    @property
    def dry_run(self) -> bool:
        """Whether it was only tried."""
        if tried_only(self.uri):
            return True
        return isinstance(self.body, dict) and bool(self.body.get("dryRun"))

    @property
    def binds(self) -> bool:
        """Whether it asks to put the pod on a node."""
        return self.subresource == "binding" and self.verb == "create"

    @property
    def evicts(self) -> bool:
        """Whether it asks to evict the pod."""
        return self.subresource == "eviction" and self.verb == "create"

    def __str__(self) -> str:
        """For messages: `patch pods/status by hintbound-nominator: 200`."""
        return f"{self.verb} {self.resource} by {self.user}: {self.code}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Recorded(Request):
    """A request whose whole event is at hand."""

    event: Event
    verb: str
    subresource: str
    name: str
    uid: str
    received: str
    completed: str


Shown = tuple[str, str, str, str]
"""What most checks ask of a pod, so that it need not be read whole: `spec.nodeName`,
`status.nominatedNodeName`, `metadata.deletionTimestamp` and the status of the condition PodScheduled; each
empty when it is absent. A plain tuple: there are many."""


def shown_in(pod: Mapping[str, Any]) -> Shown:
    """Of a pod as the apiserver sends it."""
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    return (
        (pod.get("spec") or {}).get("nodeName") or "",
        status.get("nominatedNodeName") or "",
        (pod.get("metadata") or {}).get("deletionTimestamp") or "",
        next((c.get("status", "") for c in conditions if c.get("type") == "PodScheduled"), ""),
    )


_HINT: Final = "/status/nominatedNodeName"


def hint_in(body: Any) -> str | None:
    """The hint that a body sends to `pods/status`, empty for one that clears it; None when it sends none."""
    if isinstance(body, list):
        for step in body:
            if isinstance(step, dict) and step.get("path") == _HINT and step.get("op") != "test":
                return "" if step.get("op") == "remove" else str(step.get("value") or "")
        return None
    status = body.get("status") if isinstance(body, dict) else None
    if not isinstance(status, dict) or "nominatedNodeName" not in status:
        return None
    return str(status["nominatedNodeName"] or "")


def tried_only(uri: str) -> bool:
    """Whether a URI asks for a dry run."""
    return "dryRun" in uri and "dryRun" in parse_qs(urlsplit(uri).query)


def demanded_uid(body: Any, answer: Mapping[str, Any] | None) -> str:
    """The uid that the caller wrote into the request, or that the answer's Status names."""
    sent = body if isinstance(body, dict) else {}
    answered = answer or {}
    places = (
        (sent.get("metadata") or {}) if sent.get("kind") != "DeleteOptions" else {},
        sent.get("preconditions") or {},
        (sent.get("deleteOptions") or {}).get("preconditions") or {},
        answered.get("details") or {},
    )
    return next((str(place["uid"]) for place in places if place.get("uid")), "")


def writers(versions: Sequence[Event], requests: Sequence[Request]) -> list[Request | None]:
    """For each version of a pod, in order, the request that made it. `requests` are sorted by completion."""
    effective = [request for request in requests if request.succeeded and not request.dry_run]
    by_version: dict[str, Request] = {}
    for request in effective:
        if request.rv:
            by_version.setdefault(request.rv, request)  # later ones with the same answer changed nothing
    made: list[Request | None] = [by_version.get(version.resource_version) for version in versions]
    bindings = [request for request in effective if request.binds]
    for position, version in enumerate(versions):
        if made[position] is not None:
            continue
        before = versions[position - 1].data if position else {}
        after = version.data
        following = made[position + 1] if position + 1 < len(versions) else None
        if version.kind == Kind.DELETED:
            made[position] = _ended_by(version, versions, effective, by_version)
        elif _node(after) and not _node(before):
            made[position] = bindings.pop(0) if bindings else None
        elif _deletion(after) != _deletion(before):
            # Without grace the pod is marked and removed in one request, which is answered with the removal.
            if (
                following is not None
                and following.verb == "delete"
                and versions[position + 1].kind == Kind.DELETED
            ):
                made[position] = following
            else:
                made[position] = _first(effective, _removes_without_telling)
        elif _disrupted(after) and not _disrupted(before):
            made[position] = _first(effective, lambda request: request.evicts)
    _give_to_the_unanswered(versions, requests, made)
    return made


def _give_to_the_unanswered(
    versions: Sequence[Event], requests: Sequence[Request], made: list[Request | None]
) -> None:
    """A client that dies in the middle is logged with a 504, and what it asked for may have been done all the
    same (seen with a scheduler that was killed)."""
    unanswered = [r for r in requests if r.code in _UNANSWERED and not r.dry_run]
    for position, version in enumerate(versions):
        if made[position] is not None or version.kind == Kind.DELETED:
            continue
        bound = _node(version.data) and not (position and _node(versions[position - 1].data))
        verbs = ("create",) if bound or version.kind == Kind.ADDED else ("patch", "update")
        for request in unanswered:
            if request.verb in verbs and request.binds == bool(bound and position):
                made[position] = request
                unanswered.remove(request)
                break


_UNANSWERED: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT})


def _ended_by(
    version: Event, versions: Sequence[Event], effective: Sequence[Request], by_version: Mapping[str, Request]
) -> Request | None:
    """Who made a pod go whose end no answer carries: its last finalizer was taken, or a collection went."""
    before = versions[versions.index(version) - 1].resource_version if len(versions) > 1 else ""
    freed = [r for r in effective if r.rv and r.rv == before and r is not by_version.get(before)]
    return freed[-1] if freed else _first(effective, _removes_without_telling)


def _removes_without_telling(request: Request) -> bool:
    return request.verb == "deletecollection" or request.evicts


def _first(requests: Sequence[Request], fits: Callable[[Request], bool]) -> Request | None:
    return next((request for request in requests if fits(request)), None)


def _node(pod: Mapping[str, Any]) -> str:
    return pod.get("spec", {}).get("nodeName") or ""


def _deletion(pod: Mapping[str, Any]) -> tuple[Any, Any]:
    metadata = pod.get("metadata", {})
    return metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")


def _disrupted(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(c.get("type") == "DisruptionTarget" and c.get("status") == "True" for c in conditions)
