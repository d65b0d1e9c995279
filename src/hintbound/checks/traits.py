"""What there is in a life, seen at a glance, so that most checks need not look at most lives."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

from hintbound.checks.hints import untold
from hintbound.history.join import PodLife
from hintbound.history.writers import Request

if TYPE_CHECKING:
    from hintbound.checks.model import Context


class Trait(IntFlag):
    """Each says that there is one such thing at least, but UNBOUND."""

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
    SEEN = 512
    """A version."""
    ON_NODE = 1024
    """A version on a node."""
    MOVED = 2048
    """A version after the first on a node that is not on that node."""
    UNSCHEDULED = 4096
    """A version on a node with PodScheduled=False."""
    BINDING = 8192
    """A binding that was done: answered with yes, and not only tried. The next four are about such ones."""
    BINDINGS = 16384
    """Two or more."""
    BINDING_BY_OTHER = 32768
    """One by a user that is no scheduler."""
    BINDING_WITHOUT_UID = 65536
    """One of which the log has no uid beside the name."""
    BINDING_UNTOLD = 131072
    """One of which the log does not keep the answer, or not whole."""
    BINDING_SENT = 262144
    """A binding, answered with yes, of which the log keeps what was sent."""


Glance = dict[tuple[str, str, str, int, str], int]
"""What was seen before: the traits of requests with this verb, subresource, user, code and level."""


_HINTED, _BOUND, _UNBOUND = int(Trait.HINTED), int(Trait.BOUND), int(Trait.UNBOUND)  # flags add slowly
_HINT_SENT, _DEMANDED = int(Trait.HINT_SENT), int(Trait.DEMANDED)
_SEEN, _ON_NODE, _MOVED = int(Trait.SEEN), int(Trait.BOUND | Trait.ON_NODE), int(Trait.MOVED)
_UNSCHEDULED, _BINDING, _BINDINGS = int(Trait.UNSCHEDULED), int(Trait.BINDING), int(Trait.BINDINGS)
_BY_OTHER, _WITHOUT_UID = int(Trait.BINDING_BY_OTHER), int(Trait.BINDING_WITHOUT_UID)
_UNTOLD = int(Trait.BINDING_UNTOLD)


def traits_of(life: PodLife, context: Context, known: Glance) -> int:
    """The traits of a life, as bits. `known` is for one context; it is filled meanwhile."""
    bits = 0
    for request in life.requests:
        key = (request.verb, request.subresource, request.user, request.code, request.level)
        own = known.get(key)
        if own is None:
            own = known[key] = _traits(request, context)
        if own & _BINDING:
            own = _of_binding(request, own, bits)
        bits |= own
        if request.hint is not None:
            bits |= _HINT_SENT
        if request.sent_rv or request.named_rv:
            bits |= _DEMANDED
    node = ""
    for version in life.versions:
        bits |= _SEEN
        if version.nominated_node_name:
            bits |= _HINTED
        if on := version.node_name:
            bits |= _ON_NODE
            if version.scheduled == "False":
                bits |= _UNSCHEDULED
        if on != node:
            if node:
                bits |= _MOVED
            else:
                node = on
    return bits if bits & _BOUND else bits | _UNBOUND


def _traits(request: Request, context: Context) -> int:
    bits = Trait(0)
    if request.binds and request.succeeded:
        bits |= Trait.BOUND | Trait.BINDING
        if request.level != "Metadata":
            bits |= Trait.BINDING_SENT
        if request.user not in context.schedulers:
            bits |= Trait.BINDING_BY_OTHER
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


def _of_binding(request: Request, own: int, before: int) -> int:
    """The traits of a binding that was answered with yes, and has these of its kind, after requests with
    those."""
    if request.dry_run:
        return own & ~(_BINDING | _BY_OTHER)
    if before & _BINDING:
        own |= _BINDINGS
    if not request.named_uid:
        own |= _WITHOUT_UID
    if untold(request, answer=True):
        own |= _UNTOLD
    return own
