"""An apiserver's answer as it came, and what callers make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hintbound.kube.errors import ApiError, MalformedAnswer
from hintbound.kube.exchange import Call, Json


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came, success or not."""

    call: Call
    status: int
    headers: Mapping[str, str]
    """With lower-case names."""
    raw: bytes
    body: Any
    """Parsed when the content type says JSON (and it is), else text."""
    error: ApiError | None
    """The error that it is; None for 2xx."""


def parse(raw: bytes, content_type: str) -> Any:
    """A body as JSON when the content type says so and it is, else as text."""
    if "json" in content_type:
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            pass
    return raw.decode(errors="replace")


def as_object(answer: Answer) -> Json:
    """The object that a success carries. Raises ApiError."""
    if answer.error is not None:
        raise answer.error
    if isinstance(answer.body, dict):
        return answer.body
    raise MalformedAnswer(
        status=answer.status,
        reason=MalformedAnswer.usual_reason,
        message=f"a JSON object was expected, not {answer.raw[:80]!r}",
        method=answer.call.method,
        path=answer.call.path,
        body=answer.body,
        headers=answer.headers,
    )
