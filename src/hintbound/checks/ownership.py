"""Ownership: who may write hints, what else they may touch, and that they know what they overwrite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hintbound.checks.decisions import decision_sent
from hintbound.checks.hints import hint_changes, hint_owners, hint_sent, manager_of, untold, watched
from hintbound.checks.model import Context, Unknown, Violation, check_life
from hintbound.checks.traits import Trait
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.writers import Request
from hintbound.protocol import Severity

UNKNOWN_WRITER = "who wrote the hint is not in the record"

_BESIDE_THE_HINT = frozenset({"name", "namespace", "uid", "resourceVersion", "annotations"})
"""What a nominator may send in metadata: names, preconditions, annotations of its own."""
_KUBERNETES = ("kubernetes.io", "k8s.io")


def status_writes(life: PodLife, users: frozenset[str]) -> list[Request]:
    """Successful writes to `pods/status` by these users."""
    return [
        r
        for r in life.requests
        if r.subresource == "status" and r.user in users and r.succeeded and not r.dry_run
    ]


def _hinted(life: PodLife, context: Context) -> bool:
    return any(change.after for change in hint_changes(life)) or any(
        r.succeeded and not r.dry_run and hint_sent(r) for r in life.requests
    )


@check_life(
    "hint-by-known-writer",
    must="Only schedulers and nominators set status.nominatedNodeName.",
    concerns=_hinted,
    needs=Trait.HINTED | Trait.HINT_SENT,
    about="pods that were hinted",
)
def hint_by_known_writer(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: KEP-5278: two writers that do not know of each other undo each other's work."""
    allowed = context.schedulers | context.nominators | context.instruments
    for change in hint_changes(life):
        if change.after and change.writer is None:
            yield Unknown(UNKNOWN_WRITER)
        elif change.after and change.writer and change.writer.user not in allowed:
            said = f"{change.version} was hinted to {change.after} by {change.writer.user}"
            yield Violation(said, (change.version, change.writer))


@check_life(
    "hint-owner-agrees",
    must="The writer of a hint by the audit log is among its owners by the pod's managedFields.",
    concerns=lambda life, context: any(c.after and c.writer for c in hint_changes(life)),
    needs=Trait.HINTED,
    about="pods whose hints have a known writer",
)
def hint_owner_agrees(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Two witnesses of the same thing: where they disagree, one of the records is wrong."""
    for change in hint_changes(life):
        if not change.after or change.writer is None:
            continue
        owners, writer = hint_owners(change.version), manager_of(change.writer)
        if "managedFields" not in change.version.object.get("metadata", {}):
            yield Unknown("the log leaves managedFields out (omitManagedFields)")
        elif writer not in owners:
            owned = ", ".join(sorted(owners)) or "nobody"
            said = f"{change.version} was hinted by {change.writer.user} as {writer}, but is owned by {owned}"
            yield Violation(said, (change.version, change.writer))


def _by_nominator(life: PodLife, context: Context) -> bool:
    return bool(status_writes(life, context.nominators))


@check_life(
    "nominator-touches-only-hint",
    must="A nominator writes status.nominatedNodeName and annotations of its own, nothing else of a pod.",
    concerns=_by_nominator,
    needs=Trait.BY_NOMINATOR,
    about="pods whose status a nominator wrote",
)
def nominator_touches_only_hint(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Who may patch pods/status may also forge phase and conditions, labels and finalizers (measured)."""
    for request in status_writes(life, context.nominators):
        if reason := untold(request):
            yield Unknown(reason)
        elif request.verb == "update":
            yield Unknown("a PUT sends the whole pod: what it meant to change cannot be told")
        elif others := sorted(_beside_hint(request.body)):
            said = f"{request.user} also sent {', '.join(others[:5])} to pod {life.namespace}/{life.name}"
            yield Violation(said, (request,))


def _beside_hint(body: Any) -> Iterator[str]:
    """What a patch names beside the hint, as paths."""
    if isinstance(body, list):
        for step in body:
            path = str(step.get("path", "")) if isinstance(step, dict) else ""
            if isinstance(step, dict) and step.get("op") == "test":
                continue
            if path != "/status/nominatedNodeName" and not _own_annotation_path(path):
                yield path
        return
    if not isinstance(body, dict):
        return
    for key, value in body.items():
        if key in ("apiVersion", "kind"):
            continue
        if key not in ("metadata", "status") or not isinstance(value, dict):
            yield f"/{key}"
            continue
        allowed = _BESIDE_THE_HINT if key == "metadata" else {"nominatedNodeName"}
        yield from (f"/{key}/{name}" for name in value if name not in allowed)
        if key == "metadata":
            keys = value.get("annotations") or {}
            yield from (f"/metadata/annotations/{name}" for name in keys if _of_kubernetes(name))


def _own_annotation_path(path: str) -> bool:
    before, _, key = path.partition("/metadata/annotations/")
    return not before and bool(key) and not _of_kubernetes(key.replace("~1", "/"))


def _of_kubernetes(annotation: str) -> bool:
    domain = annotation.partition("/")[0] if "/" in annotation else ""
    return any(domain == own or domain.endswith(f".{own}") for own in _KUBERNETES)


@check_life(
    "nominator-sends-preconditions",
    must="A nominator's write names the pod that it was decided on, by uid or resourceVersion, or tests it.",
    severity=Severity.HAZARD,
    concerns=_by_nominator,
    needs=Trait.BY_NOMINATOR,
    about="pods whose status a nominator wrote",
)
def nominator_sends_preconditions(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Without one, a late write hints the next pod of that name, or undoes what a scheduler decided since."""
    for request in status_writes(life, context.nominators):
        if request.named_uid or request.named_rv:
            continue
        if reason := untold(request):
            yield Unknown(reason)
        elif not _preconditions(request.body):
            said = f"{request.user} wrote pod {life.namespace}/{life.name} whatever it had become since"
            yield Violation(said, (request,))


def _preconditions(body: Any) -> bool:
    if isinstance(body, list):
        return any(isinstance(step, dict) and step.get("op") == "test" for step in body)
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return isinstance(metadata, dict) and bool(metadata.get("uid") or metadata.get("resourceVersion"))


def _version_sent(request: Request) -> str:
    """The resourceVersion that a write to the pod itself or its status demands; empty for none."""
    if request.verb not in ("patch", "update") or request.subresource not in ("", "status"):
        return ""
    return request.sent_rv or (request.named_rv if request.verb == "update" else "")


@check_life(
    "stale-write-refused",
    must="A write that demands a resourceVersion succeeds only on that version of the pod.",
    concerns=lambda life, context: any(v.writer and _version_sent(v.writer) for v in life.versions),
    needs=Trait.DEMANDED,
    about="pods of which a version was made by a write that demanded one",
)
def stale_write_refused(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: API conventions, concurrency control; measured: 409. An audit log shows it where a version
    between the demanded one and the one that was made was answered to somebody."""
    for position, version in enumerate(life.versions):
        if version.writer is None or not (sent := _version_sent(version.writer)):
            continue
        before = life.versions[position - 1] if position else None
        if before is None or sent in (before.rv, version.rv):  # what demands its own answer changed nothing
            continue
        if watched(life) or _between(sent, before.rv, version.rv):
            said = f"{version} was made by a write that demands {sent}, over {before.rv}"
            yield Violation(said, (version, version.writer, before))


def _between(low: str, middle: str, high: str) -> bool:
    return low.isdigit() and middle.isdigit() and high.isdigit() and int(low) < int(middle) < int(high)


def _refused(life: PodLife, context: Context) -> bool:
    users = context.schedulers | context.nominators
    return any(r.code == 409 and r.user in users and _version_sent(r) for r in life.requests)


@check_life(
    "conflict-rebuilds",
    must="After a conflict (409) a writer demands a newer resourceVersion, not the one that was refused, nor "
    "none.",
    concerns=_refused,
    needs=Trait.REFUSED,
    about="pods on which a demanded resourceVersion was refused",
)
def conflict_rebuilds(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """A resourceVersion that was refused once is stale for ever: who sends it again has read nothing, and who
    sends the same without it overwrites what it was refused for. A newer one can only have been read."""
    refused: dict[tuple[str, str], Request] = {}
    unread: dict[str, Request] = {}
    for request in _in_turn(life, context):
        sent, pod = _version_sent(request), f"pod {life.namespace}/{life.name}"
        first = refused.get((request.user, sent))
        last = unread.get(request.user)
        if first is not None and first.completed < request.received:
            yield Violation(
                f"{request.user} sent {sent} to {pod} again after it was refused", (request, first)
            )
        elif not sent and last is not None and last.completed < request.received and _same(last, request):
            said = f"{request.user} sent to {pod} what was refused, without a resourceVersion"
            yield Violation(said, (request, last))
        elif request.code == 409 and sent:
            refused.setdefault((request.user, sent), request)
        if request.code == 409 and sent:
            unread[request.user] = request
        elif sent:
            unread.pop(request.user, None)


def _in_turn(life: PodLife, context: Context) -> list[Request]:
    """Writes to the pod or its status by schedulers and nominators, as they came."""
    users = context.schedulers | context.nominators
    written = (
        r
        for r in life.requests
        if r.user in users and r.verb in ("patch", "update") and r.subresource in ("", "status")
    )
    return sorted(written, key=lambda request: request.received)


def _same(first: Request, again: Request) -> bool:
    """Whether two writes send the same beside the resourceVersion that they demand."""
    if not isinstance(first.body, dict) or not isinstance(again.body, dict):
        return False
    payloads = []
    for request in (first, again):
        metadata = {k: v for k, v in (request.body.get("metadata") or {}).items() if k != "resourceVersion"}
        payloads.append((request.verb, request.subresource, {**request.body, "metadata": metadata}))
    return bool(payloads[0] == payloads[1])


@check_life(
    "conflict-payload-rebuilt",
    must="After a conflict (409) a writer never sends what it had built before over what has changed since.",
    concerns=_refused,
    needs=Trait.REFUSED,
    about="pods on which a demanded resourceVersion was refused",
)
def conflict_payload_rebuilt(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Reading a newer resourceVersion is not enough: what is sent must be decided on what it shows. That the
    same comes out again proves nothing; a decision of before does, and what a PUT puts back as it was."""
    versions = {version.rv: version for version in life.versions}
    refused: dict[tuple[str, str], Request] = {}
    for request in _in_turn(life, context):
        sent, key = _version_sent(request), (request.user, request.subresource)
        first = refused.pop(key, None) if sent else None
        if first is not None and sent != _version_sent(first):
            old, new = versions.get(_version_sent(first)), versions.get(sent)
            if old is None or new is None:
                yield Unknown("what was refused, or what was read since, is not in the record")
            elif what := _put_back(life, (first, request), old, new):
                said = f"{request.user} sent {what} to {new} again, as before the conflict over {old.rv}"
                yield Violation(said, (request, first, new, old))
        if request.code == 409 and sent:
            refused[key] = request


def _put_back(life: PodLife, sent: tuple[Request, Request], old: PodVersion, new: PodVersion) -> str:
    """What the second of two writes undoes that somebody else changed between two versions, because it was
    not decided anew; empty for nothing."""
    first, again = sent
    if again.verb == "update" and isinstance(again.body, dict):
        was, now = old.object.get("status", {}), new.object.get("status", {})
        status = again.body.get("status")
        status = status if isinstance(status, dict) else {}
        keys = (k for k in status if k in now and status[k] == was.get(k) and status[k] != now[k])
        return ", ".join(sorted(keys))
    if not decision_sent(again) or decision_sent(again) != decision_sent(first):
        return ""
    others = (
        change.writer is None or change.writer.user != again.user
        for change in hint_changes(life)
        if old.index < change.version.index <= new.index
    )
    return f"its decision for {hint_sent(again) or 'no node'}" if any(others) else ""


CHECKS = (
    hint_by_known_writer,
    hint_owner_agrees,
    nominator_touches_only_hint,
    nominator_sends_preconditions,
    stale_write_refused,
    conflict_rebuilds,
    conflict_payload_rebuilt,
)
