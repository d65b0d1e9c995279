"""Writers that hear nothing: neither conflicts nor how long to wait."""

from __future__ import annotations

from typing import Any

from hintbound.checks.manners import BURST
from hintbound.protocol import DECISION_ANNOTATION
from tests.checks.breaks import breaks
from tests.checks.record import NOMINATOR, Record


def hint(node: str, rv: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": rv} if rv else {}
    return {"metadata": metadata, "status": {"nominatedNodeName": node}}


def decided(node: str, rv: str) -> dict[str, Any]:
    """The same with the decision behind it, which is another for another node."""
    body = hint(node, rv)
    body["metadata"]["annotations"] = {DECISION_ANNOTATION: node}
    return body


def conflict(record: Record, body: dict[str, Any]) -> None:
    """A nominator's hint of ns/p is refused: a scheduler has written since version 1."""
    record.nominated("n2")
    record.asked("patch", subresource="status", user=NOMINATOR, code=409, body=body)


def too_many(record: Record, *, seconds: Any = None, code: int = 429) -> None:
    """A nominator's hint of ns/p is refused for now."""
    record.asked("patch", subresource="status", user=NOMINATOR, code=code, body=hint("n1"))
    if seconds is not None:
        status = record.events[-1].data["responseStatus"]
        status |= {"status": "Failure", "details": {"retryAfterSeconds": seconds}}


@breaks("conflict-rebuilds")
def sent_again_without_the_precondition(record: Record) -> None:
    conflict(record, hint("n1", "1"))
    record.hinted("n1", body=hint("n1"))


@breaks("conflict-payload-rebuilt")
def only_the_version_is_new(record: Record) -> None:
    conflict(record, decided("n1", "1"))
    record.hinted("n1", body=decided("n1", "2"))


@breaks("conflict-payload-rebuilt")
def put_brings_the_old_pod_back(record: Record) -> None:
    old = {"phase": "Pending"}
    body: dict[str, Any] = {
        "metadata": {"resourceVersion": "1"},
        "status": {**old, "nominatedNodeName": "n1"},
    }
    record.version(phase="Running")
    record.asked("update", subresource="status", user=NOMINATOR, code=409, body=body)
    again = {**body, "metadata": {"resourceVersion": "2"}}
    item = record.version(hint="n1")
    record.asked("update", subresource="status", user=NOMINATOR, body=again, answer=item)


@breaks("retry-after-honoured")
def impatient_by_the_audit_log(record: Record) -> None:
    too_many(record, seconds=7)
    record.hinted("n1")


@breaks("retry-after-honoured")
def impatient_with_fairness(record: Record) -> None:
    too_many(record)
    record.passes(-0.9)
    too_many(record)


@breaks("retry-after-honoured")
def impatient_after_a_503(record: Record) -> None:
    too_many(record, seconds=7, code=503)
    record.hinted("n1")


@breaks("retry-after-honoured")
def impatient_by_its_own_record(record: Record) -> None:
    record.answered(429, retry_after="7")
    record.passes(2)
    record.answered(200)


@breaks("retry-after-honoured")
def impatient_before_a_date(record: Record) -> None:
    record.answered(429, retry_after="Mon, 30 Nov 2026 09:01:00 GMT")
    record.passes(2)
    record.answered(200)


@breaks("requests-within-rate")
def flood(record: Record) -> None:
    for _ in range(2 * BURST + 1):
        record.passes(-0.99)
        record.asked("patch", subresource="status", user=NOMINATOR, body=hint("n1"))
