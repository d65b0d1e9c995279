"""Liveness: what could go on does, and no hint stands for a node that is not there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from hintbound.checks.fit import OTHERS_WAIT, Waiting, unfathomable, wait
from hintbound.checks.model import Context, Unknown, Violation, check, check_life
from hintbound.checks.preempting import deletions_of, nominated_waiting
from hintbound.checks.room import LAG, LOSSY, NO_NODES, over, rooms
from hintbound.checks.traits import Trait
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.setting import Setting
from hintbound.protocol import (
    NOMINATED_NODE_NAME_FOR_EXPECTATION,
    ComponentKind,
    Seconds,
    Severity,
)

WAITS_AT_MOST: Final[Seconds] = 30.0
"""kube-scheduler tries a pod again within 10 s (podMaxBackoffSeconds) of what lets it fit. What it misses it
finds in five minutes, when it looks through all that wait."""

RESTLESS: Final = "something was broken when the record ended: what waits may wait for that"
UNSERVED: Final = "no scheduler was seen at work for its spec.schedulerName"
ELSEWHERE: Final = "whether the node of its hint exists is not in the record"


def _scheduler_name(life: PodLife) -> str:
    return str(life.last.object.get("spec", {}).get("schedulerName") or "") if life.versions else ""


def _waited_long(life: PodLife, context: Context) -> bool:
    """Whether it waited too long; where nodes are not in the record, whether it was never bound."""
    known = context.setting
    if not life.versions:
        return False
    if known is None:
        return life.bound is None and life.binding is None
    waited = wait(life, known)
    return waited is not None and waited.lasts > WAITS_AT_MOST


@check(
    "fitting-pod-is-bound",
    must=f"No pod waits longer than {WAITS_AT_MOST:.0f} s while it fits on a node and nothing is broken.",
    concerns=_waited_long,
    needs=Trait.UNBOUND,
    by_traits=lambda traits, context: None if context.setting else bool(traits & Trait.SEEN),
    about="pods that waited long",
    without_setting=NO_NODES,
)
def fitting_pod_is_bound(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Only where a fit is certain: requests, ports, taints, cordons and node selectors are counted, room that
    other waiting pods may be meant for is not."""
    concerned = [life for life in lives if _waited_long(life, context)]
    known, untold = _fathomed(concerned, context)
    yield from untold
    if known is None:
        return
    served = {_scheduler_name(v) for v in lives if any(r.user in context.schedulers for r in v.requests)}
    waiting = Waiting(lives, rooms(lives, context), context, known)
    for life in concerned:
        waited = wait(life, known)
        assert waited is not None
        if reason := unfathomable(life.last.object) or ("" if _scheduler_name(life) in served else UNSERVED):
            yield Unknown(reason)
            continue
        since = max(waited.since, known.quiet_since)
        fits = {node: waiting.longest_fit(life, node, since, waited.until) for node in waiting.nodes}
        best = max(fits, key=lambda node: fits[node], default="")
        if best and fits[best][0] > WAITS_AT_MOST:
            said = f"{life.last} waited while it fitted on {best} for {fits[best][0]:.0f} s"
            yield Violation(said, (life.last, life.versions[0], known.nodes[best][-1]))
        elif any(maybe > WAITS_AT_MOST for _, maybe in fits.values()):
            yield Unknown(OTHERS_WAIT)


def _fathomed(concerned: Sequence[PodLife], context: Context) -> tuple[Setting | None, list[Unknown]]:
    """The setting in which these pods may be judged; else why they may not, once for each."""
    known = context.setting
    reason = (
        NO_NODES
        if known is None
        else LOSSY
        if not known.whole
        else RESTLESS
        if math.isinf(known.quiet_since)
        else ""
    )
    return (None, [Unknown(reason)] * len(concerned)) if reason else (known, [])


@check(
    "preemptor-goes-on",
    must="A nominated preemptor whose victims are gone, and which fits, is bound within "
    f"{WAITS_AT_MOST:.0f} s.",
    concerns=lambda life, context: bool(nominated_waiting(life, context)),
    needs=Trait.STATUS_BY_SCHEDULER,
    about="pods that a scheduler nominated while they waited",
    without_setting=NO_NODES,
)
def preemptor_goes_on(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#141694: a preemptor that misses the end of its victims waits for the next look
    through all that wait, five minutes later."""
    nominated = [life for life in lives if nominated_waiting(life, context)]
    if context.setting is None:
        yield from [Unknown(NO_NODES)] * len(nominated)
        return
    concerned = [life for life in nominated if _waited_long(life, context)]
    known, untold = _fathomed(concerned, context)
    yield from untold
    if known is None or not concerned:
        return
    stays = rooms(lives, context)
    waiting = Waiting(lives, stays, context, known)
    for life in concerned:
        waited, nomination = wait(life, known), nominated_waiting(life, context)[-1]
        node = nomination.node
        if waited is None or node not in waiting.nodes:
            continue
        if reason := unfathomable(life.last.object):
            yield Unknown(reason)
            continue
        victims = [s for s in stays.get(node, ()) if deletions_of(s.life, context)]
        gone = [s.left.mono if s.left else math.inf for s in victims]
        since = max([nomination.request.mono, known.quiet_since, *gone])
        if since < waited.until:
            certain, _ = waiting.longest_fit(life, node, since, waited.until)
            if certain > WAITS_AT_MOST:
                said = f"{life.last} was nominated to {node} and fitted there for {certain:.0f} s"
                left = [s.left for s in victims if s.left is not None]
                yield Violation(said, (life.last, nomination.request, *left[-1:]))


def _hinted_waiting(life: PodLife, context: Context) -> bool:
    return any(v.nominated_node_name and not v.node_name for v in life.versions)


def _missing(known: Setting, node: str, since: Seconds, until: Seconds) -> bool | None:
    """Whether a node did not exist in all of that time; None when that is not in the record."""
    versions = known.nodes_between(node, since, until)
    if not versions:
        return True if known.all_nodes or node in known.nodes else None
    return not any(version.there for version in versions)


@check_life(
    "hint-names-a-node",
    must=f"No pod waits longer than {WAITS_AT_MOST:.0f} s with a hint to a node that does not exist.",
    severity=Severity.HAZARD,
    concerns=_hinted_waiting,
    needs=Trait.HINTED,
    about="pods that waited with a hint",
)
def hint_names_a_node(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: autoscaler#9607, karpenter#1050: neither adds a node for a pod that has a hint. Legal where a
    scheduler keeps it: preemptionPolicy Never, a pod that PreFilter rejects (measured)."""
    known = context.setting
    if known is None:
        yield Unknown(NO_NODES)
        return
    for first, last, until in _hints(life, known):
        missing = _missing(known, first.nominated_node_name, first.mono, until)
        if missing is None:
            yield Unknown(ELSEWHERE)
            return
        versions = known.nodes_between(first.nominated_node_name, first.mono, until)
        since = max([first.mono, *(v.mono for v in versions if not v.there)])
        gone = missing or bool(versions and not versions[-1].there)
        if gone and until - since > WAITS_AT_MOST:
            node = first.nominated_node_name
            said = f"{last} was hinted to {node}, which did not exist, for {until - since:.0f} s"
            yield Violation(said, (last, first, *versions[-1:]))
            return


def _hints(life: PodLife, known: Setting) -> Iterator[tuple[PodVersion, PodVersion, Seconds]]:
    """Its hints while it waited: the first and last version of each, and until when it stood."""
    first = last = None
    for version in life.versions:
        hint = "" if version.node_name or over(version) else version.nominated_node_name
        if first is not None and last is not None and hint != first.nominated_node_name:
            yield first, last, version.mono
            first = None
        if hint:
            first, last = first or version, version
    if first is not None and last is not None:
        yield first, last, known.ends


def _told_unschedulable(version: PodVersion, context: Context) -> bool:
    writer = version.writer
    if writer is None or writer.user not in context.schedulers or version.node_name:
        return False
    sent = writer.body if isinstance(writer.body, dict) else {}
    conditions = (sent.get("status") or {}).get("conditions") or ()
    return any(
        c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable"
        for c in conditions
        if isinstance(c, dict)
    )


@check_life(
    "dead-hint-cleared",
    must="A scheduler that cannot place a pod whose hint names a node that does not exist clears the hint.",
    concerns=lambda life, context: any(
        v.nominated_node_name and _told_unschedulable(v, context) for v in life.versions
    ),
    needs=Trait.HINTED,
    about="pods with a hint that a scheduler called unschedulable",
)
def dead_hint_cleared(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#85677, #106816. Kept on purpose, and legal: preemptionPolicy Never; a pod that
    PreFilter rejects; what 1.34 keeps with NominatedNodeNameForExpectation or without a PostFilter plugin
    (measured)."""
    known = context.setting
    if known is None:
        yield Unknown(NO_NODES)
        return
    for version in life.versions:
        node = version.nominated_node_name
        if not node or not _told_unschedulable(version, context) or _may_keep(version, context):
            continue
        missing = _missing(known, node, version.mono - LAG, version.mono)
        if missing is None:
            yield Unknown(ELSEWHERE)
            return
        if missing:
            said = f"{version} was called unschedulable and keeps its hint to {node}, which does not exist"
            gone = known.nodes_between(node, 0.0, version.mono)[-1:]
            yield Violation(said, tuple(filter(None, (version, version.writer, *gone))))
            return


def _may_keep(version: PodVersion, context: Context) -> bool:
    """Whether a scheduler keeps the hint of a pod that it rejected, by design or as every release does."""
    said = str((version.condition("PodScheduled") or {}).get("message") or "")
    if version.object.get("spec", {}).get("preemptionPolicy") == "Never" or said.endswith("not found"):
        return True
    release = context.versions.get(ComponentKind.SCHEDULER, "").lstrip("v")
    expects = context.gate(ComponentKind.SCHEDULER, NOMINATED_NODE_NAME_FOR_EXPECTATION)
    old = not release or release.startswith(("1.33.", "1.34."))
    return old and (expects is not False or "preemption:" not in said)


CHECKS = (fitting_pod_is_bound, preemptor_goes_on, hint_names_a_node, dead_hint_cleared)
