"""Bindings, hints and clients as they must not be."""

from __future__ import annotations

from dataclasses import replace

from hintbound.checks.churn import MOST_IN_A_MINUTE, MOST_REPEATS, MOST_TURNS
from hintbound.checks.manners import MOST_RESENT
from hintbound.checks.preemption import MOST_PREEMPTIONS
from hintbound.protocol import SCHEDULER_USER
from tests.checks.breaks import breaks
from tests.checks.record import NOMINATOR, WAITS, Record


@breaks("never-both")
def hint_outlives_binding(record: Record) -> None:
    record.hinted("n2")
    record.bound("n1", hint="n2")
    record.started("n1", hint="n2")


@breaks("node-name-stays")
def another_node(record: Record) -> None:
    record.bound("n1")
    record.started("n1")
    record.started("n2")


@breaks("bound-by-scheduler")
def outsider_binds(record: Record) -> None:
    record.bound("n1", by="mallory")


@breaks("bound-once")
def bound_again(record: Record) -> None:
    record.bound("n1")
    record.bound("n1")


@breaks("binding-names-uid")
def bound_by_name(record: Record) -> None:
    record.bound("n1", sent_uid="")


@breaks("scheduled-stays-true")
def late_failure_is_written(record: Record) -> None:
    record.bound("n1")
    item = record.version(node="n1", conditions=WAITS)
    record.asked("patch", subresource="status", user=SCHEDULER_USER, body={}, answer=item)


@breaks("hint-by-known-writer")
def stranger_hints(record: Record) -> None:
    record.hinted("n1", by="mallory")


@breaks("hint-owner-agrees")
def owned_by_another(record: Record) -> None:
    record.hinted("n1", manager="kubectl")


@breaks("nominator-touches-only-hint")
def phase_forged(record: Record) -> None:
    record.hinted("n1", body={"status": {"nominatedNodeName": "n1", "phase": "Failed"}})


@breaks("nominator-touches-only-hint")
def finalizer_added(record: Record) -> None:
    body = {"metadata": {"finalizers": ["acme.io/x"]}, "status": {"nominatedNodeName": "n1"}}
    record.hinted("n1", body=body)


@breaks("nominator-touches-only-hint")
def foreign_annotation(record: Record) -> None:
    body = {"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/x": "1"}}, "status": {}}
    record.hinted("n1", body=body)


@breaks("nominator-touches-only-hint")
def json_patch_of_labels(record: Record) -> None:
    record.hinted("n1", body=[{"op": "add", "path": "/metadata/labels/a", "value": "b"}])


@breaks("nominator-sends-preconditions")
def blind_hint(record: Record) -> None:
    record.hinted("n1", body={"status": {"nominatedNodeName": "n1"}})


@breaks("stale-write-refused")
def stale_write_succeeds(record: Record) -> None:
    record.started("", conditions={})
    body = {"metadata": {"resourceVersion": "1"}, "status": {"nominatedNodeName": "n1"}}
    record.hinted("n1", body=body)


@breaks("conflict-rebuilds")
def blind_resend(record: Record) -> None:
    body = {"metadata": {"resourceVersion": "1"}, "status": {"nominatedNodeName": "n1"}}
    record.started("", conditions={})
    for _ in range(2):
        record.asked("patch", subresource="status", user=NOMINATOR, code=409, body=body)


def victim(record: Record) -> None:
    record.created("victim", "u9")
    record.bound("n1", name="victim", uid="u9")
    record.started("n1", name="victim", uid="u9")


@breaks("victim-deleted-once")
def deleted_twice_for_one(record: Record) -> None:
    victim(record)
    record.nominated("n1")
    record.victimised("victim", "u9")
    record.victimised("victim", "u9")


@breaks("victim-deleted-once")
def deleted_thrice_in_no_time(record: Record) -> None:
    victim(record)
    record.nominated("n1")
    for _ in range(3):
        record.victimised("victim", "u9")
    quicker(record, 100)


@breaks("victim-keeps-grace")
def grace_cut_to_nothing(record: Record) -> None:
    victim(record)
    record.nominated("n1")
    record.victimised("victim", "u9", body={"kind": "DeleteOptions", "gracePeriodSeconds": 0})


@breaks("preemption-told-whole")
def hint_without_condition(record: Record) -> None:
    victim(record)
    record.hinted("n1", by=SCHEDULER_USER, body={"status": {"nominatedNodeName": "n1"}})
    record.victimised("victim", "u9")


@breaks("preemption-ends")
def livelock(record: Record) -> None:
    for turn in range(MOST_PREEMPTIONS + 1):
        record.nominated(f"n{turn}")


@breaks("no-write-war")
def writers_undo_each_other(record: Record) -> None:
    for _ in range(MOST_TURNS):
        record.hinted("n1", by=NOMINATOR)
        record.hinted("n2", by=SCHEDULER_USER)


@breaks("hints-come-to-rest")
def flapping(record: Record) -> None:
    for turn in range(MOST_IN_A_MINUTE + 1):
        record.passes(-1.5)
        record.hinted(f"n{turn % 2}")


@breaks("lost-hint-not-repeated")
def hint_in_a_loop(record: Record) -> None:
    for _ in range(MOST_REPEATS + 2):
        record.hinted("n1")
        record.hinted("", by=SCHEDULER_USER, body={"status": {"nominatedNodeName": None}})


@breaks("refusal-is-heard")
def deaf_client(record: Record) -> None:
    for _ in range(MOST_RESENT + 2):
        body = {"status": {"nominatedNodeName": "Bad_Name"}}
        record.asked("patch", subresource="status", user=NOMINATOR, code=422, body=body)


def quicker(record: Record, times: float) -> None:
    record.events[:] = [replace(event, mono=event.mono / times) for event in record.events]
