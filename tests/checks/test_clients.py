"""What a client may do after a conflict, and after it was told to wait."""

from __future__ import annotations

import pytest

from hintbound.checks import manners
from tests.checks.breaks_of_clients import conflict, decided, hint, too_many
from tests.checks.record import NOMINATOR, Record, judged


def created() -> Record:
    record = Record()
    record.created()
    return record


def alarms(name: str, record: Record) -> int:
    return judged(name, record.lives(), record.context()).violations


def test_after_a_conflict_another_hint_may_be_sent() -> None:
    record = created()
    conflict(record, hint("n1", "1"))
    record.hinted("n3", body=hint("n3", "2"))

    assert alarms("conflict-rebuilds", record) == 0
    assert alarms("conflict-payload-rebuilt", record) == 0


def test_same_hint_may_be_sent_where_only_something_else_has_changed() -> None:
    record = created()
    record.version(conditions={"Ready": "False"})
    record.asked("patch", subresource="status", user=NOMINATOR, code=409, body=decided("n1", "1"))
    record.hinted("n1", body=decided("n1", "2"))

    assert alarms("conflict-payload-rebuilt", record) == 0


def test_writer_may_take_back_what_it_wrote_itself() -> None:
    record = created()
    record.hinted("n2")
    record.asked("patch", subresource="status", user=NOMINATOR, code=409, body=decided("n1", "1"))
    record.hinted("n1", body=decided("n1", "2"))

    assert alarms("conflict-payload-rebuilt", record) == 0


def test_who_decides_anew_may_come_to_the_same() -> None:
    record = created()
    conflict(record, hint("n1", "1"))
    record.hinted("n1", body=hint("n1", "2"))

    assert alarms("conflict-payload-rebuilt", record) == 0


def test_other_payload_without_a_precondition_is_no_resend() -> None:
    record = created()
    conflict(record, hint("n1", "1"))
    record.hinted("n3", body=hint("n3"))

    assert alarms("conflict-rebuilds", record) == 0


def test_what_was_read_after_a_conflict_may_not_be_in_the_record() -> None:
    record = created()
    conflict(record, hint("n1", "1"))
    record.hinted("n1", body=hint("n1", "77"))

    (reason,) = judged("conflict-payload-rebuilt", record.lives(), record.context()).reasons

    assert "not in the record" in reason


@pytest.mark.parametrize("seconds", [7, 0])
def test_who_waits_as_told_honours_it(seconds: int) -> None:
    record = created()
    too_many(record, seconds=seconds)
    record.passes(seconds)
    record.hinted("n1")

    found = judged("retry-after-honoured", record.lives(), record.context())

    assert (found.violations, found.reasons) == (0, [])


def test_another_request_need_not_wait() -> None:
    record = created()
    too_many(record, seconds=7)
    record.asked("patch", user=NOMINATOR, body={"metadata": {"annotations": {"acme.io/x": "1"}}})

    assert alarms("retry-after-honoured", record) == 0


def test_how_long_to_wait_is_not_in_every_log() -> None:
    record = created()
    too_many(record)
    record.hinted("n1")

    found = judged("retry-after-honoured", record.lives(), record.context())

    assert (found.violations, found.reasons) == (0, [manners.NO_RETRY_AFTER])


def test_own_record_of_a_client_tells_what_the_log_does_not() -> None:
    record = created()
    too_many(record)
    record.answered(429, retry_after="1")
    record.passes(2)
    record.hinted("n1")
    record.answered(200)

    found = judged("retry-after-honoured", record.lives(), record.context())

    assert (found.violations, found.reasons) == (0, [])


def test_retry_after_that_nobody_can_read_is_unknown() -> None:
    record = created()
    record.answered(503, retry_after="soon")
    record.answered(200)

    assert judged("retry-after-honoured", record.lives(), record.context()).reasons == [
        manners.NO_RETRY_AFTER
    ]


def test_burst_is_no_flood() -> None:
    record = created()
    for _ in range(manners.BURST):
        record.passes(-0.99)
        record.asked("patch", subresource="status", user=NOMINATOR, body=hint("n1"))

    assert alarms("requests-within-rate", record) == 0


def test_steady_stream_is_no_flood() -> None:
    record = created()
    for _ in range(5 * manners.BURST):
        record.passes(-0.98)
        record.asked("patch", subresource="status", user=NOMINATOR, body=hint("n1"))

    assert alarms("requests-within-rate", record) == 0
