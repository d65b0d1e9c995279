"""Client manners: what a nominator must not do to an apiserver that has said no."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import orjson

from hintbound.checks.hints import untold
from hintbound.checks.model import Context, Unknown, Violation, check_life
from hintbound.history.join import PodLife
from hintbound.history.writers import Request
from hintbound.protocol import Severity

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


def _refused_for_good(life: PodLife, context: Context) -> list[Request]:
    """Schedulers are not meant: kube-scheduler tries a pod again on purpose, with backoff, whatever refused
    it."""
    return [r for r in life.requests if r.user in context.nominators and r.code in PERMANENT]


@check_life(
    "refusal-is-heard",
    must=f"A nominator resends what was refused for good (400, 403, 405, 422) at most {MOST_RESENT} times.",
    severity=Severity.HAZARD,
    concerns=lambda life, context: bool(_refused_for_good(life, context)),
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


CHECKS = (refusal_is_heard,)
