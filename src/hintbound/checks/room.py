"""Room on nodes: what pods ask for, what is free, and whether a pod fits for certain.

Counted as kube-scheduler counts it (component-helpers `resource.PodRequests`, noderesources/fit, nodeports).
Nothing here guesses: where a record does not tell, the answer is words that say so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from hintbound.checks.model import Context
from hintbound.history.events import Kind
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.setting import NodeVersion
from hintbound.kube.quantities import amount, milli, units
from hintbound.protocol import Seconds

NO_NODES: Final = "nodes are not in the record (a whole run's history has them, an audit log has not)"
LOSSY: Final = "a recorder lost something: who was on which node is not known"

LAG: Final[Seconds] = 5.0
"""So long a scheduler may not know what others have done to a node."""

_OVER: Final = ("Succeeded", "Failed")
_WHOLE_POD: Final = ("cpu", "memory", "hugepages-")
"""Resources that may be asked for the whole pod: then that counts, and not the sum of its containers."""
Port = tuple[str, int, str]
"""Protocol, port, address."""
_ANY: Final = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod takes on a node."""

    amounts: Mapping[str, int]
    """By resource; cpu in thousandths, all else in whole units, each rounded up."""
    ports: frozenset[Port] = frozenset()


def demand(pod: Mapping[str, Any]) -> Demand:
    """What a pod asks for. Raises ValueError for a quantity that is none."""
    spec = pod.get("spec", {})
    total = _summed(_requests(container) for container in spec.get("containers") or ())
    sidecars: dict[str, Decimal] = {}
    peak: dict[str, Decimal] = {}
    for container in spec.get("initContainers") or ():
        own = _summed([_requests(container), sidecars])
        if container.get("restartPolicy") == "Always":
            sidecars, total = own, _summed([total, _requests(container)])
        for name, value in own.items():
            peak[name] = max(peak.get(name, value), value)
    asked = {name: max(total.get(name, Decimal(0)), peak.get(name, Decimal(0))) for name in {*total, *peak}}
    asked |= {n: v for n, v in _requests(spec).items() if n.startswith(_WHOLE_POD)}
    asked = _summed([asked, _amounts(spec.get("overhead"))])
    amounts = {n: math.ceil(v * 1000) if n == "cpu" else math.ceil(v) for n, v in asked.items()}
    return Demand(amounts, frozenset(_ports(spec)))


def _requests(part: Mapping[str, Any]) -> dict[str, Decimal]:
    return _amounts((part.get("resources") or {}).get("requests"))


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, Decimal]:
    return {name: amount(str(quantity)) for name, quantity in (quantities or {}).items()}


def _summed(parts: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, Decimal(0)) + value
    return total


def _ports(spec: Mapping[str, Any]) -> Iterator[Port]:
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield str(port.get("protocol") or "TCP"), int(port["hostPort"]), port.get("hostIP") or _ANY


def _clash(ours: Iterable[Port], theirs: Iterable[Port]) -> Port | None:
    """The first port of ours that is taken."""
    taken = list(theirs)
    for protocol, port, address in ours:
        for other in taken:
            if (protocol, port) == other[:2] and (address == other[2] or _ANY in (address, other[2])):
                return protocol, port, address
    return None


def lack(wanted: Demand, taken: Sequence[Demand], node: NodeVersion) -> str:
    """Why a pod does not fit beside others, in words; empty when it does. Only what it asks for itself
    counts, and only what the node says it has."""
    given = node.allocatable
    if "pods" in given and len(taken) >= (places := units(given["pods"])):
        return f"{len(taken)} pods are there, of {places}"
    for name, own in wanted.amounts.items():
        if own <= 0 or name not in given:
            continue
        has = milli(given[name]) if name == "cpu" else units(given[name])
        others = sum(one.amounts.get(name, 0) for one in taken)
        if own + others > has:
            unit = "m" if name == "cpu" else ""
            return f"{name}: {own}{unit} beside {others}{unit}, of {has}{unit}"
    if wanted.ports and (port := _clash(wanted.ports, (p for one in taken for p in one.ports))):
        return f"port {port[1]}/{port[0]} of the host is taken"
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Stay:
    """A pod on a node, from the version in which it came to the one in which it no longer took room."""

    life: PodLife
    came: PodVersion
    left: PodVersion | None
    """None: it was there to the end."""
    demand: Demand
    by_scheduler: bool
    """Whether a scheduler bound it; what others put there a scheduler learns later."""
    resized: bool
    """Whether it asked for something else later: then nobody here knows what counts when."""

    def lasts(self, at: PodVersion) -> bool:
        """Whether it took room when that version came about."""
        return self.came.index < at.index and (self.left is None or at.index < self.left.index)


def rooms(lives: Sequence[PodLife], context: Context) -> Mapping[str, Sequence[Stay]]:
    """The stays of all pods by node, in the order in which they came."""
    found: dict[str, list[Stay]] = defaultdict(list)
    for life in lives:
        if (stay := _stay(life, context)) is not None:
            found[stay.came.node_name].append(stay)
    for stays in found.values():
        stays.sort(key=lambda stay: stay.came.index)
    return found


def _stay(life: PodLife, context: Context) -> Stay | None:
    came = life.bound
    if came is None or over(came):
        return None
    later = life.versions[life.versions.index(came) :]
    left = next((version for version in later if over(version)), None)
    binding = life.binding
    wanted, last = demand(came.object), later[-1].object
    return Stay(
        life,
        came,
        left,
        wanted,
        binding is not None and binding.user in context.schedulers,
        _generation(last) != _generation(came.object) and demand(last).amounts != wanted.amounts,
    )


def over(version: PodVersion) -> bool:
    """Whether a pod takes no more room: it is gone, or has ended."""
    return version.type == Kind.DELETED or version.object.get("status", {}).get("phase") in _OVER


def _generation(pod: Mapping[str, Any]) -> Any:
    return pod["metadata"].get("generation")
