"""What there is in a life, seen at a glance, so that most checks need not look at most lives."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

from hintbound.history.join import PodLife
from hintbound.history.writers import Request

if TYPE_CHECKING:
    from hintbound.checks.model import Context


class Trait(IntFlag):
    """Each says that there is one such thing at least."""

    BOUND = 1
    """A binding that was answered with yes, or a version on a node."""
    HINTED = 2
    """A version with a hint."""
    HINT_SENT = 4
    """A request that sends a hint, or clears one."""
    BY_NOMINATOR = 8
    """A request by a nominator."""
    STATUS_BY_SCHEDULER = 16
    """A request by a scheduler to `pods/status`."""
    DELETED_BY_SCHEDULER = 32
    """A DELETE by a scheduler."""
    REFUSED = 64
    """A request that was answered with an error."""
    DEMANDED = 128
    """A request that names a resourceVersion."""


Glance = dict[tuple[str, str, str, int], int]
"""What was seen before: the traits of requests with this verb, subresource, user and code."""


def traits_of(life: PodLife, context: Context, known: Glance) -> int:
    """The traits of a life, as bits. `known` is for one context; it is filled meanwhile."""
    bits = 0
    for request in life.requests:
        key = (request.verb, request.subresource, request.user, request.code)
        own = known.get(key)
        if own is None:
            own = known[key] = _traits(request, context)
        bits |= own
        if request.hint is not None:
            bits |= Trait.HINT_SENT
        if request.sent_rv or request.named_rv:
            bits |= Trait.DEMANDED
    for version in life.versions:
        if version.nominated_node_name:
            bits |= Trait.HINTED
        if version.node_name:
            bits |= Trait.BOUND
    return int(bits)


def _traits(request: Request, context: Context) -> int:
    bits = Trait(0)
    if request.binds and request.succeeded:
        bits |= Trait.BOUND
    if request.user in context.nominators:
        bits |= Trait.BY_NOMINATOR
    if request.user in context.schedulers:
        if request.subresource == "status":
            bits |= Trait.STATUS_BY_SCHEDULER
        if request.verb == "delete":
            bits |= Trait.DELETED_BY_SCHEDULER
    if not request.succeeded:
        bits |= Trait.REFUSED
    return int(bits)
