"""Whether a gap in one record matters: the other witness may show that nothing happened in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hintbound.history.events import LOSSES, VERSIONS, Event, Kind, Source
from hintbound.history.writers import Request


@dataclass(frozen=True, slots=True)
class Gaps:
    """What recorders lost while a test ran."""

    open: tuple[str, ...] = ()
    """Losses that may hide something."""
    healed: tuple[str, ...] = ()
    """Gaps of the watch that hide nothing of this test."""


def gaps_of(events: Sequence[Event], *, joined: bool) -> Gaps:
    """The losses in a test's slice of the history.

    A gap of the watch is healed when the audit log is whole, no apiserver was killed (then a write may be in
    neither record), and every version that a write of this test's pods was answered with has been watched or
    listed. `joined` says that the converse was shown.
    """
    losses = [event for event in events if event.kind in LOSSES]
    if not losses:
        return Gaps()
    healing = (
        joined
        and all(event.source == Source.WATCH and event.kind == Kind.GAP for event in losses)
        and not any(event.kind == Kind.COMPONENT_KILLED for event in events)
        and not unwatched(events)
    )
    reasons = tuple(str(event.data.get("reason") or event.kind) for event in losses)
    return Gaps(healed=reasons) if healing else Gaps(open=reasons)


def unwatched(events: Sequence[Event]) -> list[Request]:
    """Writes that changed a pod, or may have, without the watch showing what they made of it."""
    watched = [e for e in events if e.source == Source.WATCH and e.kind in VERSIONS]
    versions = {(e.uid, e.resource_version) for e in watched}
    bound = {e.uid for e in watched if e.data.get("spec", {}).get("nodeName")}
    going = [e for e in watched if e.kind != Kind.LISTED and e.data["metadata"].get("deletionTimestamp")]
    uids_going, names_going = {e.uid for e in going}, {e.name for e in going}

    def shown(request: Request) -> bool:
        if request.rv:
            return (request.uid, request.rv) in versions
        if request.binds:
            return request.uid in bound
        if request.verb == "deletecollection":
            items = request.answer.get("items")
            return items is not None and {item["metadata"]["uid"] for item in items} <= uids_going
        return request.evicts and request.name in names_going

    writes = filter(None, map(Request.of, events))
    return [request for request in writes if request.succeeded and not request.dry_run and not shown(request)]
