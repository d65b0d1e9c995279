"""Effects that change what is asked, or how often, or when."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from hintbound.data.documents import Part
from hintbound.protocol import Seconds
from hintbound.proxy.act import Act
from hintbound.proxy.bodies import Edit, edited, edits, path
from hintbound.proxy.effects.effect import WRITES, RequestEffect, effect
from hintbound.proxy.matching import Match
from hintbound.proxy.messages import Answer, Proceed, Request, Unreadable
from hintbound.proxy.paths import Path
from hintbound.proxy.target import target

_DELETE_OPTIONS: Final = {"kind": "DeleteOptions", "apiVersion": "v1"}


def changed(request: Request, wanted: tuple[Edit, ...]) -> Request | None:
    """The request with its body changed; None when the edits found nothing to change. Raises Unreadable."""
    body = request.json()
    if request.method == "DELETE" and not request.body:
        body = dict(_DELETE_OPTIONS)
    return request.with_json(body) if edited(body, wanted) else None


@effect("editRequest")
@dataclass(frozen=True, slots=True)
class EditRequest(RequestEffect):
    """Changes the JSON that is sent. A DELETE without options is given some."""

    verbs: ClassVar[frozenset[str]] = WRITES
    needs_body: ClassVar[bool] = True
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        return cls(edits(part))

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        new = changed(request, self.edits)
        if new is not None:
            act.hit("changed")
        return await proceed(new or request)


@effect("split")
@dataclass(frozen=True, slots=True)
class Split(RequestEffect):
    """Makes two PATCHes of one: the first without what stands at `paths`, the second with only that and what
    stands at `keep` (unless told: metadata). The client is answered what the second came to, or the first if
    that failed. `last: false` sends the second first."""

    verbs: ClassVar[frozenset[str]] = frozenset({"patch"})
    needs_body: ClassVar[bool] = True
    paths: tuple[Path, ...]
    keep: tuple[Path, ...]
    last: bool
    pause: Seconds

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(required=["paths"], optional=["keep", "last", "pause"])
        return cls(
            tuple(path(one) for one in found["paths"].items()),
            tuple(path(one) for one in found["keep"].items()) if "keep" in found else (Path.of("metadata"),),
            found["last"].boolean() if "last" in found else True,
            found["pause"].number() if "pause" in found else 0.0,
        )

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        rest: Any = request.json()
        only: dict[str, Any] = {}
        for place in self.paths:
            if there := place.find(rest):
                place.set(only, copy.deepcopy(there[0]))
                place.remove(rest)
        if not only or not _says_something(rest, self.keep):
            return await proceed(request)
        for place in self.keep:
            if there := place.find(rest):
                place.set(only, copy.deepcopy(there[0]))
        first, second = (rest, only) if self.last else (only, rest)
        act.hit("split in two")
        answer = await proceed(request.with_json(first))
        if answer.status >= 400:
            return answer
        await answer.read()
        await asyncio.sleep(self.pause)
        return await proceed(request.with_json(second))


def _says_something(body: Any, keep: tuple[Path, ...]) -> bool:
    """Whether a patch changes anything besides what it keeps."""
    rest = copy.deepcopy(body)
    for place in keep:
        place.remove(rest)
    return any(part not in ({}, None) for part in rest.values())


@effect("repeat")
@dataclass(frozen=True, slots=True)
class Repeat(RequestEffect):
    """Sends a request `times` in all, with a pause of so many seconds. The client is answered the first
    answer."""

    verbs: ClassVar[frozenset[str]] = WRITES
    needs_body: ClassVar[bool] = True
    times: int
    pause: Seconds

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(optional=["times", "pause"])
        return cls(
            found["times"].whole(least=2) if "times" in found else 2,
            found["pause"].number() if "pause" in found else 0.0,
        )

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        answer = await proceed(request)
        await answer.read()
        for _ in range(self.times - 1):
            await asyncio.sleep(self.pause)
            again = await proceed(request)
            await again.read()
            act.hit(f"sent again, answered {again.status}")
        return answer


@effect("resend")
@dataclass(frozen=True, slots=True)
class Resend(RequestEffect):
    """Sends a request again when it was answered one of `statuses`, up to `times`, with what `edits` change:
    a client that does not read again before it writes again."""

    verbs: ClassVar[frozenset[str]] = WRITES
    needs_body: ClassVar[bool] = True
    statuses: frozenset[int]
    times: int
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(required=["statuses"], optional=["times", "edits"])
        return cls(
            frozenset(one.whole(least=400) for one in found["statuses"].items()),
            found["times"].whole(least=1) if "times" in found else 1,
            edits(found["edits"]) if "edits" in found else (),
        )

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        answer = await proceed(request)
        again = request
        for _ in range(self.times):
            if answer.status not in self.statuses:
                break
            await answer.read()
            again = changed(again, self.edits) or again
            refused, answer = answer.status, await proceed(again)
            act.hit(f"sent again after {refused}, answered {answer.status}")
        return answer


@effect("replay")
@dataclass(frozen=True, slots=True)
class Replay(RequestEffect):
    """When a request has been answered well, sends the last earlier request of the same object that fits `of`
    once more, after `seconds`, with what `edits` change. The client never hears of it."""

    verbs: ClassVar[frozenset[str]] = WRITES
    needs_body: ClassVar[bool] = True
    earlier: Match
    seconds: Seconds
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        found = part.fields(required=["of"], optional=["seconds", "edits"])
        match = Match.of(found["of"])
        if match.object or match.events or (match.verbs - WRITES):
            raise found["of"].wrong(
                "'replay.of' is about requests that write.",
                next_step="Ask only verbs, names and 'body' there.",
            )
        return cls(
            match,
            found["seconds"].number() if "seconds" in found else 0.0,
            edits(found["edits"]) if "edits" in found else (),
        )

    @property
    def also(self) -> Match:
        """See OnRequest."""
        return self.earlier

    def remember(self, act: Act, request: Request) -> None:
        """See OnRequest."""
        act.tally.memory[act.actor, act.target.namespace, act.target.name] = request

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """See OnRequest."""
        answer = await proceed(request)
        old = act.tally.memory.get((act.actor, act.target.namespace, act.target.name))
        if answer.status < 300 and old is not None:
            act.later(self._send(act, old))
        return answer

    async def _send(self, act: Act, old: Request) -> None:
        await asyncio.sleep(self.seconds)
        try:
            old = changed(old, self.edits) or old if self.edits else old
        except Unreadable as error:
            act.unreadable(str(error))
            return
        what = target(old.method, old.path)
        answer = await act.send(old)
        await answer.read()
        act.hit(f"an earlier {what.verb} of {what.resource} was sent again, answered {answer.status}")
