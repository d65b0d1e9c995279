"""What there is in a life, seen at a glance, so that most checks need not look at most lives."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

from hintbound.history.join import PodLife
from hintbound.history.writers import Request

if TYPE_CHECKING:
    from hintbound.checks.model import Context


class Trait(IntFlag):
    """Each says that there is one such thing at least, but the last."""

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
    """A request by a nominator or a scheduler that was answered with an error."""
    DEMANDED = 128
    """A request that names a resourceVersion."""
    UNBOUND = 256
    """Neither a binding that was answered with yes nor a version on a node."""


Glance = dict[tuple[str, str, str, int], int]
"""What was seen before: the traits of requests with this verb, subresource, user and code."""


_HINTED, _BOUND, _UNBOUND = int(Trait.HINTED), int(Trait.BOUND), int(Trait.UNBOUND)  # flags add slowly
_HINT_SENT, _DEMANDED = int(Trait.HINT_SENT), int(Trait.DEMANDED)


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
            bits |= _HINT_SENT
        if request.sent_rv or request.named_rv:
            bits |= _DEMANDED
    for version in life.versions:
        if version.nominated_node_name:
            bits |= _HINTED
        if version.node_name:
            bits |= _BOUND
    return bits if bits & _BOUND else bits | _UNBOUND


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
    if not request.succeeded and request.user in context.nominators | context.schedulers:
        bits |= Trait.REFUSED
    return int(bits)
