"""One request on its way past the rules: effects of those that fit are wrapped around its way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from hintbound.proxy.act import Act
from hintbound.proxy.book import Book
from hintbound.proxy.http import Fields
from hintbound.proxy.matching import Match
from hintbound.proxy.messages import Answer, Proceed, Request, Unreadable
from hintbound.proxy.relay import identity
from hintbound.proxy.tally import Tally
from hintbound.proxy.target import Target

_LISTED: Final = frozenset({"get", "list"})


@dataclass(slots=True)
class Exchange:
    """What is known of a request besides what it says."""

    book: Book
    actor: str
    target: Target
    path: str
    user_agent: str
    upstream: Callable[[Request], Awaitable[Answer]]
    """The way to the apiserver, past no rule. Raises Lost."""
    later: Callable[[Coroutine[Any, Any, None]], None]
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Rule, and what it did."""
    tell: Callable[[str, str], None] | None = None
    """Who is told of what rules do, in place of the notes: a watch goes on for hours."""
    forwarded: int = 0
    """How many requests the apiserver got for it."""

    def seeing(self) -> list[Tally]:
        """The rules that may act upon the request, or must see it, by all but its body."""
        return [
            tally
            for tally in self.book.for_request(self.actor, self.target)
            if tally.in_force and (self._fits(tally) or self._remembers(tally))
        ]

    def reading(self) -> list[Tally]:
        """The rules that may act upon what is read."""
        if self.target.verb not in _LISTED:
            return []
        return [
            tally
            for tally in self.book.for_objects(self.actor, self.target)
            if tally.in_force and tally.rule.match.fits_sender(self.path, self.user_agent)
        ]

    async def run(self, request: Request, seeing: Sequence[Tally], reading: Sequence[Tally]) -> Answer:
        """Past all of them and to the apiserver. Raises Lost, Reset."""
        proceed: Proceed = self._forward
        if reading or any(effect.needs_answer for tally in seeing for effect in tally.rule.requests):
            request.fields.remove("Accept-Encoding")
        if reading:
            proceed = partial(self._read_past, reading, proceed)
        for tally in reversed([tally for tally in seeing if self._acts(tally, request)]):
            for effect in reversed(tally.rule.requests):
                proceed = partial(self._guarded, effect, tally, proceed)
        return await proceed(request)

    def act(self, tally: Tally) -> Act:
        """What an effect of this rule is given."""
        return Act(tally, self.actor, self.target, self._note, self._forward, self.later)

    def _note(self, rule: str, what: str) -> None:
        if self.tell is not None:
            self.tell(rule, what)
        else:
            self.notes.append((rule, what))

    async def _forward(self, request: Request) -> Answer:
        if self.forwarded:  # the apiserver takes it for the id of what it audits: there is one of each
            request = replace(request, fields=Fields(list(request.fields.lines)))
            request.fields.remove("Audit-ID")
        self.forwarded += 1
        return await self.upstream(request)

    async def _guarded(self, effect: Any, tally: Tally, proceed: Proceed, request: Request) -> Answer:
        act, went = self.act(tally), False

        async def once(wanted: Request) -> Answer:
            nonlocal went
            went = True
            return await proceed(wanted)

        try:
            answer: Answer = await effect.apply(act, request, once)
        except Unreadable as error:
            act.unreadable(str(error))
            assert not went, "an effect reads what it needs before it sends anything"
            return await proceed(request)
        return answer

    def _fits(self, tally: Tally) -> bool:
        return self._is(tally.rule.match)

    def _remembers(self, tally: Tally) -> bool:
        return any(self._is(effect.also) for effect in tally.rule.requests if effect.also is not None)

    def _is(self, match: Match) -> bool:
        about = self.target
        return (
            match.may_concern(about.verb, about.resource)
            and match.fits_names(about)
            and match.fits_sender(self.path, self.user_agent)
        )

    def _acts(self, tally: Tally, request: Request) -> bool:
        """Whether the rule acts upon this request. Lets it see it where it must."""
        try:
            for effect in tally.rule.requests:
                also = effect.also
                if (
                    also is not None
                    and self._remembers(tally)
                    and (not also.body or also.fits_body(request.json()))
                ):
                    effect.remember(self.act(tally), request)
            if not self._fits(tally):
                return False
            if tally.rule.match.body and not tally.rule.match.fits_body(request.json()):
                return False
        except Unreadable as error:
            self.act(tally).unreadable(str(error))
            return False
        return tally.allows(self.actor, (self.target.namespace, self.target.name))

    async def _read_past(self, reading: Sequence[Tally], proceed: Proceed, request: Request) -> Answer:
        for tally in reading:
            act = self.act(tally)
            for effect in tally.rule.objects:
                request = effect.asked(act, request)
        answer = await proceed(request)
        if answer.status != 200:
            return answer
        changing = [tally for tally in reading if any(e.needs_object for e in tally.rule.objects)]
        if not changing or (self.target.verb == "get" and not any(_edits(tally) for tally in changing)):
            return answer
        try:
            body = await answer.json()
            if not isinstance(body, dict) or body.get("kind") == "Table":
                raise Unreadable("it is a table, not the objects")
        except Unreadable as error:
            for tally in changing:
                self.act(tally).unreadable(f"the answer: {error}")
            return answer
        before = len(self.notes)
        if self.target.verb == "get":
            body = self._past(changing, body)
        else:
            body["items"] = [
                new for item in body.get("items") or () if (new := self._past(changing, item)) is not None
            ]
        if len(self.notes) > before:
            answer.put_json(body)
        return answer

    def _past(self, reading: Sequence[Tally], obj: Any) -> Any:
        for tally in reading:
            if not tally.rule.match.fits_object(obj) or tally.rule.match.events:
                continue
            if not tally.allows(self.actor, identity(obj)):
                continue
            for effect in tally.rule.objects:
                obj = effect.listed(self.act(tally), obj)
                if obj is None:
                    return None
        return obj


def _edits(tally: Tally) -> bool:
    return any("get" in effect.verbs for effect in tally.rule.objects)
