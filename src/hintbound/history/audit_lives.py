"""The lives of pods out of audit logs alone: the partition step of `hintbound check`, and what it makes of
a part.

Real logs carry no uid on PATCH and DELETE, so a part is all that was asked about one namespace and name; it
is split into lives by what tells them apart: a create that succeeded, and a uid. Of a life there are the
requests and, where answers were logged, the versions that they show; a binding shows none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from hintbound.history.events import Event, Kind
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.writers import Request

Key = tuple[str, str, str]
"""Cluster, namespace, name."""


def key_of(event: Event) -> Key | None:
    """The part that an event belongs to; None for one that names no pod (a create with generateName, logged
    without its answer, and a collection)."""
    return (event.cluster, event.namespace, event.name) if event.name else None


def distinct(events: Iterable[Event]) -> Iterator[Event]:
    """The events of one part, each once: the files of several apiservers, and copies of files, overlap."""
    seen: set[tuple[str, str]] = set()
    for event in events:
        identity = (str(event.data.get("auditID") or event.index), event.kind)
        if identity not in seen:
            seen.add(identity)
            yield event


def partitioned(events: Iterable[Event]) -> tuple[dict[Key, list[Event]], int]:
    """Events by part, and how many belong to none."""
    parts: dict[Key, list[Event]] = defaultdict(list)
    nameless = 0
    for event in events:
        key = key_of(event)
        if key is None:
            nameless += 1
        else:
            parts[key].append(event)
    return parts, nameless


@dataclass(slots=True)
class _Open:
    """A life that is being put together."""

    uid: str = ""
    requests: list[Request] = field(default_factory=list)


def lives_of(events: Iterable[Event]) -> list[PodLife]:
    """The lives in one part, in the order of their beginnings. Pure.

    Refused requests belong to the life during which they were asked. A part without a successful write has
    none.
    """
    requests = sorted(filter(None, map(Request.of, distinct(events))), key=_when)
    found: list[_Open] = []
    by_uid: dict[str, _Open] = {}
    for request in requests:
        life = by_uid.get(request.uid) if request.uid else None
        if life is None:
            life = found[-1] if found and not _begins(request, found[-1]) else None
        if life is None:
            life = _Open()
            found.append(life)
        if request.uid and not life.uid and request.succeeded:
            life.uid = request.uid
            by_uid[request.uid] = life
        life.requests.append(request)
    return [_life(life) for life in found if any(r.succeeded and not r.dry_run for r in life.requests)]


def _when(request: Request) -> tuple[str, int]:
    """A create counts from when it came: others act on the pod before its answer is logged."""
    made = request.verb == "create" and not request.subresource
    return (request.received if made else request.completed, request.event.index)


def _begins(request: Request, before: _Open) -> bool:
    """Whether a request shows a pod that is another than the one before it."""
    if request.verb == "create" and not request.subresource:
        return request.succeeded and not request.dry_run
    return bool(request.succeeded and request.uid and before.uid and request.uid != before.uid)


def _life(life: _Open) -> PodLife:
    first = life.requests[0].event
    return PodLife(
        cluster=first.cluster,
        namespace=first.namespace,
        name=first.name,
        uid=life.uid,
        versions=tuple(_versions(life.requests)),
        requests=tuple(life.requests),
    )


def _versions(requests: Iterable[Request]) -> Iterator[PodVersion]:
    """What the answers show of the pod, each version once, in the order in which they were made."""
    shown: dict[str, Request] = {}
    for request in requests:
        if request.succeeded and not request.dry_run and request.rv:
            shown.setdefault(request.rv, request)
    for rv, request in sorted(shown.items(), key=lambda item: int(item[0]) if item[0].isdigit() else 0):
        made = request.verb == "create" and not request.subresource
        kind = Kind.ADDED if made else Kind.MODIFIED
        yield PodVersion(replace(request.event, kind=kind, resource_version=rv, data=request.answer), request)
