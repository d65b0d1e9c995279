"""Effects that answer in the apiserver's place, or make its answer late, lost or another."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from hintbound.data.documents import Part
from hintbound.protocol import Seconds
from hintbound.proxy.act import Act
from hintbound.proxy.bodies import Edit, edited, edits
from hintbound.proxy.effects.effect import ANY, WRITES, RequestEffect, effect
from hintbound.proxy.http import Fields
from hintbound.proxy.messages import REASONS, Answer, Proceed, Request, Reset, Unreadable, status_answer

_SHAPES: Final = ("status", "apf")


@effect("reply")
@dataclass(frozen=True, slots=True)
class Reply(RequestEffect):
    """Answers with a status. The apiserver never hears of the request, or, with `forward: true`, it does what
    was asked and its own answer is thrown away.

    `shape: status` is a Status as JSON, as most parts of the apiserver write one; `shape: apf` is the text
    that API Priority and Fairness and the limit of requests in flight write, for 429 only.
    """

    ends: ClassVar[bool] = True
    status: int
    retry_after: int | None = None
    shape: str = "status"
    reason: str = ""
    message: str = ""
    forward: bool = False

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(
            required=["status"], optional=["retryAfter", "shape", "reason", "message", "forward"]
        )
        status = found["status"].whole(least=400)
        if status > 599:
            raise found["status"].wrong(f"{status} is no refusal.", next_step="Write 400 to 599.")
        shape = found["shape"].text() if "shape" in found else "status"
        if shape not in _SHAPES:
            raise found["shape"].none_of("shape", shape, _SHAPES)
        if shape == "apf" and (status != 429 or "reason" in found):
            raise found["shape"].wrong(
                "'shape: apf' is the text that comes with 429, and has no reason.", next_step="Remove one."
            )
        return cls(
            status,
            found["retryAfter"].whole() if "retryAfter" in found else None,
            shape,
            found["reason"].text() if "reason" in found else "",
            found["message"].text() if "message" in found else "",
            found["forward"].boolean() if "forward" in found else False,
        )

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        if self.forward:
            await (await proceed(request)).read()
        act.hit(f"answered {self.status}{' after it was done' if self.forward else ''}")
        if self.shape == "apf":
            fields = Fields([b"Content-Type: text/plain; charset=utf-8", b"X-Content-Type-Options: nosniff"])
            fields.set("Retry-After", str(1 if self.retry_after is None else self.retry_after))
            return Answer(429, fields, b"Too many requests, please try again later.\n")
        message = (
            self.message or f"answered {self.status} by the rule {act.tally.rule.name!r} of a fault proxy"
        )
        reason = self.reason or REASONS.get(self.status, "")
        return status_answer(self.status, reason=reason, message=message, retry_after=self.retry_after)


@effect("swallow")
@dataclass(frozen=True, slots=True)
class Swallow(RequestEffect):
    """Answers that all went well, and the apiserver never hears of the request."""

    verbs: ClassVar[frozenset[str]] = WRITES
    ends: ClassVar[bool] = True

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        act.hit("swallowed")
        return status_answer(201 if request.method == "POST" else 200, success=True)


@effect("delay")
@dataclass(frozen=True, slots=True)
class Delay(RequestEffect):
    """Lets a request wait for so many seconds before it goes on."""

    seconds: Seconds

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        return cls(part.fields(required=["seconds"])["seconds"].number())

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        act.hit(f"delayed {self.seconds:g} s")
        await asyncio.sleep(self.seconds)
        return await proceed(request)


@effect("hold")
@dataclass(frozen=True, slots=True)
class Hold(RequestEffect):
    """Lets a request wait until the rule is released or removed, or for `limit` seconds."""

    limit: Seconds | None = None

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(optional=["limit"])
        return cls(found["limit"].number() if "limit" in found else None)

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        act.hit("held")
        await act.until_lifted(self.limit)
        return await proceed(request)


@effect("reset")
@dataclass(frozen=True, slots=True)
class ResetBefore(RequestEffect):
    """Breaks the client's connection off, and the apiserver never hears of the request."""

    ends: ClassVar[bool] = True

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        act.hit("reset before it was forwarded")
        raise Reset


@effect("dropAnswer")
@dataclass(frozen=True, slots=True)
class DropAnswer(RequestEffect):
    """Lets the apiserver do what was asked, then breaks the client's connection off: it cannot know (the two
    generals)."""

    verbs: ClassVar[frozenset[str]] = ANY - {"watch"}

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        answer = await proceed(request)
        await answer.read()
        act.hit(f"its answer {answer.status} was dropped")
        raise Reset


@effect("editAnswer")
@dataclass(frozen=True, slots=True)
class EditAnswer(RequestEffect):
    """Changes the JSON of an answer."""

    verbs: ClassVar[frozenset[str]] = ANY - {"watch"}
    needs_answer: ClassVar[bool] = True
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        return cls(edits(part))

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        answer = await proceed(request)
        try:
            body = await answer.json()
        except Unreadable as error:
            act.unreadable(f"the answer: {error}")
            return answer
        if edited(body, self.edits):
            act.hit("its answer was changed")
            answer.put_json(body)
        return answer
