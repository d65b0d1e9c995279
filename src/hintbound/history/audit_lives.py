"""The lives of pods out of audit logs alone: the partition step of `hintbound check`, and what it makes of
a part.

Real logs carry no uid on PATCH and DELETE, so a part is all that was asked about one namespace and name; it
is split into lives by what tells them apart: a create that succeeded, and a uid. Of a life there are the
requests and, where answers were logged, the versions that they show; a binding shows none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from hintbound.history.join import AnsweredVersion, PodLife
from hintbound.history.writers import Request


def distinct(requests: Sequence[Request]) -> Sequence[Request]:
    """Requests, each once: the files of several apiservers, and copies of files, overlap."""
    found = {request.audit_id: request for request in requests if request.audit_id}
    if len(found) == len(requests):
        return requests
    return [*found.values(), *(request for request in requests if not request.audit_id)]


_MOMENT: Final = itemgetter(0, 1)


@dataclass(slots=True)
class _Open:
    """A life that is being put together."""

    uid: str = ""
    requests: list[Request] = field(default_factory=list)
    happened: bool = False
    """Whether anything came of the requests."""


def lives_of(
    requests: Sequence[Request], *, cluster: str = "", namespace: str = "", name: str = ""
) -> list[PodLife]:
    """The lives in one part, the answered writes to one namespace and name, in the order of their
    beginnings. Pure: in whatever order the requests are given.

    Refused requests belong to the life during which they were asked. A part without a successful write has
    none.
    """
    # A create counts from when it came: others act on the pod before its answer is logged.
    timed = [
        (r.received if r.verb == "create" and not r.subresource else r.completed, r.audit_id, r)
        for r in distinct(requests)
    ]
    timed.sort(key=_MOMENT)
    found: list[_Open] = []
    by_uid: dict[str, _Open] = {}
    life: _Open | None
    for _, _, request in timed:
        uid, succeeded = request.uid, 200 <= request.code < 300
        life = by_uid.get(uid) if uid else None
        if life is None:
            life = found[-1] if found and not (succeeded and _begins(request, found[-1])) else None
        if life is None:
            life = _Open()
            found.append(life)
        if uid and succeeded and not life.uid:
            life.uid = uid
            by_uid[uid] = life
        life.requests.append(request)
        if succeeded and not life.happened:
            life.happened = not request.dry_run
    return [
        PodLife(cluster, namespace, name, life.uid, tuple(_versions(life.requests)), tuple(life.requests))
        for life in found
        if life.happened
    ]


def _begins(request: Request, before: _Open) -> bool:
    """Whether a request that succeeded shows a pod that is another than the one before it."""
    if request.verb == "create" and not request.subresource:
        return not request.dry_run
    return bool(request.uid and before.uid and request.uid != before.uid)


def _versions(requests: Iterable[Request]) -> list[AnsweredVersion]:
    """What the answers show of the pod, each version once, in the order in which they were made."""
    shown: dict[str, Request] = {}
    for request in requests:
        if request.rv and request.succeeded and not request.dry_run:
            shown.setdefault(request.rv, request)
    if not shown:
        return []
    order = sorted((int(rv) if rv.isdecimal() else 0, position) for position, rv in enumerate(shown))
    made = list(shown.values())
    return [AnsweredVersion(made[position]) for _, position in order]
