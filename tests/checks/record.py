"""Records written by hand: what watch and audit log would show of acts that no real apiserver would allow,
too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hintbound.checks import Context
from hintbound.checks.judging import Tally, chosen, tally
from hintbound.history import Event, Kind, PodLife, Source, lives
from hintbound.history.audit_lines import event_fields
from hintbound.history.audit_lives import lives_of, partitioned
from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    SCHEDULER_USER,
    ComponentKind,
)
from tests.history.lines import audit, pod

NOMINATOR = "acme-nominator"
CONTEXT = Context(
    behaviour="",
    namespace="",
    cluster="",
    gates={ComponentKind.APISERVER: {CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING: True}},
    nominators=frozenset({NOMINATOR}),
)
WAITS = {"PodScheduled": "False"}


def owned(item: dict[str, Any], manager: str) -> dict[str, Any]:
    """The same pod, its hint owned by a manager."""
    fields: dict[str, Any] = {"f:status": {"f:nominatedNodeName": {}}}
    item["metadata"]["managedFields"] = [{"manager": manager, "operation": "Update", "fieldsV1": fields}]
    return item


class Record:
    """Takes down versions and requests in the order of the calls, a second apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._rv = 0

    def version(self, *, made: bool = True, **about: Any) -> dict[str, Any]:
        """The next version of a pod, which the watch shows at once if it was `made`."""
        self._rv += 1
        manager = about.pop("manager", "")
        kind = about.pop("kind", Kind.MODIFIED)
        grace = about.pop("grace", 30)
        item = pod(rv=str(self._rv), **about)
        item["spec"]["terminationGracePeriodSeconds"] = grace
        if manager:
            owned(item, manager)
        if made:
            metadata = item["metadata"]
            self._append(
                kind,
                Source.WATCH,
                resource="pods",
                namespace=metadata["namespace"],
                name=metadata["name"],
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
                data=item,
            )
        return item

    def asked(self, verb: str, **about: Any) -> None:
        """An answered request."""
        line = audit(verb, at=float(len(self.events)), **about)
        fields = event_fields(line)
        self._append(fields.pop("kind"), Source.AUDIT, **fields)

    def _append(self, kind: str, source: Source, **fields: Any) -> None:
        index = len(self.events)
        time = fields["data"].get("stageTimestamp") or f"2026-11-30T09:00:{index:02d}Z"
        self.events.append(Event(index, time, float(index), source, kind, **fields))

    def created(self, name: str = "p", uid: str = "u1", **about: Any) -> None:
        item = self.version(kind=Kind.ADDED, name=name, uid=uid, **about)
        self.asked("create", name=name, code=201, body=item, answer=item)

    def hinted(self, node: str, *, by: str = NOMINATOR, body: Any = None, **about: Any) -> None:
        """A hint, written as `by`, with preconditions unless another body is given."""
        name, uid = about.setdefault("name", "p"), about.setdefault("uid", "u1")
        item = self.version(hint=node, manager=about.pop("manager", by), **about)
        sent = body or {"metadata": {"uid": uid}, "status": {"nominatedNodeName": node or None}}
        self.asked("patch", subresource="status", name=name, user=by, body=sent, answer=item)

    def nominated(self, node: str, **about: Any) -> None:
        """As kube-scheduler does for a preemptor: hint and condition in one patch."""
        status = {"nominatedNodeName": node, "conditions": [{"type": "PodScheduled", "status": "False"}]}
        self.hinted(node, by=SCHEDULER_USER, body={"status": status}, conditions=WAITS, **about)

    def bound(
        self, node: str = "n1", *, by: str = SCHEDULER_USER, name: str = "p", uid: str = "u1", **about: Any
    ) -> None:
        sent_uid = about.pop("sent_uid", uid)
        sent = {"metadata": {"name": name, "uid": sent_uid}, "target": {"name": node}}
        about.setdefault("conditions", {"PodScheduled": "True"})
        self.version(name=name, uid=uid, node=node, **about)
        self.asked(
            "create",
            subresource="binding",
            name=name,
            user=by,
            code=201,
            body=sent,
            answer={"kind": "Status"},
            uid=sent_uid,  # the apiserver takes it from what was sent, at every audit level
        )

    def started(self, node: str = "n1", **about: Any) -> None:
        """Kubelet's first word."""
        about.setdefault("conditions", {"PodScheduled": "True", "Ready": "True"})
        item = self.version(node=node, **about)
        name = item["metadata"]["name"]
        self.asked("patch", subresource="status", name=name, user="system:node:n1", body={}, answer=item)

    def victimised(self, name: str, uid: str, *, node: str = "n1", body: Any = None) -> None:
        """A scheduler deletes it."""
        item = self.version(name=name, uid=uid, node=node, deleting=True)
        self.asked("delete", name=name, user=SCHEDULER_USER, body=body or {}, answer=item)

    def lives(self) -> list[PodLife]:
        """As the record of a run has them."""
        return lives(self.events)

    def lives_of_log(self, level: str = "RequestResponse") -> list[PodLife]:
        """As an audit log alone has them, written at a level."""
        keep = {"Metadata": (), "Request": ("requestObject",)}.get(level, ("requestObject", "responseObject"))
        logged = []
        for event in self.events:
            if event.source != Source.AUDIT:
                continue
            bodies = ("requestObject", "responseObject")
            data = {k: v for k, v in event.data.items() if k not in bodies or k in keep} | {"level": level}
            fields = event_fields(data)
            logged.append(replace(event, **fields))
        parts, _ = partitioned(logged)
        return [life for part in parts.values() for life in lives_of(part)]


def judged(name: str, found: list[PodLife], context: Context = CONTEXT) -> Tally:
    """What a check says of these lives."""
    (check,) = chosen([name])
    return tally(check, found, context)


def clean() -> Record:
    """A hint that is taken, an ordinary pod, and a preemption."""
    record = Record()
    record.created("hinted", "u1")
    record.hinted("n1", name="hinted", uid="u1")
    record.bound("n1", name="hinted", uid="u1")
    record.started("n1", name="hinted", uid="u1")
    record.created("victim", "u2")
    record.bound("n2", name="victim", uid="u2")
    record.started("n2", name="victim", uid="u2")
    record.created("preemptor", "u3")
    record.nominated("n2", name="preemptor", uid="u3")
    record.victimised("victim", "u2", node="n2")
    record.bound("n2", name="preemptor", uid="u3")
    record.started("n2", name="preemptor", uid="u3")
    return record
