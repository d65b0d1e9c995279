"""Requests and answers as effects see them: bodies whole, or as streams where nobody needs them whole."""

from __future__ import annotations

import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

import orjson

from hintbound.protocol import Seconds
from hintbound.proxy.http import Fields

JSON: Final = "application/json"


class Unreadable(Exception):
    """A body is not JSON, and a rule needs it to be."""


class Reset(Exception):
    """The client's connection is to be broken off."""


@dataclass(slots=True)
class Request:
    """What a client asks, without what is about its connection only."""

    method: str
    path: str
    """As it was sent, with its query."""
    fields: Fields
    body: bytes | AsyncIterator[bytes] = b""
    length: int | None = None
    """Of a body that is a stream, where it is known."""

    def json(self) -> Any:
        """The body as JSON; of an empty one what a DELETE without options means: {}. Raises Unreadable."""
        return parsed(self.body, self.fields)

    def with_json(self, body: Any) -> Request:
        """The same request with another body."""
        fields = Fields(list(self.fields.lines))
        if not self.body:
            fields.set("Content-Type", JSON)
        return replace(self, fields=fields, body=orjson.dumps(body))


@dataclass(slots=True)
class Answer:
    """What a client is answered."""

    status: int
    fields: Fields
    body: bytes | AsyncIterator[bytes] = b""
    length: int | None = None
    """Of a body that is a stream, where it is known; what a HEAD is told."""
    give_up: Callable[[], None] = lambda: None
    """Called when the body is not wanted any more."""
    arrived: Callable[[], Seconds] = time.monotonic
    """When the piece of a streamed body that was taken last had come, on the monotonic clock."""

    async def read(self) -> bytes:
        """The whole body, which it then holds."""
        if not isinstance(self.body, bytes):
            pieces = [piece async for piece in self.body]
            self.body = b"".join(pieces)
        return self.body

    async def json(self) -> Any:
        """The body as JSON. Raises Unreadable."""
        await self.read()
        return parsed(self.body, self.fields)

    def put_json(self, body: Any) -> None:
        """Put another body in its place."""
        self.body = orjson.dumps(body)
        self.fields.remove("Content-Encoding")


Proceed = Callable[[Request], Awaitable[Answer]]
"""Sends a request on its way, to further effects and then the apiserver."""


def parsed(body: bytes | AsyncIterator[bytes], fields: Fields) -> Any:
    """Raises Unreadable."""
    if not isinstance(body, bytes):
        raise Unreadable("it was not kept whole")
    if not body:
        return {}
    kind = fields.get("Content-Type").partition(";")[0].strip().lower()
    if kind and kind != JSON and not kind.endswith(("+json", "+yaml")):
        raise Unreadable(f"it is {kind}, not JSON")
    try:
        return orjson.loads(_plain(body, fields.get("Content-Encoding")))
    except (ValueError, zlib.error) as error:
        raise Unreadable(f"it is not JSON: {error}") from error


def _plain(body: bytes, encoding: str) -> bytes:
    return zlib.decompress(body, wbits=31) if encoding.lower() == "gzip" else body


def status_answer(
    code: int, *, reason: str = "", message: str = "", retry_after: int | None = None, success: bool = False
) -> Answer:
    """An answer whose body is a Status, as the apiserver writes one."""
    reason = reason or REASONS.get(code, "")
    details = {} if retry_after is None else {"details": {"retryAfterSeconds": retry_after}}
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success" if success else "Failure",
        **({"message": message} if message else {}),
        **({"reason": reason} if reason and not success else {}),
        **details,
        "code": code,
    }
    fields = Fields([b"Content-Type: application/json", b"Cache-Control: no-cache, private"])
    if retry_after is not None:
        fields.set("Retry-After", str(retry_after))
    return Answer(code, fields, orjson.dumps(body))


def phrase(status: int) -> str:
    """The words after a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""`reason` of a Status by its code (k8s.io/apimachinery StatusReason)."""
