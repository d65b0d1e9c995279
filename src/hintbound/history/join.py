"""Joins what the watch saw with what the audit log says: each version of a pod, and the request that made it.

An audit line does not always carry the version that its request made (seen on 1.34 to 1.37): a binding and
an eviction are answered with a Status; deleting a bound pod without grace makes two versions and answers with
the second; a collection is answered with what it was before; a refused PATCH or DELETE carries no uid. So the
join is by uid and resourceVersion where they are told, and else by name, time and what changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hintbound.history.events import VERSIONS, Event, Kind, Source
from hintbound.history.writers import Request, Shown, writers
from hintbound.protocol import MARKER_LABEL, Seconds


@dataclass(frozen=True, slots=True, eq=False)
class PodVersion:
    """One version of a pod as the watch showed it, and who made it."""

    event: Event
    writer: Request | None = None
    """The request that made it; None when the audit log does not tell."""

    @property
    def type(self) -> str:
        """`added`, `modified`, `deleted`, or `listed`: it was found, not seen to come about."""
        return self.event.kind

    @property
    def object(self) -> Mapping[str, Any]:
        """The pod, as the apiserver sent it."""
        return self.event.data

    @property
    def rv(self) -> str:
        """Its resourceVersion."""
        return self.event.resource_version

    @property
    def mono(self) -> Seconds:
        """When it was seen, since the run's start."""
        return self.event.mono

    @property
    def time(self) -> str:
        """The same as RFC 3339, UTC."""
        return self.event.time

    @property
    def index(self) -> int:
        """Where it stands in the history."""
        return self.event.index

    @property
    def node_name(self) -> str:
        """`spec.nodeName`; empty while unbound."""
        return self.object.get("spec", {}).get("nodeName") or ""

    @property
    def nominated_node_name(self) -> str:
        """`status.nominatedNodeName`; empty when there is none."""
        return self.object.get("status", {}).get("nominatedNodeName") or ""

    @property
    def deletion_timestamp(self) -> str:
        """`metadata.deletionTimestamp`; empty unless it is being deleted."""
        return self.object.get("metadata", {}).get("deletionTimestamp") or ""

    @property
    def scheduled(self) -> str:
        """The status of the condition PodScheduled, `True` or `False`; empty when there is none."""
        return str((self.condition("PodScheduled") or {}).get("status") or "")

    def condition(self, kind: str) -> Mapping[str, Any] | None:
        """The status condition of this type."""
        conditions = self.object.get("status", {}).get("conditions") or ()
        return next((condition for condition in conditions if condition.get("type") == kind), None)

    def __str__(self) -> str:
        """For messages: `pod ns/p at 42 (modified)`."""
        return f"pod {self.event.namespace}/{self.event.name} at {self.rv} ({self.type})"


class AnsweredVersion(PodVersion):
    """A version of a pod as the answer to the request that made it shows it.

    The pod is read whole only when `object`, `event` or a condition other than PodScheduled is asked for.
    """

    __slots__ = ("_shown",)
    _shown: Shown

    def __init__(self, writer: Request) -> None:
        """`writer` was answered with a pod."""
        object.__setattr__(self, "writer", writer)
        object.__setattr__(self, "_shown", writer.shown)

    def __reduce__(self) -> tuple[type[AnsweredVersion], tuple[Request | None]]:
        return AnsweredVersion, (self.writer,)

    @property
    def event(self) -> Event:
        """The event of its answer, as if it had been watched."""
        return replace(self.by.event, kind=self.type, resource_version=self.rv, data=self.by.answer)

    @property
    def by(self) -> Request:
        """The request that made it: here it is always known."""
        assert self.writer is not None
        return self.writer

    @property
    def type(self) -> str:
        """`added` for the first, else `modified`: an answer does not tell of an end."""
        return Kind.ADDED if self.by.verb == "create" and not self.by.subresource else Kind.MODIFIED

    @property
    def object(self) -> Mapping[str, Any]:
        """The pod, as the apiserver answered it."""
        return self.by.answer

    @property
    def rv(self) -> str:
        """Its resourceVersion."""
        return self.by.rv

    @property
    def index(self) -> int:
        """Its resourceVersion: like the place in a history it tells which of two versions came first."""
        return int(self.rv) if self.rv.isdecimal() else 0

    @property
    def mono(self) -> Seconds:
        """When it was answered."""
        return self.by.mono

    @property
    def time(self) -> str:
        """The same as RFC 3339, UTC."""
        return self.by.completed

    @property
    def node_name(self) -> str:
        """`spec.nodeName`; empty while unbound."""
        return self._shown[0]

    @property
    def nominated_node_name(self) -> str:
        """`status.nominatedNodeName`; empty when there is none."""
        return self._shown[1]

    @property
    def deletion_timestamp(self) -> str:
        """`metadata.deletionTimestamp`; empty unless it is being deleted."""
        return self._shown[2]

    @property
    def scheduled(self) -> str:
        """The status of the condition PodScheduled; empty when there is none."""
        return self._shown[3]


@dataclass(frozen=True, slots=True, eq=False)
class PodLife:
    """One pod, one uid, from its first version to its last; a pod of the same name is another life."""

    cluster: str
    namespace: str
    name: str
    uid: str
    versions: tuple[PodVersion, ...]
    """In the order in which they came to be."""
    requests: tuple[Request, ...]
    """Writes that were aimed at it, refused ones too, in the order in which they were completed."""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What was found out about it once and is asked by many (`hints.once`)."""

    @property
    def binding(self) -> Request | None:
        """The request that bound it."""
        return next((r for r in self.requests if r.binds and r.succeeded), None)

    @property
    def bound(self) -> PodVersion | None:
        """The first version on a node."""
        if "bound" not in self.memo:
            self.memo["bound"] = next((version for version in self.versions if version.node_name), None)
        found: PodVersion | None = self.memo["bound"]
        return found

    @property
    def last(self) -> PodVersion:
        """The latest version."""
        return self.versions[-1]

    def unexplained(self, *, until: int | None = None) -> list[PodVersion]:
        """Versions seen to come about (before event `until`) of which no request is known yet."""
        return [
            version
            for version in self.versions
            if version.type in _MADE and version.writer is None and (until is None or version.index < until)
        ]


_MADE: Final = frozenset({Kind.ADDED, Kind.MODIFIED})
"""A deletion's own version may be made by the apiserver alone, long after the request for it."""


def lives(events: Iterable[Event], *, markers: bool = False) -> list[PodLife]:
    """The lives of all pods of a history, ordered by their first version.

    Marker pods are hintbound's own and left out unless asked for. Pure: the same events give the same lives.
    """
    versions: dict[tuple[str, str], list[Event]] = defaultdict(list)
    requests: dict[tuple[str, str], list[Request]] = defaultdict(list)
    for event in events:
        if event.source == Source.WATCH and event.resource == "pods" and event.kind in VERSIONS:
            versions[event.cluster, event.uid].append(event)
        elif request := Request.of(event):
            requests[event.cluster, event.namespace].append(request)
    found: list[PodLife] = []
    for namesakes in _namesakes(versions.values()):
        first = namesakes[0][0]
        aimed = _aimed(namesakes, requests.get((first.cluster, first.namespace), ()))
        found.extend(_life(own, aimed[own[0].uid]) for own in namesakes if markers or not _is_marker(own[0]))
    return sorted(found, key=lambda life: life.versions[0].index)


def _namesakes(lives_of_all: Iterable[list[Event]]) -> list[list[list[Event]]]:
    """Versions of one uid each, gathered by name, in the order of their beginnings."""
    by_name: dict[tuple[str, str, str], list[list[Event]]] = defaultdict(list)
    for own in sorted(lives_of_all, key=lambda own: own[0].index):
        by_name[own[0].cluster, own[0].namespace, own[0].name].append(own)
    return list(by_name.values())


def _aimed(namesakes: Sequence[Sequence[Event]], requests: Iterable[Request]) -> Mapping[str, list[Request]]:
    """Which of the pods of one name each request of the namespace was aimed at, by uid."""
    name = namesakes[0][0].name
    uids = [own[0].uid for own in namesakes]
    aimed: dict[str, list[Request]] = {uid: [] for uid in uids}
    nameless: list[Request] = []
    for request in requests:
        if request.uid in aimed:
            aimed[request.uid].append(request)
        elif not request.uid and request.name in (name, ""):
            nameless.append(request)
    births = [_birth(aimed[uid]) for uid in uids]
    for request in nameless:
        born = [
            uid
            for uid, birth in zip(uids, births, strict=True)
            if birth is None or birth <= request.completed
        ]
        if born:
            aimed[born[-1]].append(request)
    for own in aimed.values():
        own.sort(key=lambda request: (request.completed, request.event.index))
    return aimed


def _birth(requests: Iterable[Request]) -> str | None:
    """When the create was received; without one, when the first request that names this uid was."""
    creates = [r.received for r in requests if r.verb == "create" and not r.subresource and r.succeeded]
    return min(creates or (r.received for r in requests if r.succeeded), default=None)


def _life(own: Sequence[Event], requests: Sequence[Request]) -> PodLife:
    first = own[0]
    made = writers(own, requests)
    return PodLife(
        cluster=first.cluster,
        namespace=first.namespace,
        name=first.name,
        uid=first.uid,
        versions=tuple(PodVersion(event, writer) for event, writer in zip(own, made, strict=True)),
        requests=tuple(requests),
    )


def _is_marker(event: Event) -> bool:
    return MARKER_LABEL in (event.data.get("metadata", {}).get("labels") or {})
