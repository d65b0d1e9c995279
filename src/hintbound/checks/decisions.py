"""Decision hygiene: hints that say who decided them, on what, and for how long (protocol.Decision)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from hintbound.checks.hints import asked_at, hint_changes, hint_sent, untold
from hintbound.checks.model import ALONE, Context, Units, Unknown, Violation, check, check_life
from hintbound.checks.room import LAG, over
from hintbound.checks.traits import Trait
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.writers import Request
from hintbound.protocol import DECISION_ANNOTATION, Decision, Seconds, Severity, UnreadableDecision

SKEW: Final[Seconds] = 2.0
"""So far the clocks of a nominator and an apiserver may be apart."""

WITHDRAWN_WITHIN: Final[Seconds] = 60.0

_ANNOTATIONS: Final = "/metadata/annotations"
_PATH: Final = f"{_ANNOTATIONS}/{DECISION_ANNOTATION.replace('/', '~1')}"

NO_BASIS: Final = "the version of the pod that was decided on is not in the record"


@dataclass(frozen=True, slots=True)
class _Hint:
    """A hint that a nominator wrote, with the decision that it sent along."""

    request: Request
    node: str
    text: str
    """The annotation as it was sent; empty for none."""
    decision: Decision | None
    flaw: str = ""
    """Why the annotation cannot be read."""


def decision_sent(request: Request) -> str:
    """The annotation that a request sends; empty where it sends none, or the log does not keep it."""
    body = request.body
    if isinstance(body, list):
        for step in body:
            if isinstance(step, dict) and step.get("op") in ("add", "replace"):
                value = step.get("value")
                if step.get("path") == _PATH:
                    return str(value or "")
                if step.get("path") == _ANNOTATIONS and isinstance(value, dict):
                    return str(value.get(DECISION_ANNOTATION) or "")
        return ""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return str(annotations.get(DECISION_ANNOTATION) or "") if isinstance(annotations, dict) else ""


def _writes(life: PodLife, context: Context) -> list[Request]:
    """Answered writes to the status by nominators."""
    if not context.nominators:
        return []
    return [
        r
        for r in life.requests
        if r.user in context.nominators and r.subresource == "status" and r.succeeded and not r.dry_run
    ]


def _hints(life: PodLife, context: Context) -> list[_Hint]:
    found = []
    for request in _writes(life, context):
        if node := hint_sent(request):
            text, decision, flaw = decision_sent(request), None, ""
            try:
                decision = Decision.from_annotation(text) if text else None
            except UnreadableDecision as error:
                flaw = str(error)
            found.append(_Hint(request, node, text, decision, flaw))
    return found


def _decided(life: PodLife, context: Context) -> bool:
    """Whether a nominator hinted it with a decision, or may have: the log does not tell."""
    return any(untold(r) or (hint_sent(r) and decision_sent(r)) for r in _writes(life, context))


def _untold(life: PodLife, context: Context) -> Iterator[Unknown]:
    yield from (Unknown(reason) for r in _writes(life, context) if (reason := untold(r)))


ABOUT: Final = "pods that a nominator hinted with a decision"


@check_life(
    "decision-readable",
    must=f"The annotation {DECISION_ANNOTATION} that a nominator writes beside a hint can be read.",
    concerns=_decided,
    needs=Trait.BY_NOMINATOR,
    about=ABOUT,
)
def decision_readable(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: the protocol of seed 001, as protocol.Decision spells it."""
    yield from _untold(life, context)
    for hint in _hints(life, context):
        if hint.flaw:
            said = f"{hint.request.user} hinted {_pod(life)} with a decision that cannot be read: {hint.flaw}"
            yield Violation(said, (hint.request,))


@check_life(
    "decision-in-force",
    must="A hint is written only while its decision holds: not before its time, and not after its TTL.",
    concerns=_decided,
    needs=Trait.BY_NOMINATOR,
    about=ABOUT,
)
def decision_in_force(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """This is the deadline of a request, the one that a record tells."""
    yield from _untold(life, context)
    for hint in _hints(life, context):
        if hint.decision is None:
            continue
        asked = asked_at(hint.request)
        late = (asked - hint.decision.expires).total_seconds()
        early = (hint.decision.time - asked).total_seconds()
        if late > SKEW or early > SKEW:
            when = (
                f"{late:.0f} s after it had expired" if late > SKEW else f"{early:.0f} s before it was made"
            )
            said = f"{hint.request.user} wrote decision {hint.decision.id} on {_pod(life)} {when}"
            yield Violation(said, (hint.request,))


@check_life(
    "decision-idempotent",
    must="The id of a decision stands for one decision and one node, and to write it again changes nothing.",
    concerns=_decided,
    needs=Trait.BY_NOMINATOR,
    about=ABOUT,
)
def decision_idempotent(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """A decision whose hint was taken away is over: who still wants it decides anew."""
    yield from _untold(life, context)
    changed = {id(change.writer): change for change in hint_changes(life) if change.writer is not None}
    first: dict[str, _Hint] = {}
    for hint in _hints(life, context):
        if hint.decision is None:
            continue
        before = first.setdefault(hint.decision.id, hint)
        if before is hint:
            continue
        said = f"decision {hint.decision.id} on {_pod(life)}"
        change = changed.get(id(hint.request))
        if (before.node, before.decision) != (hint.node, hint.decision):
            another = (
                f"hinted {hint.node}, not {before.node}" if hint.node != before.node else "said otherwise"
            )
            yield Violation(f"{said} {another} when it was written again", (hint.request, before.request))
        elif change is not None:
            was = f"of {change.before}" if change.before else "that had been cleared"
            words = f"{said} was written again, in the place of the hint {was}"
            yield Violation(words, (hint.request, change.version, before.request))


@check_life(
    "decision-basis-holds",
    must="A hint is written on the pod that it was decided on: its spec, hint and deletion are as they were, "
    "and so is the node.",
    concerns=_decided,
    needs=Trait.BY_NOMINATOR,
    about=ABOUT,
)
def decision_basis_holds(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """What changes after the decision makes it stale. A precondition keeps a write from a pod that has
    changed; of a node a nominator hears a little later."""
    yield from _untold(life, context)
    for hint in _hints(life, context):
        if hint.decision is None:
            continue
        basis = next((v for v in life.versions if v.rv == hint.decision.resource_version), None)
        made = _made(life, hint.request)
        if basis is None or not made:
            yield Unknown(NO_BASIS)
            continue
        if life.versions[made].writer is not hint.request:
            continue  # what it sent was there already
        before = life.versions[made - 1]
        if what := _changed(basis, before) or _node_changed(hint, basis, context):
            said = f"decision {hint.decision.id} was written on {before}, though {what} since {basis.rv}"
            yield Violation(said, (hint.request, before, basis))


def _made(life: PodLife, request: Request) -> int | None:
    """The position of the version that a write made; None where it is not in the record."""
    return next((i for i, version in enumerate(life.versions) if version.rv == request.rv), None)


def _changed(basis: PodVersion, now: PodVersion) -> str:
    if _spec(basis) != _spec(now):
        return "its spec has changed"
    if basis.nominated_node_name != now.nominated_node_name:
        return f"its hint has changed from {basis.nominated_node_name or 'none'} to " + (
            now.nominated_node_name or "none"
        )
    return "it is being deleted" if now.deletion_timestamp and not basis.deletion_timestamp else ""


def _spec(version: PodVersion) -> Mapping[str, Any]:
    """What decides where a pod may go; a gate decides when."""
    spec = version.object.get("spec", {})
    return {key: value for key, value in spec.items() if key != "schedulingGates"}


def _node_changed(hint: _Hint, basis: PodVersion, context: Context) -> str:
    known = context.setting
    if known is None:
        return ""
    written = hint.request.event.mono
    then, now = known.node_at(hint.node, basis.mono), known.node_at(hint.node, written - LAG)
    if then is None or written - LAG <= basis.mono:
        return ""
    if now is None:
        return f"node {hint.node} has gone"
    if (then.allocatable, then.cordoned, then.taints) != (now.allocatable, now.cordoned, now.taints):
        return f"node {hint.node} has changed"
    return ""


def _hinted_by_nominator(life: PodLife, context: Context) -> bool:
    return any(untold(r) or hint_sent(r) for r in _writes(life, context))


@check(
    "hint-carries-decision",
    must="A nominator that writes decisions beside its hints writes no hint without one.",
    concerns=_hinted_by_nominator,
    needs=Trait.BY_NOMINATOR,
    about="pods that a nominator hinted",
    units=Units(
        home=ALONE,
        tells=lambda life, context: [(h.request.user, 0.0) for h in _hints(life, context) if h.text],
        needs=Trait.BY_NOMINATOR,
    ),
)
def hint_carries_decision(lives: Sequence[PodLife], context: Context) -> Iterator[Violation | Unknown]:
    """A hint that nobody can trace, among others that one can, is a second way to write them."""
    hints = [(life, hint) for life in lives for hint in _hints(life, context)]
    for life in lives:
        yield from _untold(life, context)
    users = {hint.request.user: hint for _, hint in hints if hint.text}
    for life, hint in hints:
        user = hint.request.user
        if not hint.text and (user in users or user in context.told):
            said = f"{user} hinted {_pod(life)} to {hint.node} without a decision"
            with_one = [users[user].request] if user in users else []
            yield Violation(said, (hint.request, *with_one))


@check_life(
    "expired-hint-withdrawn",
    must=f"A hint does not outlive its decision by more than {WITHDRAWN_WITHIN:.0f} s.",
    severity=Severity.HAZARD,
    concerns=_decided,
    needs=Trait.BY_NOMINATOR,
    about=ABOUT,
)
def expired_hint_withdrawn(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Nobody stands by it any more, and schedulers and autoscalers still heed it."""
    yield from _untold(life, context)
    decided = {id(hint.request): hint.decision for hint in _hints(life, context)}
    for change in hint_changes(life):
        decision = decided.get(id(change.writer))
        if decision is None:
            continue
        last, ended = _stood(life, change.version)
        until = datetime.fromisoformat(ended.event.time if ended else last.event.time)
        if ended is None and context.setting is not None:
            until += timedelta(seconds=context.setting.ends - last.mono)
        outlived = (until - decision.expires).total_seconds()
        if outlived > WITHDRAWN_WITHIN:
            said = f"{last} kept its hint to {change.after} for {outlived:.0f} s after decision {decision.id}"
            yield Violation(f"{said} had expired", (last, change.version))
            return


def _stood(life: PodLife, first: PodVersion) -> tuple[PodVersion, PodVersion | None]:
    """The last version with the hint of this one, and the one that ended it; None where it stands."""
    last = first
    for version in life.versions[life.versions.index(first) + 1 :]:
        if version.nominated_node_name != first.nominated_node_name or version.node_name or over(version):
            return last, version
        last = version
    return last, None


def _pod(life: PodLife) -> str:
    return f"pod {life.namespace}/{life.name}"


CHECKS = (
    decision_readable,
    decision_in_force,
    decision_idempotent,
    decision_basis_holds,
    hint_carries_decision,
    expired_hint_withdrawn,
)
