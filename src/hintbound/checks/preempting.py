"""Who preempted whom: what records tell of nominations and of the victims that were deleted for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hintbound.checks.hints import UNTOLD, hint_sent, untold
from hintbound.checks.model import Context, Units
from hintbound.checks.traits import Trait
from hintbound.history.join import PodLife
from hintbound.history.writers import Request
from hintbound.protocol import Seconds

AROUND: Final[Seconds] = 30.0
"""A preemptor is nominated at about the time its victims are deleted: this long before or after. Larger only
finds more pods that may have been it, and so judges less."""


@dataclass(frozen=True, slots=True)
class Nomination:
    """A scheduler's request that nominates a pod, whatever was answered."""

    life: PodLife
    request: Request
    node: str

    @property
    def says_why(self) -> bool:
        """Whether it carries a condition, as that of a preemption does; of a JSON patch nobody asks."""
        body = self.request.body
        return not isinstance(body, dict) or "conditions" in (body.get("status") or {})


def deletions_of(life: PodLife, context: Context) -> list[Request]:
    """Of a victim: the requests by which schedulers deleted it."""
    return [
        r
        for r in life.requests
        if r.verb == "delete" and r.user in context.schedulers and r.succeeded and not r.dry_run
    ]


def is_victim(life: PodLife, context: Context) -> bool:
    """Whether a scheduler deleted it."""
    return bool(deletions_of(life, context))


def node_of(life: PodLife) -> str:
    """Where it was bound, by what was seen of it or by its binding; empty where neither is told."""
    if life.bound is not None:
        return life.bound.node_name
    target = life.binding.body.get("target") if life.binding and isinstance(life.binding.body, dict) else None
    return str((target or {}).get("name") or "")


def nominations(lives: Sequence[PodLife], context: Context) -> Mapping[str, list[Nomination]]:
    """All nominations by schedulers, by node."""
    found: dict[str, list[Nomination]] = defaultdict(list)
    for life in lives:
        for request in life.requests:
            if request.user in context.schedulers and (node := hint_sent(request)):
                found[node].append(Nomination(life, request, node))
    return found


def nominated_waiting(life: PodLife, context: Context) -> list[Nomination]:
    """The requests that nominated it together with a condition, as preemption does."""
    return [
        Nomination(life, r, node)
        for r in life.requests
        if r.user in context.schedulers
        and r.succeeded
        and (node := hint_sent(r))
        and isinstance(r.body, dict)
        and "conditions" in (r.body.get("status") or {})
    ]


def preemptors(nominated: Sequence[Nomination], deletions: Sequence[Request]) -> list[Nomination]:
    """Those that may have asked for these deletions, a nomination each: the first of each pod about that
    time."""
    first, last = deletions[0].mono - AROUND, deletions[-1].mono + AROUND
    near: dict[int, Nomination] = {}
    for nomination in nominated:
        if first <= nomination.request.mono <= last:
            near.setdefault(id(nomination.life), nomination)
    return list(near.values())


def status_untold(lives: Sequence[PodLife], context: Context) -> str:
    """Why it is not known whom the schedulers nominated; empty when it is."""
    told: Iterable[str] = (name for life in lives for name, _ in nominating_untold(life, context))
    if context.unit is not None:
        told = (name for name in context.told if name in UNTOLD)
    return min(told, default="")


def nominating_untold(life: PodLife, context: Context) -> list[tuple[str, Seconds]]:
    """Why it is not known whether a scheduler nominated it, for `Units.tells`."""
    return [
        (reason, 0.0)
        for r in life.requests
        if r.subresource == "status" and r.user in context.schedulers and (reason := untold(r))
    ][:1]


def nominated_to(life: PodLife, context: Context) -> set[str]:
    """The nodes to which schedulers nominated it, and those that its versions show as hints."""
    mine = {node for r in life.requests if r.user in context.schedulers and (node := hint_sent(r))}
    return mine.union(v.nominated_node_name for v in life.versions if v.nominated_node_name)


VICTIMS: Final = Units(
    home=lambda life, context: node_of(life),
    seen_in=nominated_to,
    tells=nominating_untold,
    needs=Trait.HINTED | Trait.HINT_SENT | Trait.STATUS_BY_SCHEDULER,
)
"""A victim and those that it may have been deleted for have its node in common."""


def victims(lives: Sequence[PodLife], context: Context) -> Iterator[tuple[PodLife, str, list[Request]]]:
    """The victims that are to be judged here, each with its node and deletions."""
    for life in lives:
        if deletions := deletions_of(life, context):
            node = node_of(life)
            if context.unit in (None, node):
                yield life, node, deletions


def priority(life: PodLife) -> int | None:
    """`spec.priority`; None where no version of it was seen, or it says nothing that is one."""
    if not life.versions:
        return None
    said = life.versions[0].object.get("spec", {}).get("priority", 0)
    return said if type(said) is int else None
