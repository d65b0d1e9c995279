"""What looks like a broken sentence and is none: nodes, preemptions, pods that wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hintbound.checks import fit, liveness, preemption, room
from hintbound.history import Kind
from hintbound.history.setting import setting
from hintbound.protocol import SCHEDULER_USER
from tests.checks.breaks_of_preemption import FULL, HIGH, full_node, nominated, waits
from tests.checks.record import CONTEXT, Record, judged

BARE = replace(CONTEXT, setting=None)
FITS, GOES_ON, CLEARED = "fitting-pod-is-bound", "preemptor-goes-on", "lower-nominations-cleared"


def created() -> Record:
    record = Record()
    record.created(cpu="1")
    return record


def alarms(name: str, record: Record) -> int:
    return judged(name, record.lives(), record.context()).violations


def reasons(name: str, record: Record) -> list[str]:
    return judged(name, record.lives(), record.context()).reasons


def test_room_of_a_pod_that_is_gone_is_free() -> None:
    record = created()
    full_node(record)
    record.gone("victim", "u9", node="n1", cpu="4")
    record.bound("n1", cpu="1")

    assert alarms("node-not-overcommitted", record) == 0


def test_room_of_a_pod_that_has_ended_is_free() -> None:
    record = created()
    full_node(record)
    record.started("n1", name="victim", uid="u9", cpu="4", phase="Succeeded")
    record.bound("n1", cpu="1")

    assert alarms("node-not-overcommitted", record) == 0


def test_scheduler_cannot_know_what_others_put_there_a_moment_ago() -> None:
    record = created()
    record.node("n1")
    record.created("static", "u9", cpu="4", node="n1")
    record.bound("n1", cpu="1")

    assert alarms("node-not-overcommitted", record) == 0


def test_scheduler_cannot_know_that_a_node_became_smaller_a_moment_ago() -> None:
    record = created()
    record.node("n1")
    record.passes(60)
    record.node("n1", cpu="0", kind=Kind.MODIFIED)
    record.bound("n1", cpu="1")

    assert alarms("node-not-overcommitted", record) == 0


def test_what_a_resized_pod_takes_is_unknown() -> None:
    record = created()
    full_node(record)
    resized = record.version(name="victim", uid="u9", node="n1", cpu="1")
    resized["metadata"]["generation"] = 2
    record.bound("n1", cpu="1")

    (reason,) = reasons("node-not-overcommitted", record)

    assert "resized" in reason


def test_node_that_is_not_in_the_record_is_unknown() -> None:
    record = created()
    record.bound("n1", cpu="1")

    (reason,) = reasons("node-not-overcommitted", record)

    assert reason == "the node that a pod was bound to is not in the record"


def test_after_a_gap_nobody_knows_who_is_where() -> None:
    record = created()
    full_node(record)
    record.engine(Kind.GAP, "")
    record.bound("n1", cpu="1")

    assert reasons("node-not-overcommitted", record) == [f"{room.LOSSY} (2 times)"]


def test_preemptor_may_be_bound_beside_a_victim_that_leaves_room() -> None:
    record = created()
    record.node("n1", cpu="8")
    record.created("victim", "u9", cpu="4")
    record.bound("n1", name="victim", uid="u9", cpu="4")
    nominated(record)
    record.bound("n1", name="high", uid="u8", cpu="4", **HIGH)

    assert alarms("preemptor-waits-for-victims", record) == 0


def test_victims_whose_room_another_pod_takes_did_not_die_for_nothing() -> None:
    record = created()
    full_node(record)
    nominated(record)
    record.gone("victim", "u9", node="n1", cpu="4")
    record.bound("n1", cpu="1")
    record.bound("n2", name="high", uid="u8", cpu="4", **HIGH)

    assert alarms("no-needless-victims", record) == 0


def test_hint_of_higher_priority_stays() -> None:
    record = Record()
    record.created(spec={"priority": 2000})
    record.hinted("n1", spec={"priority": 2000})
    record.passes(10)
    full_node(record)
    nominated(record)
    record.passes(10)
    record.gone("victim", "u9", node="n1", cpu="4")

    assert alarms(CLEARED, record) == 0


def test_scheduler_knows_no_hints_of_pods_that_another_serves() -> None:
    record = Record()
    other: dict[str, Any] = {"spec": {"schedulerName": "other"}}
    record.created(**other)
    record.hinted("n1", **other)
    record.passes(10)
    full_node(record)
    nominated(record)
    record.passes(10)
    record.gone("victim", "u9", node="n1", cpu="4")

    assert alarms(CLEARED, record) == 0


def test_scheduler_that_was_started_anew_may_not_know_of_a_gated_pods_hint() -> None:
    record = Record()
    gated: dict[str, Any] = {"spec": {"schedulingGates": [{"name": "hold"}]}}
    record.created(**gated)
    record.hinted("n1", **gated)
    record.passes(10)
    full_node(record)
    nominated(record)
    record.passes(10)
    record.gone("victim", "u9", node="n1", cpu="4")

    assert judged(CLEARED, record.lives(), BARE).violations == 0
    assert alarms(CLEARED, record) == 1


def test_scheduler_keeps_the_hint_of_a_pod_that_it_is_about_to_bind() -> None:
    record = created()
    record.hinted("n1", by=SCHEDULER_USER)
    record.passes(10)
    full_node(record)
    nominated(record)
    record.passes(10)
    record.gone("victim", "u9", node="n1", cpu="4")

    assert alarms(CLEARED, record) == 0


def test_pod_that_was_bound_where_it_was_hinted_may_have_been_on_its_way() -> None:
    record = created()
    record.hinted("n1")
    record.passes(10)
    full_node(record)
    nominated(record)
    record.passes(10)
    record.bound("n1")

    assert alarms(CLEARED, record) == 0
    assert reasons(CLEARED, record) == [preemption.ON_ITS_WAY]


def test_preemptor_that_stays_nominated_preempts_again_without_a_word() -> None:
    record = Record()
    full_node(record)
    record.created("high", "u8", cpu="4", **HIGH)
    record.nominated("n1", name="high", uid="u8", cpu="4", **HIGH)
    record.passes(60)
    record.created()
    record.hinted("n1", by=SCHEDULER_USER)  # where it is about to be bound
    record.victimised("victim", "u9", cpu="4")

    assert alarms("preemption-told-whole", record) == 0
    assert reasons("preemption-told-whole", record) == [preemption.UNSAID]


def test_record_that_ends_before_hints_had_to_be_cleared_is_unknown() -> None:
    record = created()
    record.hinted("n1")
    record.passes(10)
    full_node(record)
    nominated(record)

    assert reasons(CLEARED, record) == ["the record ends before hints had to be cleared"]


def test_many_victims_of_one_preemption_are_no_livelock() -> None:
    record = Record()
    record.node("n1")
    for number in range(9):
        record.created(f"victim-{number}", f"v{number}")
        record.bound("n1", name=f"victim-{number}", uid=f"v{number}")
    record.created("high", "u8", **HIGH)
    record.nominated("n1", name="high", uid="u8", **HIGH)
    for number in range(9):
        record.victimised(f"victim-{number}", f"v{number}")

    assert alarms("preemption-ends", record) == 0


def test_pod_that_fits_nowhere_may_wait() -> None:
    record = created()
    full_node(record)
    waits(record, FULL, cpu="1")
    record.passes(300)
    record.node("n2", cpu="0")

    found = judged(FITS, record.lives(), record.context())

    assert (found.judged, found.violations, found.reasons) == (1, 0, [])


def test_room_that_is_meant_for_another_is_unknown() -> None:
    record = created()
    full_node(record)
    nominated(record)
    waits(record, FULL, cpu="1")
    record.gone("victim", "u9", node="n1", cpu="4")
    record.passes(60)
    record.node("n2", cpu="0")

    assert fit.OTHERS_WAIT in reasons(FITS, record)[0]


def test_pod_whose_scheduler_nobody_saw_is_unknown() -> None:
    record = Record()
    full_node(record)
    record.created("lost", "u7", spec={"schedulerName": "nobody"})
    record.node("n2")
    record.passes(60)
    record.node("n3", cpu="0")

    assert reasons(FITS, record) == [liveness.UNSERVED]


def test_while_a_component_is_down_pods_may_wait() -> None:
    record = created()
    full_node(record)
    record.node("n2")
    record.engine(Kind.COMPONENT_KILLED, "kube-scheduler")
    record.passes(60)
    record.node("n3", cpu="0")

    assert reasons(FITS, record) == [liveness.RESTLESS]


def test_wait_counts_from_when_all_was_well_again() -> None:
    record = created()
    full_node(record)
    record.node("n2")
    record.engine(Kind.FAULT_BEGAN, "", fault="slow-api")
    record.passes(60)
    record.engine(Kind.FAULT_ENDED, "", fault="slow-api")
    record.passes(20)
    record.bound("n2", cpu="1")

    assert alarms(FITS, record) == 0


def test_gated_pod_may_wait() -> None:
    record = Record()
    record.created(spec={"schedulingGates": [{"name": "hold"}]})
    record.node("n1")
    record.passes(300)
    record.node("n2", cpu="0")

    assert judged(FITS, record.lives(), record.context()).judged == 0


def test_preemptor_waits_as_long_as_its_victim_ends() -> None:
    record = Record()
    full_node(record)
    nominated(record, message=FULL)
    record.passes(290)
    record.gone("victim", "u9", node="n1", cpu="4")
    record.bound("n1", name="high", uid="u8", cpu="4", **HIGH)

    assert alarms(GOES_ON, record) == 0


def test_hint_to_a_node_that_comes_at_once_is_none_to_a_ghost() -> None:
    record = created()
    record.hinted("n1")
    record.node("n1")
    record.passes(60)
    record.node("n2")

    assert alarms("hint-names-a-node", record) == 0


def test_whether_a_node_exists_that_the_record_never_saw_is_unknown_where_it_has_not_all() -> None:
    record = created()
    record.hinted("ghost")
    record.passes(40)
    record.node("n1")
    some = replace(CONTEXT, setting=setting(record.events))

    assert judged("hint-names-a-node", record.lives(), some).reasons == [liveness.ELSEWHERE]


def _dead(record: Record, message: str, **about: Any) -> int:
    record.node("n1")
    record.hinted("n1", **about)
    record.node("n1", kind=Kind.DELETED)
    record.passes(10)
    waits(record, message, hint="n1", **about)
    return alarms("dead-hint-cleared", record)


def test_pod_that_never_preempts_keeps_its_hint() -> None:
    assert _dead(created(), FULL, spec={"preemptionPolicy": "Never"}) == 0


def test_pod_that_prefilter_rejects_keeps_its_hint() -> None:
    assert _dead(created(), 'persistentvolumeclaim "c" not found. not found') == 0


def test_hint_that_the_scheduler_clears_as_it_says_why_is_no_dead_one() -> None:
    record = created()
    record.node("n1")
    record.hinted("n1")
    record.node("n1", kind=Kind.DELETED)
    record.passes(10)
    waits(record, FULL)

    assert alarms("dead-hint-cleared", record) == 0


def test_audit_log_has_no_nodes() -> None:
    record = created()
    record.hinted("ghost", by=SCHEDULER_USER)
    record.bound("n1")

    assert judged("hint-names-a-node", record.lives(), BARE).reasons == [room.NO_NODES]
    assert judged("node-not-overcommitted", record.lives(), BARE).reasons == [room.NO_NODES]
