"""Client manners: how a nominator asks, and what it must not do to an apiserver that has said no."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import orjson

from hintbound.checks.hints import asked_at, untold
from hintbound.checks.model import Context, Proof, Units, Unknown, Violation, check, check_life, event_of
from hintbound.checks.traits import Trait
from hintbound.history.events import Event
from hintbound.history.join import PodLife
from hintbound.history.writers import Request
from hintbound.protocol import Seconds, Severity

PERMANENT: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""Answers that the same request gets again, until somebody changes a policy, RBAC or the pod."""

MOST_RESENT: Final = 3

WAIT: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})

CLOCK: Final[Seconds] = 0.1
"""So far the clocks of two apiservers may be apart."""

QPS: Final = 50.0
BURST: Final = 100
"""What kube-scheduler's client may send (KubeSchedulerConfiguration, clientConnection): who only hints needs
no more."""

_STATUS: Final = frozenset({"status", "reason", "message", "details"})
"""What is logged of an answer that was a Status; of API Priority and Fairness (filters.tooManyRequests, plain
text) and of the limit of requests in flight there is the code alone."""

NO_RETRY_AFTER: Final = "how long to wait (Retry-After) is not in the record"


def _refused_for_good(life: PodLife, context: Context) -> list[Request]:
    """Schedulers are not meant: kube-scheduler tries a pod again on purpose, with backoff, whatever refused
    it."""
    return [r for r in life.requests if r.user in context.nominators and r.code in PERMANENT]


@check_life(
    "refusal-is-heard",
    must=f"A nominator resends what was refused for good (400, 403, 405, 422) at most {MOST_RESENT} times.",
    severity=Severity.HAZARD,
    concerns=lambda life, context: bool(_refused_for_good(life, context)),
    needs=Trait.BY_NOMINATOR,
    about="pods on which a nominator was refused for good",
)
def refusal_is_heard(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: API conventions: only 409, 429 and 5xx are worth another try as they are."""
    same: dict[tuple[str, str, str, bytes], list[Request]] = {}
    for request in _refused_for_good(life, context):
        if reason := untold(request):
            yield Unknown(reason)
            continue
        body = orjson.dumps(request.body, option=orjson.OPT_SORT_KEYS)
        same.setdefault((request.user, request.verb, request.subresource, body), []).append(request)
    for sent in same.values():
        if len(sent) > MOST_RESENT + 1:
            pod = f"pod {life.namespace}/{life.name}"
            said = f"{sent[0].user} sent the same to {pod} {len(sent)} times: {sent[0]}"
            yield Violation(said, (sent[-1], *sent[:4]))


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request and its answer, by one clock."""

    same: tuple[str, ...]
    """What makes another request the next try of this one: who asked, how, for what of the pod."""
    began: Seconds
    ended: Seconds
    code: int
    told: str
    """What Retry-After said; empty where nothing tells."""
    proof: Proof
    at_least: bool = False
    """Whether that is only the least that it can have said."""


def _exchanges(life: PodLife, context: Context) -> list[_Exchange]:
    """Requests of nominators for a pod. Their own record of them is taken where there is one: it has the
    headers, and answers that no apiserver gave."""
    if not context.nominators:
        return []
    answers = context.setting.answers.get((life.namespace, life.name), ()) if context.setting else ()
    seen = [_as_client(event) for event in answers if event.data.get("actor") in context.nominators]
    asked = {exchange.same[0] for exchange in seen}
    logged = (r for r in life.requests if r.user in context.nominators - asked)
    return sorted([*seen, *map(_as_logged, logged)], key=lambda exchange: exchange.began)


def _as_client(event: Event) -> _Exchange:
    data = event.data
    same = (str(data["actor"]), str(data.get("method")), event.resource, str(data.get("path")))
    seconds, code = float(data.get("seconds") or 0.0), int(data.get("status") or 0)
    return _Exchange(same, event.mono - seconds, event.mono, code, str(data.get("retryAfter") or ""), event)


def _as_logged(request: Request) -> _Exchange:
    status = (request.event.data.get("responseStatus") or {}) if request.code in WAIT else {}
    details = status.get("details") if isinstance(status, dict) else None
    told = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    plain = request.code == HTTPStatus.TOO_MANY_REQUESTS and not _STATUS & status.keys()
    told = 1 if plain else told
    same = (request.user, request.verb, request.subresource)
    ended = datetime.fromisoformat(request.completed or request.event.time).timestamp()
    began = asked_at(request).timestamp()
    return _Exchange(same, began, ended, request.code, "" if told is None else str(told), request, plain)


def _told_to_wait(life: PodLife, context: Context) -> bool:
    if not context.nominators:
        return False
    return any(exchange.code in WAIT for exchange in _exchanges(life, context))


@check_life(
    "retry-after-honoured",
    must="A nominator that is answered 429 or 503 tries the same again no earlier than Retry-After says.",
    concerns=_told_to_wait,
    needs=Trait.REFUSED,
    about="pods on which a nominator was told to wait",
)
def retry_after_honoured(life: PodLife, context: Context) -> Iterator[Violation | Unknown]:
    """Source: kubernetes#26871, client-go#222. An audit log has the seconds only where the answer was a
    Status that tells them; that of API Priority and Fairness is none, and says 1 to 32."""
    exchanges = _exchanges(life, context)
    for position, refused in enumerate(exchanges):
        if refused.code not in WAIT:
            continue
        again = next((e for e in exchanges[position + 1 :] if e.same == refused.same), None)
        if again is None:
            continue
        wait = _seconds(refused)
        if wait is None:
            yield Unknown(NO_RETRY_AFTER)
        elif (waited := again.began - refused.ended) < wait - CLOCK:
            pod = f"pod {life.namespace}/{life.name}"
            told = f"{'at least ' if refused.at_least else ''}{wait:.0f} s"
            said = f"{refused.same[0]} tried {pod} again after {waited:.1f} s, and was told {told}"
            yield Violation(said, (again.proof, refused.proof))
        elif refused.at_least:
            yield Unknown(NO_RETRY_AFTER)


def _seconds(refused: _Exchange) -> Seconds | None:
    """For how long to wait; None where it is not told, or not so that it can be read."""
    if re.fullmatch(r"[0-9]{1,9}", refused.told):
        return float(refused.told)
    try:
        until = parsedate_to_datetime(refused.told)
    except ValueError:
        return None
    answered = datetime.fromisoformat(event_of(refused.proof).time)
    return max(0.0, (until - answered).total_seconds())


def _nominators_of(life: PodLife, context: Context) -> set[str]:
    return {r.user for r in life.requests if r.user in context.nominators}


def _asked_by_nominator(life: PodLife, context: Context) -> bool:
    return bool(_nominators_of(life, context))


@check(
    "requests-within-rate",
    must=f"A nominator asks for pods at most {QPS:.0f} times a second, after a burst of {BURST}.",
    severity=Severity.HAZARD,
    concerns=_asked_by_nominator,
    needs=Trait.BY_NOMINATOR,
    about="pods that a nominator asked something for",
    units=Units(
        home=lambda life, context: min(_nominators_of(life, context)),
        seen_in=lambda life, context: _nominators_of(life, context),
        needs=Trait.BY_NOMINATOR,
    ),
)
def requests_within_rate(lives: Sequence[PodLife], context: Context) -> Iterator[Violation]:
    """Source: kube-scheduler's own client (kubernetes#34938: retries count). Of requests that the record does
    not have, reads for one, nothing is known: the true rate is higher."""
    by_user: dict[str, list[tuple[Seconds, Request]]] = defaultdict(list)
    for life in lives:
        for request in life.requests:
            if request.user in context.nominators and context.unit in (None, request.user):
                by_user[request.user].append((asked_at(request).timestamp(), request))
    for user, asked in by_user.items():
        asked.sort(key=lambda one: one[0])
        tokens, before, full = float(BURST), asked[0][0], asked[0]
        for began, request in asked:
            tokens = min(float(BURST), tokens + (began - before) * QPS)
            if tokens >= BURST:
                full = (began, request)
            before, tokens = began, tokens - 1
            if tokens < 0:
                count = sum(full[0] <= other <= began for other, _ in asked)
                said = f"{user} asked {count} times within {began - full[0]:.1f} s"
                yield Violation(said, (request, full[1]))
                break


CHECKS = (refusal_is_heard, retry_after_honoured, requests_within_rate)
