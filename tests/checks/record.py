"""Records written by hand: what watch and audit log would show of acts that no real apiserver would allow,
too."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hintbound.checks import Context
from hintbound.checks.judging import Tally, chosen, tally
from hintbound.history import Event, Kind, PodLife, Request, Source, lives
from hintbound.history.audit_lines import event_fields
from hintbound.history.audit_lives import lives_of
from hintbound.history.setting import setting
from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    DECISION_ANNOTATION,
    SCHEDULER_USER,
    ComponentKind,
    Decision,
)
from tests.history.lines import audit, pod, stamp

NOMINATOR = "acme-nominator"
CONTEXT = Context(
    behaviour="",
    namespace="",
    cluster="",
    gates={ComponentKind.APISERVER: {CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING: True}},
    versions={ComponentKind.SCHEDULER: "v1.35.4"},
    nominators=frozenset({NOMINATOR}),
)
WAITS = {"PodScheduled": "False"}
CLEARS = {"status": {"nominatedNodeName": None}}


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
        self._late = 0.0

    def version(self, *, made: bool = True, **about: Any) -> dict[str, Any]:
        """The next version of a pod, which the watch shows at once if it was `made`."""
        self._rv += 1
        manager = about.pop("manager", "")
        kind = about.pop("kind", Kind.MODIFIED)
        grace = about.pop("grace", 30)
        cpu, spec, phase = about.pop("cpu", ""), about.pop("spec", {}), about.pop("phase", "")
        message = about.pop("message", "")
        item = pod(rv=str(self._rv), **about)
        item["spec"] |= {"schedulerName": "default-scheduler", **spec}
        item["spec"]["terminationGracePeriodSeconds"] = grace
        if cpu:
            item["spec"]["containers"] = [{"resources": {"requests": {"cpu": cpu}}}]
        if phase:
            item["status"]["phase"] = phase
        if message:
            item["status"]["conditions"][0] |= {"reason": "Unschedulable", "message": message}
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

    def gone(self, name: str = "p", uid: str = "u1", **about: Any) -> None:
        """The watch shows that a pod is no more."""
        self.version(kind=Kind.DELETED, name=name, uid=uid, **about)

    def node(self, name: str, *, cpu: str = "4", kind: str = Kind.ADDED, **about: Any) -> None:
        """The next version of a node; `about` is put into its spec."""
        self._rv += 1
        metadata = {"name": name, "resourceVersion": str(self._rv), "labels": {"name": name}}
        status = {"allocatable": {"cpu": cpu, "pods": "3"}}
        data = {"kind": "Node", "metadata": metadata, "spec": about, "status": status}
        self._append(
            kind, Source.WATCH, resource="nodes", name=name, resource_version=str(self._rv), data=data
        )

    def engine(self, kind: str, name: str, **data: Any) -> None:
        """What the engine does to the cluster."""
        self._append(kind, Source.ENGINE, name=name, data=data)

    def answered(self, status: int, *, retry_after: str = "", by: str = NOMINATOR) -> None:
        """What a client of ours was answered for a hint of ns/p, within a tenth of a second."""
        path = "/api/v1/namespaces/ns/pods/p/status"
        data = {"actor": by, "method": "PATCH", "path": path, "status": status, "seconds": 0.1}
        data |= {"retryAfter": retry_after} if retry_after else {}
        about = {"resource": "pods/status", "namespace": "ns", "name": "p"}
        self._append(Kind.RESPONSE, Source.CLIENT, data=data, **about)

    def passes(self, seconds: float) -> None:
        """Nothing happens for so long."""
        self._late += seconds

    def asked(self, verb: str, **about: Any) -> None:
        """An answered request."""
        line = audit(verb, at=len(self.events) + self._late, **about)
        fields = event_fields(line)
        self._append(fields.pop("kind"), Source.AUDIT, **fields)

    def _append(self, kind: str, source: Source, **fields: Any) -> None:
        index, mono = len(self.events), len(self.events) + self._late
        time = fields["data"].get("stageTimestamp") or stamp(mono)
        self.events.append(Event(index, time, mono, source, kind, **fields))

    def created(self, name: str = "p", uid: str = "u1", **about: Any) -> None:
        item = self.version(kind=Kind.ADDED, name=name, uid=uid, **about)
        self.asked("create", name=name, code=201, body=item, answer=item)

    def hinted(self, node: str, *, by: str = NOMINATOR, body: Any = None, **about: Any) -> None:
        """A hint, written as `by`, with preconditions unless another body is given."""
        name, uid = about.setdefault("name", "p"), about.setdefault("uid", "u1")
        item = self.version(hint=node, manager=about.pop("manager", by), **about)
        sent = body or {"metadata": {"uid": uid}, "status": {"nominatedNodeName": node or None}}
        self.asked("patch", subresource="status", name=name, user=by, body=sent, answer=item)

    @property
    def now(self) -> datetime:
        """When the next event is."""
        return datetime.fromisoformat(stamp(len(self.events) + self._late))

    def decided(self, node: str, decision: str = "d1", *, text: str | None = None, **about: Any) -> None:
        """A hint and the decision behind it, made a second ago on the pod as it is; `about` it: `made` so
        many seconds ago, `ttl`, `why`, `basis`."""
        name, uid = about.setdefault("name", "p"), about.setdefault("uid", "u1")
        made = self.now - timedelta(seconds=about.pop("made", 1))
        seen = [e.resource_version for e in self.events if e.source == Source.WATCH and e.uid == uid]
        why, ttl, basis = about.pop("why", "room"), about.pop("ttl", 60), about.pop("basis", seen[-1])
        if text is None:
            text = Decision(decision, why, "v1", made, ttl, basis).to_annotation()
        metadata = {"uid": uid, "annotations": {DECISION_ANNOTATION: text}}
        body = {"metadata": metadata, "status": {"nominatedNodeName": node}}
        self.hinted(node, body=body, **about | {"name": name, "uid": uid})

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

    def victimised(self, name: str, uid: str, *, node: str = "n1", body: Any = None, **about: Any) -> None:
        """A scheduler deletes it."""
        item = self.version(name=name, uid=uid, node=node, deleting=True, **about)
        self.asked("delete", name=name, user=SCHEDULER_USER, body=body or {}, answer=item)

    def context(self) -> Context:
        """What is known beside the pods."""
        return replace(CONTEXT, setting=setting(self.events, all_nodes=True))

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
        parts: dict[tuple[str, str], list[Request]] = defaultdict(list)
        for event in logged:
            if request := Request.of(event):
                parts[event.namespace, event.name].append(request)
        return [
            life
            for (namespace, name), asked in parts.items()
            for life in lives_of(asked, namespace=namespace, name=name)
        ]


def judged(name: str, found: list[PodLife], context: Context = CONTEXT) -> Tally:
    """What a check says of these lives."""
    (check,) = chosen([name])
    return tally(check, found, context)


def clean() -> Record:
    """A hint that is taken, an ordinary pod, and a preemption that takes a hint of lower priority away."""
    record = Record()
    record.node("n1")
    record.node("n2", cpu="1")
    record.created("hinted", "u1", cpu="1")
    record.decided("n1", name="hinted", uid="u1", cpu="1")
    record.bound("n1", name="hinted", uid="u1", cpu="1")
    record.started("n1", name="hinted", uid="u1", cpu="1")
    record.created("victim", "u2", cpu="1")
    record.bound("n2", name="victim", uid="u2", cpu="1")
    record.started("n2", name="victim", uid="u2", cpu="1")
    record.created("lower", "u4", cpu="1")
    record.decided("n2", name="lower", uid="u4", cpu="1")
    high = {"priority": 1000}
    record.created("preemptor", "u3", cpu="1", spec=high)
    record.nominated("n2", name="preemptor", uid="u3", cpu="1", spec=high)
    record.hinted("", by=SCHEDULER_USER, name="lower", uid="u4", cpu="1", body=CLEARS)
    record.victimised("victim", "u2", node="n2", cpu="1")
    record.gone("victim", "u2", node="n2", cpu="1", deleting=True)
    record.bound("n2", name="preemptor", uid="u3", cpu="1", spec=high)
    record.started("n2", name="preemptor", uid="u3", cpu="1", spec=high)
    return record
