"""Binding: once, by a scheduler, to one node, and what must be true of a pod from then on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hintbound.checks.hints import NO_ANSWERS, once, untold, watched
from hintbound.checks.model import Context, Unknown, Violation, check, check_life
from hintbound.checks.room import LAG, LOSSY, NO_NODES, Stay, lack, rooms
from hintbound.checks.traits import Trait
from hintbound.history.events import Kind
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.setting import NodeVersion
from hintbound.history.writers import Request
from hintbound.protocol import CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING as CLEARING
from hintbound.protocol import ComponentKind, Severity

UNSEEN = Unknown(NO_ANSWERS)
UNGATED = Unknown(f"nobody tells whether the gate {CLEARING} is on (say --gate {CLEARING}=true or =false)")
NO_NODE = "the node that a pod was bound to is not in the record"


@once
def bindings(life: PodLife) -> Sequence[Request]:
    """The requests that bound it, in the order of their answers."""
    return [r for r in life.requests if r.binds and r.succeeded and not r.dry_run]


def _bound_in_sight(life: PodLife) -> PodVersion | None:
    """The first version on a node, if it was seen without one, or being bound, before."""
    bound = life.bound
    if bound is not None and (bindings(life) or not life.versions[0].node_name):
        return bound
    return None


def _was_bound(life: PodLife, context: Context) -> bool:
    return bool(bindings(life)) or _bound_in_sight(life) is not None


def _on_a_node(life: PodLife, context: Context) -> bool:
    """Whether it was seen on a node, or would have been in a log that keeps answers: after some bindings
    nobody asks anything more of a pod."""
    return _may_be_on_a_node(life)


@once
def _may_be_on_a_node(life: PodLife) -> bool:
    return life.bound is not None or any(untold(r, answer=True) for r in bindings(life))


def _bound_and_clears(life: PodLife, context: Context) -> bool:
    on = context.gate(ComponentKind.APISERVER, CLEARING)
    return on is not False and _was_bound(life, context) and _on_a_node(life, context)


def _place_by_traits(traits: int, unless: Trait) -> bool | Unknown | None:
    """Of what concerns lives that were seen on a node, or would have been; `unless` asks for a look."""
    if not traits & (Trait.ON_NODE | Trait.BINDING_UNTOLD):
        return False
    return UNSEEN if not traits & Trait.ON_NODE else None if traits & unless else True


def _never_both_by_traits(traits: int, context: Context) -> bool | Unknown | None:
    if not traits & Trait.BINDING:
        return None
    on = context.gate(ComponentKind.APISERVER, CLEARING)
    told = _place_by_traits(traits, Trait.HINTED)
    return False if on is False or told is False else UNGATED if on is None else told


def _bindings_by_traits(traits: int, unless: Trait) -> bool | None:
    """Of what concerns bindings by schedulers."""
    if not traits & Trait.BINDING:
        return False
    return None if traits & (unless | Trait.BINDING_BY_OTHER) else True


@check_life(
    "never-both",
    must="No version of a pod that was bound carries both spec.nodeName and status.nominatedNodeName, where "
    "ClearingNominatedNodeNameAfterBinding is on.",
    concerns=_bound_and_clears,
    needs=Trait.BOUND,
    by_traits=_never_both_by_traits,
    about="pods that were bound where the gate is on",
)
def never_both(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: KEP-5278; measured C1 on 1.34 to 1.37. What was bound before the gate came keeps its hint."""
    if context.gate(ComponentKind.APISERVER, CLEARING) is None:
        yield UNGATED
    elif life.bound is None:
        yield UNSEEN
    else:
        both = next((v for v in life.versions if v.node_name and v.nominated_node_name), None)
        if both is not None:
            said = f"{both} is on node {both.node_name} and still hinted to {both.nominated_node_name}"
            yield Violation(said, (both, *bindings(life)[:1]))


@check_life(
    "node-name-stays",
    must="The spec.nodeName of a pod, once set, never changes.",
    concerns=_on_a_node,
    needs=Trait.BOUND,
    by_traits=lambda traits, context: _place_by_traits(traits, Trait.MOVED),
    about="pods on a node",
)
def node_name_stays(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: the API; a binding to another node is answered 409."""
    bound = life.bound
    if bound is None:
        yield UNSEEN
        return
    later = life.versions[life.versions.index(bound) :]
    moved = next((v for v in later if v.node_name != bound.node_name), None)
    if moved is not None:
        yield Violation(
            f"{moved} is on {moved.node_name or 'no node'}, after {bound.node_name}", (moved, bound)
        )


@check_life(
    "bound-by-scheduler",
    must="A pod that was not created on its node is bound by a scheduler, through pods/binding.",
    concerns=_was_bound,
    needs=Trait.BOUND,
    by_traits=lambda traits, context: _bindings_by_traits(traits, Trait(0)) or None,
    about="pods that were bound",
)
def bound_by_scheduler(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: the API. Audit alone tells it, at any level."""
    allowed = context.schedulers | context.instruments
    for binding in bindings(life):
        if binding.user not in allowed:
            yield Violation(f"{_pod(life)} was bound by {binding.user}, no scheduler", (binding,))
    bound = _bound_in_sight(life)
    if bindings(life) or bound is None:
        return
    if watched(life) and bound.writer is not None and bound.writer.succeeded:
        yield Violation(f"{bound} got its node from {bound.writer}, no binding", (bound, bound.writer))
    else:
        yield Unknown("the request that bound the pod is not in the record")


@check_life(
    "bound-once",
    must="A pod is bound at most once.",
    concerns=_was_bound,
    needs=Trait.BOUND,
    by_traits=lambda traits, context: _bindings_by_traits(traits, Trait.BINDINGS) or None,
    about="pods that were bound",
)
def bound_once(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: the API: what is bound already is answered 409. Audit alone tells it, at any level."""
    bound = bindings(life)
    if len(bound) > 1:
        yield Violation(f"{_pod(life)} was bound {len(bound)} times", tuple(bound[:5]))


@check_life(
    "binding-names-uid",
    must="A scheduler's binding names the uid of the pod that it means.",
    severity=Severity.HAZARD,
    concerns=lambda life, context: any(r.user in context.schedulers for r in bindings(life)),
    needs=Trait.BOUND,
    by_traits=lambda traits, context: _bindings_by_traits(traits, Trait.BINDING_WITHOUT_UID),
    about="pods that a scheduler bound",
)
def binding_names_uid(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Without it the binding of a pod that is gone binds the next one of its name. The log has the uid that
    was sent in `objectRef`, at any level."""
    for binding in bindings(life):
        if binding.user in context.schedulers and not (binding.named_uid or _uid_sent(binding)):
            yield Violation(f"{_pod(life)} was bound by {binding.user} without its uid", (binding,))


def _uid_sent(binding: Request) -> str:
    sent = binding.body if isinstance(binding.body, dict) else {}
    return str((sent.get("metadata") or {}).get("uid") or "")


@check_life(
    "scheduled-stays-true",
    must="PodScheduled=False is never written on a pod that has a node.",
    concerns=_on_a_node,
    needs=Trait.BOUND,
    by_traits=lambda traits, context: _place_by_traits(traits, Trait.UNSCHEDULED),
    about="pods on a node",
)
def scheduled_stays_true(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#139417: a late failure of an attempt overwrites what the binding said."""
    if life.bound is None:
        yield UNSEEN
        return
    before: PodVersion | None = None
    for version in life.versions:
        seen = before is not None or version.type == Kind.ADDED
        if seen and version.node_name and version.scheduled == "False":
            writer = version.writer
            if writer is None or writer.user not in context.instruments:
                words = f"{version} is on node {version.node_name} and PodScheduled=False"
                yield Violation(words, tuple(filter(None, (version, writer, before))))
            return
        before = version


def _bound_by_scheduler(life: PodLife, context: Context) -> bool:
    return any(r.user in context.schedulers for r in bindings(life))


@check(
    "node-not-overcommitted",
    must="A scheduler binds a pod only to a node that has room for it beside the pods that are there.",
    concerns=_bound_by_scheduler,
    needs=Trait.BOUND,
    by_traits=lambda traits, context: _bindings_by_traits(traits, Trait(0)),
    about="pods that a scheduler bound",
    without_setting=NO_NODES,
)
def node_not_overcommitted(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """Room: requests, places for pods, ports of the host. What others put on a node, or took from it, counts
    once a scheduler had time to see it; pods that have ended or are gone take none."""
    concerned = [life for life in lives if _bound_by_scheduler(life, context)]
    known = context.setting
    if reason := NO_NODES if known is None else "" if known.whole else LOSSY:
        yield from [Unknown(reason)] * len(concerned)
    if known is None or not known.whole:
        return
    for node, stays in rooms(lives, context).items():
        there: list[Stay] = []
        for stay in stays:
            there = [other for other in there if other.lasts(stay.came)]
            if stay.by_scheduler:
                yield from _short(
                    stay, there, known.nodes_between(node, stay.came.mono - LAG, stay.came.mono)
                )
            there.append(stay)


def _short(
    stay: Stay, there: Sequence[Stay], versions: Sequence[NodeVersion]
) -> Iterator[Violation | Unknown]:
    """What a pod lacked on its node, whichever of these versions of it the scheduler saw."""
    nodes = [version for version in versions if version.there]
    if not nodes:
        yield Unknown(NO_NODE)
        return
    seen = [other for other in there if other.by_scheduler or stay.came.mono - other.came.mono > LAG]
    if any(other.resized for other in seen):
        yield Unknown("a pod on the node was resized: what it takes is not counted")
        return
    lacks = [lack(stay.demand, [other.demand for other in seen], node) for node in nodes]
    if all(lacks):
        said = f"{stay.came} was bound to {stay.came.node_name}, which has no room for it: {lacks[-1]}"
        last = [other.came for other in seen[-2:]]
        yield Violation(said, (stay.came, nodes[-1], *bindings(stay.life)[:1], *last))


def _pod(life: PodLife) -> str:
    return f"pod {life.namespace}/{life.name}"


CHECKS = (
    never_both,
    node_name_stays,
    bound_by_scheduler,
    bound_once,
    binding_names_uid,
    scheduled_stays_true,
    node_not_overcommitted,
)
