"""Preemption: each victim once and with its grace, told in one write, and not for ever."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from hintbound.checks.fit import last_seen
from hintbound.checks.hints import NO_ANSWERS, hint_changes, hint_sent, untold
from hintbound.checks.model import Context, Known, Units, Unknown, Violation, check, check_life
from hintbound.checks.preempting import (
    VICTIMS,
    Nomination,
    deletions_of,
    is_victim,
    node_of,
    nominated_waiting,
    nominating_untold,
    nominations,
    preemptors,
    priority,
    status_untold,
    victims,
)
from hintbound.checks.room import LOSSY, NO_NODES, demand, lack, over, rooms
from hintbound.checks.traits import Trait
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.writers import Request
from hintbound.protocol import Seconds, Severity

LAG: Final[Seconds] = 1.0
"""So long after its first DELETE was answered a scheduler may not have seen the victim go, and delete it
again for the same preemptor, once (measured on 1.35.4 and 1.37.2 under load: 8 to 32 ms)."""

MOST_PREEMPTIONS: Final = 5
"""So often one pod may be nominated with a new condition before it is bound."""

CLEARED_WITHIN: Final[Seconds] = 5.0
"""The scheduler clears them in the same breath; this long its writes may take."""

WHOSE: Final = "the nomination of the pod that it was deleted for is not in the record"

UNSAID: Final = "which of several pods it was deleted for cannot be told, and not all say why they wait"

ON_ITS_WAY: Final = (
    "a pod was bound where it was hinted to: it may have been on its way when another preempted"
)

_CAME: Final = "a pod came to "


@check(
    "victim-deleted-once",
    must="A scheduler deletes a victim once for each preemptor, and once more at most, "
    "before it can see it go.",
    concerns=is_victim,
    needs=Trait.DELETED_BY_SCHEDULER,
    about="pods that a scheduler deleted",
    known=(Known("kubernetes#134249", before="1.35"),),
    units=VICTIMS,
)
def victim_deleted_once(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#134249. Every pod that a scheduler nominated to the victim's node about that time
    may have been a preemptor of its own; so what is found has no excuse."""
    nominated, untold_whom = nominations(lives, context), status_untold(lives, context)
    for life, node, deletions in victims(lives, context):
        if len(deletions) < 2:
            continue
        if reason := untold_whom or ("" if node else NO_ANSWERS):
            yield Unknown(reason)
            continue
        asking = preemptors(nominated.get(node, ()), deletions)
        asked_for = max(1, len(asking))
        late = sum(d.mono > deletions[0].mono + LAG for d in deletions)
        if late + 1 > asked_for or len(deletions) > 2 * asked_for:
            pods = ", ".join(f"{n.life.namespace}/{n.life.name}" for n in asking) or "no pod"
            victim = f"pod {life.namespace}/{life.name} on node {node}"
            said = f"{victim} was deleted {len(deletions)} times for {pods}"
            yield Violation(said, (*deletions[:4], *(n.request for n in asking[:1])))


@check_life(
    "victim-keeps-grace",
    must="A scheduler that deletes a victim leaves it its terminationGracePeriodSeconds.",
    concerns=is_victim,
    needs=Trait.DELETED_BY_SCHEDULER,
    about="pods that a scheduler deleted",
)
def victim_keeps_grace(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: the promise of Pod Priority and Preemption: victims get their graceful termination period."""
    own = next((v.object.get("spec", {}).get("terminationGracePeriodSeconds") for v in life.versions), None)
    for deletion in deletions_of(life, context):
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
    query = parse_qs(urlsplit(deletion.uri).query)
    return int(query["gracePeriodSeconds"][0]) if "gracePeriodSeconds" in query else None


@check(
    "preemption-told-whole",
    must="The PATCH that first nominates a preemptor also says why it waits: PodScheduled=False.",
    concerns=is_victim,
    needs=Trait.DELETED_BY_SCHEDULER,
    about="pods that a scheduler deleted",
    units=VICTIMS,
)
def preemption_told_whole(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#89111: told apart, autoscalers add a node that nobody needs. Judged by
    a pod's first nomination ever: a later one may find the condition as it should be."""
    nominated, untold_whom = nominations(lives, context), status_untold(lives, context)
    firsts = _firsts(nominated)
    judged: set[int] = set()
    for life, node, deletions in victims(lives, context):
        if reason := untold_whom or ("" if node else NO_ANSWERS):
            yield Unknown(reason)
            continue
        asking = preemptors(nominated.get(node, ()), deletions)
        if not asking:
            yield Unknown(WHOSE)
        silent = [n for n in asking if firsts[id(n.life)] is n and not n.says_why]
        if silent and len(asking) > 1:
            yield Unknown(UNSAID)
        elif silent and any(
            n.life is not silent[0].life and _stood(n.life, node, deletions[0].mono) for n in nominated[node]
        ):
            yield Unknown(UNSAID)  # who preempts again on the node that it was nominated to sends no hint
        elif silent and id(silent[0].life) not in judged:
            judged.add(id(silent[0].life))
            pod = f"{silent[0].life.namespace}/{silent[0].life.name}"
            said = (
                f"pod {pod} was nominated to {node} without a word on why it waits, and {life.name} deleted"
            )
            yield Violation(said, (silent[0].request, deletions[0]))


def _stood(life: PodLife, node: str, at: Seconds) -> bool:
    """Whether a pod waited with a hint to a node at a moment."""
    seen = last_seen(life, at)
    return seen is not None and seen.nominated_node_name == node and not seen.node_name


def _firsts(nominated: Mapping[str, Sequence[Nomination]]) -> dict[int, Nomination]:
    """The first nomination of each life, by its id: a later one need not carry the condition again."""
    every = sorted((n for of_node in nominated.values() for n in of_node), key=lambda n: n.request.received)
    return {id(nomination.life): nomination for nomination in reversed(every)}


def _nominated(life: PodLife, context: Context) -> bool:
    return bool(nominated_waiting(life, context))


@check(
    "preemption-ends",
    must=f"A scheduler preempts for one pod at most {MOST_PREEMPTIONS} times.",
    severity=Severity.HAZARD,
    concerns=_nominated,
    needs=Trait.STATUS_BY_SCHEDULER,
    about="pods that a scheduler nominated while they waited",
    units=Units(
        home=lambda life, context: _stands_nominated_to(life, context),
        seen_in=lambda life, context: [node_of(life)] if is_victim(life, context) else [],
        needs=Trait.DELETED_BY_SCHEDULER,
    ),
)
def preemption_ends(lives: Sequence[PodLife], context: Context) -> Iterator[Violation]:
    """A livelock deletes pods on and on and runs nothing, whatever its cause: nominations that carry a
    condition are counted, and, where one stands, victims made only after those before them were deleted."""
    on_node: dict[str, list[PodLife]] = defaultdict(list)
    for life in lives:
        if is_victim(life, context) and (node := node_of(life)):
            on_node[node].append(life)
    for life in lives:
        told = [n.request for n in nominated_waiting(life, context)]
        if told and context.unit not in (None, _stands_nominated_to(life, context)):
            continue
        rounds = _rounds(life, on_node, context) if told else []
        pod = f"pod {life.namespace}/{life.name}"
        if len(told) > MOST_PREEMPTIONS:
            said = f"{pod} was nominated {len(told)} times while it waited"
            yield Violation(said, (*told[:2], *told[-3:]))
        elif len(rounds) > MOST_PREEMPTIONS:
            said = f"for {pod} victims were deleted again {len(rounds)} times, each made since the last"
            yield Violation(said, (rounds[-1], *rounds[:3], told[0]))


def _stands_nominated_to(life: PodLife, context: Context) -> str:
    if not life.versions:
        return ""
    return life.last.nominated_node_name or nominated_waiting(life, context)[-1].node


def _rounds(life: PodLife, victims: Mapping[str, Sequence[PodLife]], context: Context) -> list[Request]:
    """The first DELETE of each round of victims for a pod that stands nominated: in a later one a pod goes
    that was made after the DELETE that began the round before."""
    node = _stands_nominated_to(life, context)
    mine = []
    for victim in victims.get(node, ()):
        deletion = deletions_of(victim, context)[0]
        seen = last_seen(life, deletion.mono)
        if seen is not None and seen.nominated_node_name == node and not seen.node_name:
            mine.append((deletion, victim))
    mine.sort(key=lambda one: one[0].mono)
    rounds: list[Request] = []
    for deletion, victim in mine:
        born = victim.versions[0].mono if victim.versions else -math.inf
        if not rounds or born > rounds[-1].mono:
            rounds.append(deletion)
    return rounds


def _bound_after_nomination(life: PodLife, context: Context) -> bool:
    return life.bound is not None and _nominated(life, context)


@check(
    "preemptor-waits-for-victims",
    must="A preemptor is not bound to a node before the victims whose room it needs there are gone.",
    concerns=_bound_after_nomination,
    needs=Trait.STATUS_BY_SCHEDULER,
    about="pods that a scheduler nominated while they waited, and that were bound",
    without_setting=NO_NODES,
)
def preemptor_waits_for_victims(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Needed is what a pod asks for and the node had not beside those victims."""
    concerned = [life for life in lives if _bound_after_nomination(life, context)]
    known = context.setting
    if reason := NO_NODES if known is None else "" if known.whole else LOSSY:
        yield from [Unknown(reason)] * len(concerned)
    if known is None or not known.whole or not concerned:
        return
    stays = rooms(lives, context)
    for life in concerned:
        bound = life.bound
        assert bound is not None
        node = known.node_at(bound.node_name, bound.mono)
        there = [s for s in stays.get(bound.node_name, ()) if s.life is not life and s.lasts(bound)]
        victims = [s for s in there if is_victim(s.life, context)]
        if node is None or not victims or any(s.resized for s in there):
            continue
        wanted = demand(bound.object)
        others = [s.demand for s in there if s not in victims]
        short = lack(wanted, [*others, *(s.demand for s in victims)], node)
        if short and not lack(wanted, others, node):
            names = ", ".join(f"{s.life.namespace}/{s.life.name}" for s in victims[:3])
            said = f"{bound} was bound to {bound.node_name} while its victims were there ({names}): {short}"
            yield Violation(said, (bound, *(deletions_of(s.life, context)[0] for s in victims[:3])))


@check(
    "lower-nominations-cleared",
    must="A scheduler that preempts on a node clears the hints of lower priority there within "
    f"{CLEARED_WITHIN:.0f} s.",
    concerns=is_victim,
    needs=Trait.DELETED_BY_SCHEDULER,
    about="pods that a scheduler deleted",
    units=VICTIMS,
)
def lower_nominations_cleared(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Source: `getLowerPriorityNominatedPods`: else pods wait for room that is taken. Of pods that another
    scheduler serves it knows nothing, nor of hints from before it came back; one that it binds already, and
    whose volumes it awaits, it no longer counts as nominated (`Scheduler.assume`)."""
    gone = list(victims(lives, context))
    if reason := status_untold(lives, context) if gone else "":
        yield from [Unknown(reason)] * len(gone)
        return
    nominated = nominations(lives, context) if gone else {}
    hinted = [life for life in lives if any(v.nominated_node_name for v in life.versions)]
    ends = max([context.ends, *map(_ended, lives)])
    judged: set[tuple[int, str]] = set()
    for life, node, deletions in gone:
        at = deletions[0].mono
        asking = preemptors(nominated.get(node, ()), deletions)
        if not node or not asking:
            yield Unknown(WHOSE if node else NO_ANSWERS)
            continue
        least = min(priority(n.life) or 0 for n in asking)
        names = {_scheduler(n.life) for n in asking}
        for lower in hinted:
            own = priority(lower)
            if (id(lower), node) in judged or own is None or own >= least or {_scheduler(lower)} != names:
                continue
            stands = _stands(lower, node, at, context)
            if stands is None:
                continue
            judged.add((id(lower), node))
            if ends < at + CLEARED_WITHIN:
                yield Unknown("the record ends before hints had to be cleared")
                continue
            if node_of(lower) == node and _kept(lower, stands):
                yield Unknown(ON_ITS_WAY)
                continue
            said = f"{stands} kept its hint to {node} when {asking[0].life.name} preempted {life.name} there"
            yield Violation(said, (stands, deletions[0], asking[0].request))


def _ended(life: PodLife) -> Seconds:
    """The last that is known of a life."""
    return max([*(r.mono for r in life.requests[-1:]), *(v.mono for v in life.versions[-1:])], default=0.0)


def _stands(lower: PodLife, node: str, at: Seconds, context: Context) -> PodVersion | None:
    """The version in which a pod was hinted to a node well before a moment, if nobody even tried to clear
    that until it should have been; None otherwise."""
    seen = last_seen(lower, at - CLEARED_WITHIN) or last_seen(lower, at - 1.0)
    if seen is None or seen.nominated_node_name != node or seen.node_name or over(seen):
        return None
    known = context.setting
    made = [c for c in hint_changes(lower) if c.version.mono <= seen.mono and c.after == node]
    writer = made[-1].writer if made else None
    if writer and writer.user in context.schedulers and not Nomination(lower, writer, node).says_why:
        return None  # so it tells where it is about to bind a pod (NominatedNodeNameForExpectation)
    if known is None and seen.object.get("spec", {}).get("schedulingGates"):
        return (
            None  # before 1.37 a scheduler that was started anew knows nothing of it, and no log tells that
        )
    if known is not None and known.quiet_since > seen.mono:
        return None
    until = at + CLEARED_WITHIN
    for version in lower.versions:
        if seen.mono < version.mono <= until and (
            version.nominated_node_name != node or version.node_name or version.deletion_timestamp
        ):
            return None
    tried = (r for r in lower.requests if r.user in context.schedulers and hint_sent(r) is not None)
    return None if any(at - CLEARED_WITHIN <= r.mono <= until for r in tried) else seen


def _kept(life: PodLife, since: PodVersion) -> bool:
    """Whether its hint stayed until it was bound."""
    later = (v for v in life.versions if v.mono >= since.mono and not v.node_name)
    return all(v.nominated_node_name == since.nominated_node_name for v in later)


def _scheduler(life: PodLife) -> str:
    return str(life.versions[0].object.get("spec", {}).get("schedulerName") or "") if life.versions else ""


@check(
    "no-needless-victims",
    must="A node on which a scheduler deleted pods for a preemptor takes that preemptor, or another pod.",
    severity=Severity.HAZARD,
    concerns=is_victim,
    needs=Trait.DELETED_BY_SCHEDULER,
    about="pods that a scheduler deleted",
    units=replace(
        VICTIMS,
        tells=lambda life, context: [*nominating_untold(life, context), *_came_to(life)],
        needs=Trait.HINTED | Trait.HINT_SENT | Trait.STATUS_BY_SCHEDULER | Trait.ON_NODE | Trait.BINDING_SENT,
    ),
)
def no_needless_victims(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Pods died, and the one that they died for runs elsewhere: legal, for a hint binds nobody. Of a
    preemptor that still waits nothing is said."""
    gone = list(victims(lives, context))
    if not gone:
        return
    nominated, untold_whom = nominations(lives, context), status_untold(lives, context)
    came = dict(context.told)
    for life in lives:
        for name, at in _came_to(life):
            came[name] = max(at, came.get(name, at))
    for life, node, deletions in gone:
        at = deletions[0].mono
        if reason := untold_whom or ("" if node else NO_ANSWERS):
            yield Unknown(reason)
            continue
        asking = preemptors(nominated.get(node, ()), deletions)
        ended = [node_of(n.life) for n in asking]
        if asking and all(ended) and node not in ended and came.get(_CAME + node, at) <= at:
            there = asking[0].life
            victim = f"pod {life.namespace}/{life.name}"
            said = f"{victim} was deleted for {there.name}, which was bound to {ended[0]}"
            bound = [p for p in (there.bound, there.binding) if p is not None]
            yield Violation(said, (deletions[0], asking[0].request, *bound[:1]))


def _came_to(life: PodLife) -> list[tuple[str, Seconds]]:
    """The node that a pod came to, and when."""
    if life.bound is not None:
        return [(_CAME + life.bound.node_name, life.bound.mono)]
    node = node_of(life)
    return [(_CAME + node, life.binding.mono)] if life.binding is not None and node else []


CHECKS = (
    victim_deleted_once,
    victim_keeps_grace,
    preemption_told_whole,
    preemption_ends,
    preemptor_waits_for_victims,
    lower_nominations_cleared,
    no_needless_victims,
)
