"""Errors: told apart by type, from the bodies that real apiservers send."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from hintbound.kube import errors
from hintbound.kube.errors import ApiError, from_answer, from_status

# As measured on real apiservers, 1.34.0 to 1.37.2.
STALE = "the object has been modified; please apply your changes to the latest version and try again"
BOUND = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"'
UID = 'Pod "p" is invalid: metadata.uid: Invalid value: "0": field is immutable'


def status(code: int, reason: str, message: str = "no", **more: Any) -> bytes:
    return orjson.dumps(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
        | {"reason": reason, "message": message, **more}
    )


def read(code: int, body: bytes, **headers: str) -> ApiError:
    lower = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_answer(code, lower, body, method="PATCH", path="/api/v1/namespaces/a/pods/p/status")


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Gone", errors.Gone),
        (410, "Expired", errors.Expired),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
        (418, "", ApiError),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (502, "", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServiceUnavailable),
        (504, "Timeout", errors.Timeout),
    ],
)
def test_code_and_reason_choose_the_type(code: int, reason: str, kind: type[ApiError]) -> None:
    error = read(code, status(code, reason))

    assert type(error) is kind
    assert (error.status, error.reason) == (code, reason or kind.usual_reason)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 503, 504])
def test_a_code_without_a_status_gets_the_same_type_as_with_one(code: int) -> None:
    assert type(read(code, b"no")) is type(read(code, status(code, "")))


def test_every_sub_type_is_caught_as_its_parent() -> None:
    assert issubclass(errors.AlreadyExists, errors.Conflict)
    assert issubclass(errors.Expired, errors.Gone)
    assert issubclass(errors.ServiceUnavailable, errors.ServerError)


def test_str_names_request_code_reason_and_message() -> None:
    assert str(read(409, status(409, "Conflict", STALE))) == (
        f"PATCH /api/v1/namespaces/a/pods/p/status: 409 Conflict: {STALE}"
    )


def test_real_429_of_priority_and_fairness_is_plain_text_and_carries_retry_after() -> None:
    error = read(
        429,
        b"Too many requests, please try again later.\n",
        retry_after="2",
        content_type="text/plain; charset=utf-8",
    )

    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == 2
    assert (error.reason, error.message) == ("TooManyRequests", "Too many requests, please try again later.")
    assert error.body == "Too many requests, please try again later.\n"
    assert str(error).endswith("Too many requests, please try again later. (retry after 2 s)")


def test_retry_after_of_a_status_is_read_from_its_details() -> None:
    error = read(429, status(429, "TooManyRequests", details={"retryAfterSeconds": 7}))

    assert error.retry_after == 7
    assert error.details == {"retryAfterSeconds": 7}


def test_header_wins_over_details() -> None:
    body = status(429, "TooManyRequests", details={"retryAfterSeconds": 7})

    assert read(429, body, retry_after="1").retry_after == 1


def test_retry_after_as_a_date_counts_from_the_servers_own_clock() -> None:
    error = read(
        503,
        b"",
        retry_after="Mon, 30 Nov 2026 10:00:05 GMT",
        date="Mon, 30 Nov 2026 10:00:00 GMT",
    )

    assert error.retry_after == 5


@pytest.mark.parametrize("odd", ["", "soon", "-1x", "Mon, 99 Nov"])
def test_unreadable_retry_after_is_none(odd: str) -> None:
    assert read(429, b"", retry_after=odd).retry_after is None


def test_negative_retry_after_is_zero() -> None:
    assert read(429, b"", retry_after="-3").retry_after == 0


@pytest.mark.parametrize("code", [409, 422])
@pytest.mark.parametrize("message", [BOUND, UID])
def test_measured_messages_are_kept_whole(code: int, message: str) -> None:
    assert read(code, status(code, "Conflict", message)).message == message


def test_html_of_a_gateway_is_one_short_line() -> None:
    error = read(502, b"<html>\r\n<body>\r\n" + b"x " * 5_000_000 + b"</body>")

    assert error.message.startswith("<html> <body> x x")
    assert len(error.message) == 256
    assert "\n" not in str(error)


def test_message_is_cut_between_characters() -> None:
    assert read(502, ("ü" * 1000).encode()).message == "ü" * 255 + "…"


def test_bytes_that_are_no_text_are_shown_anyhow() -> None:
    assert "bad" in read(500, b"\xff\xfebad").message


@pytest.mark.parametrize("body", [b"", b" \n"])
def test_empty_body_says_what_the_code_means(body: bytes) -> None:
    assert str(read(503, body)).endswith("503 ServiceUnavailable: Service Unavailable")


@pytest.mark.parametrize("body", [b"[]", b"3", b"null", b'{"error": "x"}', b'{"kind": "Status"}'])
def test_json_that_is_no_whole_status_does_not_break(body: bytes) -> None:
    error = read(500, body)

    assert isinstance(error, errors.ServerError)
    assert error.reason == "InternalError"


def test_status_with_odd_fields_does_not_break() -> None:
    error = read(409, orjson.dumps({"kind": "Status", "details": [], "message": None, "reason": 4}))

    assert isinstance(error, errors.Conflict)
    assert error.details == {}


def test_code_of_the_answer_wins_over_that_of_the_body() -> None:
    assert read(503, status(500, "InternalError")).status == 503


def test_redirect_is_no_kubernetes_answer() -> None:
    assert isinstance(read(302, b""), errors.MalformedAnswer)


def test_status_in_a_watch_brings_its_own_code() -> None:
    event = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (9)"}

    error = from_status(event, method="GET", path="/api/v1/pods")

    assert isinstance(error, errors.Expired)
    assert str(error) == "GET /api/v1/pods: 410 Expired: too old resource version: 1 (9)"
