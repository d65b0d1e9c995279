"""What a request to an apiserver can come to other than success, told apart by type.

An `ApiError` is an answer: the apiserver (or something before it) said no. A `TransportError` is the absence
of an answer; what matters then is whether the request may have been applied, so each says so.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final

import orjson

from hintbound.protocol import Seconds

_SHOWN_OF_ODD_BODY: Final = 256


class KubeError(Exception):
    """A request did not succeed."""

    def __init__(self, message: str, *, method: str, path: str) -> None:
        super().__init__(message)
        self.method = method
        self.path = path


class TransportError(KubeError):
    """There was no (whole) answer."""

    def __init__(
        self,
        cause: str,
        *,
        method: str,
        path: str,
        may_have_been_applied: bool = False,
        status: int | None = None,
    ) -> None:
        outcome = "it may have been applied" if may_have_been_applied else "nothing was changed by it"
        super().__init__(f"{method} {path}: {cause}; {outcome}", method=method, path=path)
        self.cause = cause
        self.may_have_been_applied = may_have_been_applied
        """True for a write that left us: its outcome is unknown. Reads and dry runs change nothing."""
        self.status = status
        """The status code, when the answer broke off after it."""


class ConnectionFailed(TransportError):
    """No connection could be made: nothing was sent."""


class ConnectionLost(TransportError):
    """The connection ended between the first byte we sent and the last byte of the answer."""


class DeadlineExceeded(TransportError):
    """The caller's timeout passed before the answer was whole."""


class WatchInactive(TransportError):
    """An open watch was silent for longer than the caller allows."""


class ApiError(KubeError):
    """The answer was no. Sub-classes name the codes (and reasons) that callers tell apart."""

    usual_reason: ClassVar[str] = ""
    """The reason of an answer that states none, e.g. API Priority and Fairness' plain text."""

    def __init__(
        self,
        *,
        status: int,
        reason: str,
        message: str,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        retry_after: Seconds | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        named = f"{status} {reason}".rstrip()
        again = f" (retry after {retry_after:g} s)" if retry_after is not None else ""
        super().__init__(f"{method} {path}: {named}: {message}{again}", method=method, path=path)
        self.status = status
        self.reason = reason
        """Status.reason as sent, else the usual reason of the code."""
        self.message = message
        self.body = body
        """The parsed Status or other JSON, else the text."""
        self.headers: Mapping[str, str] = headers or {}
        """With lower-case names."""
        self.retry_after = retry_after
        self.details: Mapping[str, Any] = details or {}


class BadRequest(ApiError):
    """400."""

    usual_reason = "BadRequest"


class Unauthorized(ApiError):
    """401: the apiserver does not know who asks."""

    usual_reason = "Unauthorized"


class Forbidden(ApiError):
    """403: it knows, and refuses."""

    usual_reason = "Forbidden"


class NotFound(ApiError):
    """404."""

    usual_reason = "NotFound"


class MethodNotAllowed(ApiError):
    """405."""

    usual_reason = "MethodNotAllowed"


class Conflict(ApiError):
    """409: a precondition (resourceVersion, uid, field manager, already bound) does not hold."""

    usual_reason = "Conflict"


class AlreadyExists(Conflict):
    """409 with that reason: the name is taken."""

    usual_reason = "AlreadyExists"


class Gone(ApiError):
    """410: the asked-for resourceVersion is no longer there."""

    usual_reason = "Gone"


class Expired(Gone):
    """410 with that reason: compacted away, list again."""

    usual_reason = "Expired"


class UnsupportedMediaType(ApiError):
    """415: e.g. a strategic merge patch on a custom resource."""

    usual_reason = "UnsupportedMediaType"


class Invalid(ApiError):
    """422: validation said no, a json-patch `test` failed, or a merge patch tried to change the uid."""

    usual_reason = "Invalid"


class TooManyRequests(ApiError):
    """429: by API Priority and Fairness (plain text), or an eviction that a budget forbids (Status)."""

    usual_reason = "TooManyRequests"


class ServerError(ApiError):
    """5xx."""

    usual_reason = "InternalError"


class ServiceUnavailable(ServerError):
    """503: e.g. not ready yet, or shutting down."""

    usual_reason = "ServiceUnavailable"


class Timeout(ServerError):
    """504: the apiserver gave up waiting; a write may still be applied."""

    usual_reason = "Timeout"


class MalformedAnswer(ApiError):
    """The answer is no Kubernetes answer: a redirect, or a success whose body cannot be read."""

    usual_reason = "MalformedAnswer"


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    503: ServiceUnavailable,
    504: Timeout,
}
_BY_REASON: Final[Mapping[tuple[int, str], type[ApiError]]] = {
    (409, "AlreadyExists"): AlreadyExists,
    (410, "Expired"): Expired,
}


def from_answer(status: int, headers: Mapping[str, str], body: bytes, *, method: str, path: str) -> ApiError:
    """The error for an answer that is no success, whatever its body. `headers` has lower-case names."""
    try:
        parsed = orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        parsed = body.decode(errors="replace")
    if isinstance(parsed, dict) and parsed.get("kind") == "Status":
        return from_status(parsed, method=method, path=path, code=status, headers=headers)
    kind = _kind(status, "")
    return kind(
        status=status,
        reason=kind.usual_reason or _phrase(status),
        message=_shortened(body) or _phrase(status) or "an empty answer",
        method=method,
        path=path,
        body=parsed,
        headers=headers,
        retry_after=_retry_after(headers, {}),
    )


def from_status(
    status: Mapping[str, Any],
    *,
    method: str,
    path: str,
    code: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ApiError:
    """The error that a Status object tells of: an answer's body, or the object of a watch's ERROR event."""
    if code is None:
        stated = status.get("code")
        code = stated if isinstance(stated, int) else 500
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    kind = _kind(code, reason)
    return kind(
        status=code,
        reason=reason or kind.usual_reason,
        message=str(status.get("message") or "no message"),
        method=method,
        path=path,
        body=status,
        headers=headers,
        retry_after=_retry_after(headers or {}, details),
        details=details,
    )


def _kind(code: int, reason: str) -> type[ApiError]:
    if found := _BY_REASON.get((code, reason)) or _BY_STATUS.get(code):
        return found
    if code >= 500:
        return ServerError
    return ApiError if code >= 400 else MalformedAnswer


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return ""


def _shortened(body: bytes) -> str:
    # Bytes are cut first: a body may be many MiB of HTML. A character is at most four bytes.
    text = " ".join(body[: 4 * _SHOWN_OF_ODD_BODY].decode(errors="replace").split())
    return text if len(text) <= _SHOWN_OF_ODD_BODY else text[: _SHOWN_OF_ODD_BODY - 1] + "…"


def _retry_after(headers: Mapping[str, str], details: Mapping[str, Any]) -> Seconds | None:
    """The header wins over the Status: proxies and API Priority and Fairness set only the header."""
    stated = headers.get("retry-after")
    if stated is not None:
        try:
            return max(0.0, float(int(stated)))
        except ValueError:
            return _until(stated, headers.get("date"))
    seconds = details.get("retryAfterSeconds")
    # The field is omitted when zero, and present as zero only by mistake.
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else None


def _until(date: str, now: str | None) -> Seconds | None:
    """Seconds to an HTTP-date, by the server's own clock where it tells the time."""
    try:
        then = email.utils.parsedate_to_datetime(date).timestamp()
        since = email.utils.parsedate_to_datetime(now).timestamp() if now else time.time()
    except ValueError:
        return None
    return max(0.0, then - since)
