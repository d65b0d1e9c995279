"""The map step of `hintbound check`: lines of a log become rows, one per write to a pod.

Pure: it remembers nothing of the lines before. What it cannot decode at once (a batch, a record that wraps
an event, a flaw) `audit_lines` looks at slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import orjson

from hintbound.history import audit_lines
from hintbound.history.audit_clouds import AUDIT_API
from hintbound.history.audit_found import Found, Wanted
from hintbound.history.audit_requests import BODY_IS_JUNK, DRY_RUN, TRUNCATED, Row, stamped
from hintbound.history.audit_shape import Answer, Audit, Sent, decoded, enveloped, is_pod, refused, shaped
from hintbound.history.events import Kind
from hintbound.history.writers import WRITES, hint_in, tried_only

Alike = tuple[Any, ...]
"""Verb, subresource, resource, user, user agent, level and code: many requests have them all alike."""

_MOST_KINDS: Final = 50_000
_COMPLETE: Final = str(Kind.RESPONSE_COMPLETE)
_API: Final = ("", AUDIT_API)
_NO_BODY: Final = Sent()
_NO_ANSWER: Final = Answer()


class Keep:
    """Puts aside the text of an event that stands in no file by itself."""

    def __call__(self, text: bytes) -> tuple[int, int, int]:
        """The store, the offset and the length by which it is found again."""
        raise NotImplementedError


@dataclass(slots=True)
class Mapper:
    """Decodes the lines of one range."""

    wanted: Wanted
    within: int
    """The number of the range."""
    store: int | None
    """The file whose bytes the lines are; None: each event that matters is kept."""
    keep: Keep
    found: Found = field(default_factory=Found)
    kinds: dict[Alike, Alike] = field(default_factory=dict)
    """What rows share, each once."""
    chooses: bool = field(init=False)

    def __post_init__(self) -> None:
        self.chooses = not self.wanted.everything

    def rows(self, lines: Sequence[bytes], number: int, offset: int) -> list[Row]:
        """The writes to pods in lines, of which the first is the `number`th of its range and begins at
        `offset`."""
        rows: list[Row] = []
        found, store = self.found, self.store
        count = events = 0
        for number, text in enumerate(lines, number):  # noqa: B020
            try:
                if not text.isascii():
                    text.decode()  # what is skipped unread is not checked for it
                if b'"pods' in text or b'"bindings' in text or b"\\u" in text:
                    audit = decoded(text)
                    if not audit.auditID or audit.apiVersion not in _API:
                        raise ValueError
                    target, stamp = audit.objectRef, audit.stageTimestamp
                    about_pods = target.resource in ("pods", "bindings") and not target.apiGroup
                else:
                    envelope, about_pods = enveloped(text), False
                    stamp = envelope.stageTimestamp
                    if not envelope.auditID or envelope.apiVersion not in _API:
                        raise ValueError
            except (msgspec.MsgspecError, ValueError, RecursionError):
                if text.strip():
                    count += 1
                    rows += self._slowly(text, number)
            else:
                count += 1
                events += 1
                if not found.first:
                    found.first = stamp
                if about_pods and audit.stage == _COMPLETE and audit.verb in WRITES:
                    try:
                        row = self._row(audit, 0, number)
                    except ValueError as error:
                        found.flaw(str(error), number)
                    else:
                        if row is not None:
                            kept = self.keep(text) if store is None else (store, offset, len(text))
                            rows.append(row + kept)
            offset += len(text) + 1
        found.lines += count
        found.events += events
        return rows

    def _slowly(self, text: bytes, number: int) -> list[Row]:
        """The same for a line of any form."""
        rows: list[Row] = []
        try:
            for audit in audit_lines.audit_events(text):
                self.found.events += 1
                self.found.first = self.found.first or str(audit.get("stageTimestamp") or "")
                verb = audit.get("verb")
                asked = not isinstance(verb, str) or verb in WRITES
                if not asked or audit.get("stage") != _COMPLETE or not audit_lines.about_pods(audit):
                    continue
                flags, one = 0, shaped(audit)
                if one is None and refused(audit):
                    flags, one = BODY_IS_JUNK, shaped({**audit, "requestObject": None})
                if one is None:
                    raise audit_lines.Unreadable(audit_lines.STRANGE)
                row = self._row(one, flags, number)
                if row is not None:
                    rows.append(row + self.keep(orjson.dumps(audit)))
        except ValueError as error:
            self.found.flaw(str(error), number)
        return rows

    def _row(self, audit: Audit, flags: int, number: int) -> Row | None:
        """The row of a write to a pod, all but where its text lies; None when it is not wanted, or names no
        pod. Raises Unreadable."""
        target, answer, body = audit.objectRef, audit.responseObject, audit.requestObject
        sent = body if type(body) is Sent else _NO_BODY
        name, uid, rv, pod, sent_rv, hint = target.name, target.uid, "", None, "", None
        demanded = ""
        if answer is not None and answer.kind == "Pod":
            if not is_pod(answer):
                raise audit_lines.Unreadable(audit_lines.STRANGE)
            metadata, status = answer.metadata, answer.status
            name = name or metadata.name or ""
            uid = metadata.uid or uid  # type: ignore[union-attr]
            rv = metadata.resourceVersion or ""  # type: ignore[union-attr]
            if rv:
                hinted, scheduled = "", ""
                if type(status) is not str:
                    hinted = status.nominatedNodeName  # type: ignore[union-attr]
                    for condition in status.conditions:  # type: ignore[union-attr]
                        if condition.type == "PodScheduled":
                            scheduled = condition.status
                            break
                node = answer.spec.nodeName
                pod = (
                    node,
                    hinted,
                    metadata.deletionTimestamp or "",  # type: ignore[union-attr]
                    scheduled,
                )
        if body is not None:
            if sent.metadata is not None:
                name = name or sent.metadata.name or ""
                sent_rv = sent.metadata.resourceVersion or ""
            if not uid:
                demanded = _demanded(sent, answer or _NO_ANSWER)
            if target.subresource == "status" and audit.verb in ("patch", "update"):
                hint = _hint(body)
        elif not uid and answer is not None:
            demanded = answer.details.uid
        try:
            completed = stamped(audit.stageTimestamp)
        except ValueError:
            raise audit_lines.Unreadable(audit_lines.STRANGE) from None
        if self.chooses and not self.wanted.has(target.namespace, completed):
            return None
        if completed > self.found.last:
            self.found.last = completed
        if not name:
            self.found.nameless += 1
            return None
        if audit.annotations is not None and audit.annotations.truncated == "true":
            flags |= TRUNCATED
        if sent.dryRun or ("dryRun" in audit.requestURI and tried_only(audit.requestURI)):
            flags |= DRY_RUN
        kinds = self.kinds
        kind = (
            audit.verb,
            target.subresource,
            target.resource,
            audit.user.username,
            audit.userAgent,
            audit.level,
            audit.responseStatus.code,
        )
        shared = kinds.get(kind)
        if shared is None:
            if len(kinds) > _MOST_KINDS:
                kinds.clear()
            shared = kinds[kind] = _told(kind)
        return (
            target.namespace,
            name,
            shared,
            uid or demanded,
            audit.requestReceivedTimestamp,
            completed,
            audit.requestURI,
            audit.auditID,
            flags,
            target.uid,
            target.resourceVersion,
            sent_rv,
            hint,
            rv,
            pod,
            self.within,
            number,
        )


def _told(kind: Alike) -> Alike:
    """The same with the resource as a person reads it, and a binding by its name."""
    verb, subresource, resource, *others = kind
    full = f"{resource}/{subresource}" if subresource else resource
    return (verb, "binding" if resource == "bindings" else subresource, full, *others)


def _hint(body: Any) -> str | None:
    if type(body) is Sent:
        status = body.status
        return (
            None
            if status is None or status.nominatedNodeName is msgspec.UNSET
            else status.nominatedNodeName or ""
        )
    return hint_in([msgspec.to_builtins(step) for step in body])


def _demanded(sent: Sent, answer: Answer) -> str:
    """As `writers.demanded_uid`."""
    options = sent.deleteOptions.preconditions if sent.deleteOptions else None
    return (
        (sent.metadata.uid if sent.metadata and sent.kind != "DeleteOptions" else "")
        or (sent.preconditions.uid if sent.preconditions else "")
        or (options.uid if options else "")
        or answer.details.uid
    )
