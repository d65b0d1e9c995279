"""Preemption: each victim once and with its grace, told in one write, and not for ever."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from hintbound.checks.hints import NO_ANSWERS, hint_sent, untold
from hintbound.checks.model import Context, Known, Unknown, Violation, check, check_life
from hintbound.history.join import PodLife
from hintbound.history.writers import Request
from hintbound.protocol import Seconds, Severity

AROUND: Final[Seconds] = 30.0
"""A preemptor is nominated at about the time its victims are deleted: this long before or after. Larger only
finds more pods that may have been it, and so judges less."""

LAG: Final[Seconds] = 1.0
"""So long after its first DELETE was answered a scheduler may not have seen the victim go, and delete it
again for the same preemptor, once (measured on 1.35.4 and 1.37.2 under load: 8 to 32 ms)."""

MOST_PREEMPTIONS: Final = 5
"""So often one pod may be nominated with a new condition before it is bound."""


def _deletions(life: PodLife, context: Context) -> list[Request]:
    """Of a victim: the requests by which schedulers deleted it."""
    return [
        r
        for r in life.requests
        if r.verb == "delete" and r.user in context.schedulers and r.succeeded and not r.dry_run
    ]


def _victim(life: PodLife, context: Context) -> bool:
    return bool(_deletions(life, context))


def _node_of(life: PodLife) -> str:
    if life.bound is not None:
        return life.bound.node_name
    target = life.binding.body.get("target") if life.binding and isinstance(life.binding.body, dict) else None
    return str((target or {}).get("name") or "")


@dataclass(frozen=True, slots=True)
class _Nomination:
    """A scheduler's request that nominates a pod, whatever was answered."""

    life: PodLife
    request: Request
    node: str


def _nominations(lives: Sequence[PodLife], context: Context) -> Mapping[str, list[_Nomination]]:
    """By node."""
    found: dict[str, list[_Nomination]] = defaultdict(list)
    for life in lives:
        for request in life.requests:
            if request.user in context.schedulers and (node := hint_sent(request)):
                found[node].append(_Nomination(life, request, node))
    return found


def _preemptors(nominations: Sequence[_Nomination], deletions: Sequence[Request]) -> list[_Nomination]:
    """Those that may have asked for these deletions, a nomination each: the first of each pod about that
    time."""
    first, last = deletions[0].event.mono - AROUND, deletions[-1].event.mono + AROUND
    near: dict[int, _Nomination] = {}
    for nomination in nominations:
        if first <= nomination.request.event.mono <= last:
            near.setdefault(id(nomination.life), nomination)
    return list(near.values())


def _status_untold(lives: Sequence[PodLife], context: Context) -> str:
    """Why it is not known whom the schedulers nominated; empty when it is."""
    patches = (r for life in lives for r in life.requests if r.subresource == "status")
    return next(filter(None, (untold(r) for r in patches if r.user in context.schedulers)), "")


@check(
    "victim-deleted-once",
    must="A scheduler deletes a victim once for each preemptor, and once more at most, "
    "before it can see it go.",
    concerns=_victim,
    about="pods that a scheduler deleted",
    known=(Known("kubernetes#134249", before="1.35"),),
)
def victim_deleted_once(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#134249. Every pod that a scheduler nominated to the victim's node about that time
    may have been a preemptor of its own; so what is found has no excuse."""
    nominations, untold_whom = _nominations(lives, context), _status_untold(lives, context)
    for life in lives:
        deletions = _deletions(life, context)
        if len(deletions) < 2:
            continue
        node = _node_of(life)
        if reason := untold_whom or ("" if node else NO_ANSWERS):
            yield Unknown(reason)
            continue
        preemptors = _preemptors(nominations.get(node, ()), deletions)
        asked_for = max(1, len(preemptors))
        late = sum(d.event.mono > deletions[0].event.mono + LAG for d in deletions)
        if late + 1 > asked_for or len(deletions) > 2 * asked_for:
            pods = ", ".join(f"{n.life.namespace}/{n.life.name}" for n in preemptors) or "no pod"
            victim = f"pod {life.namespace}/{life.name} on node {node}"
            said = f"{victim} was deleted {len(deletions)} times for {pods}"
            yield Violation(said, (*deletions[:4], *(n.request for n in preemptors[:1])))


@check_life(
    "victim-keeps-grace",
    must="A scheduler that deletes a victim leaves it its terminationGracePeriodSeconds.",
    concerns=_victim,
    about="pods that a scheduler deleted",
)
def victim_keeps_grace(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: the promise of Pod Priority and Preemption: victims get their graceful termination period."""
    own = next((v.object.get("spec", {}).get("terminationGracePeriodSeconds") for v in life.versions), None)
    for deletion in _deletions(life, context):
        given = _grace_given(deletion)
        if given is None:
            if reason := untold(deletion):
                yield Unknown(reason)
        elif own is None:
            yield Unknown(NO_ANSWERS)
        elif given < own:
            said = f"{deletion.user} gave pod {life.namespace}/{life.name} {given} s to end, of its {own} s"
            yield Violation(said, (deletion, *life.versions[:1]))


def _grace_given(deletion: Request) -> int | None:
    """The grace that a deletion orders, seconds; None for the pod's own, or when it is not told."""
    body: Any = deletion.body
    if isinstance(body, dict) and body.get("gracePeriodSeconds") is not None:
        return int(body["gracePeriodSeconds"])
    query = parse_qs(urlsplit(str(deletion.event.data.get("requestURI", ""))).query)
    return int(query["gracePeriodSeconds"][0]) if "gracePeriodSeconds" in query else None


@check(
    "preemption-told-whole",
    must="The PATCH that first nominates a preemptor also says why it waits: PodScheduled=False.",
    concerns=_victim,
    about="pods that a scheduler deleted",
)
def preemption_told_whole(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#89111: told apart, autoscalers add a node that nobody needs. Judged by
    a pod's first nomination ever: a later one may find the condition as it should be."""
    nominations, untold_whom = _nominations(lives, context), _status_untold(lives, context)
    firsts = _firsts(nominations)
    judged: set[int] = set()
    for life in lives:
        if not (deletions := _deletions(life, context)):
            continue
        node = _node_of(life)
        if reason := untold_whom or ("" if node else NO_ANSWERS):
            yield Unknown(reason)
            continue
        preemptors = _preemptors(nominations.get(node, ()), deletions)
        if not preemptors:
            yield Unknown("the nomination of the pod that it was deleted for is not in the record")
        silent = [n for n in preemptors if firsts[id(n.life)] is n and not _says_why(n)]
        if silent and len(preemptors) > 1:
            yield Unknown(
                "which of several pods it was deleted for cannot be told, and not all say why they wait"
            )
        elif silent and id(silent[0].life) not in judged:
            judged.add(id(silent[0].life))
            pod = f"{silent[0].life.namespace}/{silent[0].life.name}"
            said = (
                f"pod {pod} was nominated to {node} without a word on why it waits, and {life.name} deleted"
            )
            yield Violation(said, (silent[0].request, deletions[0]))


def _firsts(nominations: Mapping[str, Sequence[_Nomination]]) -> dict[int, _Nomination]:
    """The first nomination of each life, by its id: a later one need not carry the condition again."""
    every = sorted((n for of_node in nominations.values() for n in of_node), key=lambda n: n.request.received)
    return {id(nomination.life): nomination for nomination in reversed(every)}


def _says_why(nomination: _Nomination) -> bool:
    body = nomination.request.body
    return not isinstance(body, dict) or "conditions" in (body.get("status") or {})


def _nominated_waiting(life: PodLife, context: Context) -> list[Request]:
    """The requests that nominated it together with a condition, as preemption does."""
    return [
        r
        for r in life.requests
        if r.user in context.schedulers
        and r.succeeded
        and hint_sent(r)
        and isinstance(r.body, dict)
        and "conditions" in (r.body.get("status") or {})
    ]


@check_life(
    "preemption-ends",
    must=f"A scheduler preempts for one pod at most {MOST_PREEMPTIONS} times.",
    severity=Severity.HAZARD,
    concerns=lambda life, context: bool(_nominated_waiting(life, context)),
    about="pods that a scheduler nominated while they waited",
)
def preemption_ends(life: PodLife, context: Context) -> Iterator[Violation]:
    """A livelock deletes pods on and on and runs nothing, whatever its cause."""
    told = _nominated_waiting(life, context)
    if len(told) > MOST_PREEMPTIONS:
        said = f"pod {life.namespace}/{life.name} was nominated {len(told)} times while it waited"
        yield Violation(said, (*told[:2], *told[-3:]))


CHECKS = (victim_deleted_once, victim_keeps_grace, preemption_told_whole, preemption_ends)
