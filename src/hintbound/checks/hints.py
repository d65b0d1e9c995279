"""What lives and requests say of `status.nominatedNodeName`, for all families of checks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Final, TypeVar
from urllib.parse import parse_qs, urlsplit

from hintbound.history.events import Kind
from hintbound.history.join import AnsweredVersion, PodLife, PodVersion
from hintbound.history.writers import Request

NO_BODIES: Final = "the audit level is too low: what was sent is not in the log (needs Request)"
NO_ANSWERS: Final = (
    "the audit level is too low: what pods looked like is not in the log (needs RequestResponse)"
)
CUT_OFF: Final = "the apiserver cut off what was sent or answered (audit.k8s.io/truncated)"

UNTOLD: Final = frozenset({NO_BODIES, NO_ANSWERS, CUT_OFF})


@dataclass(frozen=True, slots=True)
class HintChange:
    """A version of a pod that shows another hint than the one before it."""

    version: PodVersion
    before: str
    after: str
    """Empty: it was cleared."""
    writer: Request | None
    """None: the record does not tell."""


_T = TypeVar("_T")


def once(ask: Callable[[PodLife], _T]) -> Callable[[PodLife], _T]:
    """Have what many checks ask of a life found out once. What comes of it is shared: it must not be
    changed."""

    @wraps(ask)
    def known(life: PodLife) -> _T:
        if ask not in life.memo:
            life.memo[ask] = ask(life)
        found: _T = life.memo[ask]
        return found

    return known


def watched(life: PodLife) -> bool:
    """Whether every version of it was seen; an audit log shows only what was answered."""
    return bool(life.versions) and not isinstance(life.versions[0], AnsweredVersion)


@once
def hint_changes(life: PodLife) -> Sequence[HintChange]:
    """Its hints in order, and who made each."""
    found = []
    before, known = "", not life.versions or life.versions[0].type == Kind.ADDED
    for version in life.versions:
        after = version.nominated_node_name
        if after != before and known:
            found.append(HintChange(version, before, after, _writer(life, version)))
        before, known = after, True
    return found


def _writer(life: PodLife, version: PodVersion) -> Request | None:
    """Who wrote the hint of a version: the one request that sent it and was answered with this version.

    A patch that changes nothing is answered with a version that another made, so one that did not send the
    hint is not it, and of two that did nobody can tell which. What only clears (a binding) is told by the
    watch.
    """
    after = version.nominated_node_name
    sent: dict[tuple[str, str], Request] = {}
    for request in life.requests:
        if request.rv == version.rv and request.succeeded and hint_sent(request) == after:
            sent.setdefault((request.user, manager_of(request)), request)  # a later one changed nothing
    if len(sent) == 1:
        return next(iter(sent.values()))
    return version.writer if not sent and not after and watched(life) else None


def hint_sent(request: Request) -> str | None:
    """The hint that a request to `pods/status` sends, empty for one that clears it; None when it sends
    none, or the log does not keep what was sent."""
    return request.hint


def untold(request: Request, *, answer: bool = False) -> str:
    """Why the log does not tell what was sent (or answered); empty when it does."""
    if request.truncated:
        return CUT_OFF
    if answer and request.level != "RequestResponse":
        return NO_ANSWERS
    return NO_BODIES if request.level == "Metadata" else ""


def manager_of(request: Request) -> str:
    """As whom the apiserver notes the writer in managedFields: the field manager that it names, else its
    program."""
    query = parse_qs(urlsplit(request.uri).query)
    named = query.get("fieldManager", [""])[0]
    return named or request.user_agent.partition("/")[0]


def hint_owners(version: PodVersion) -> set[str]:
    """Who owns the hint by the pod's own managedFields."""
    entries = version.object.get("metadata", {}).get("managedFields") or ()
    return {
        str(entry.get("manager", ""))
        for entry in entries
        if "f:nominatedNodeName" in ((entry.get("fieldsV1") or {}).get("f:status") or {})
    }


def asked_at(request: Request) -> datetime:
    """When a request came, by the apiserver's clock; when it was answered where the log does not say."""
    for text in (request.received, request.completed):
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(text)
    return datetime.fromisoformat(request.event.time)
