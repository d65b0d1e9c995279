"""What a record tells beside pods: which nodes there were, when something was broken on purpose, what clients
were answered."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hintbound.history.events import LOSSES, VERSIONS, Event, Kind, Source
from hintbound.protocol import Seconds

_DOWN: Final = frozenset(
    {Kind.COMPONENT_KILLED, Kind.COMPONENT_PAUSED, Kind.COMPONENT_STOPPED, Kind.COMPONENT_EXITED}
)
_UP: Final = frozenset({Kind.COMPONENT_READY, Kind.COMPONENT_RESUMED})
_ANSWERS: Final = frozenset({Kind.RESPONSE, Kind.LOST})


@dataclass(frozen=True, slots=True, eq=False)
class NodeVersion:
    """One version of a node as the watch showed it."""

    event: Event

    @property
    def mono(self) -> Seconds:
        """When it was seen, since the run's start."""
        return self.event.mono

    @property
    def there(self) -> bool:
        """Whether it exists; the last version of a node that was deleted says that it does not."""
        return self.event.kind not in (Kind.DELETED, Kind.GONE)

    @property
    def allocatable(self) -> Mapping[str, str]:
        """`status.allocatable`."""
        return self.event.data.get("status", {}).get("allocatable") or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """`metadata.labels`."""
        return self.event.data.get("metadata", {}).get("labels") or {}

    @property
    def taints(self) -> Sequence[Mapping[str, Any]]:
        """`spec.taints`."""
        return self.event.data.get("spec", {}).get("taints") or ()

    @property
    def cordoned(self) -> bool:
        """`spec.unschedulable`."""
        return bool(self.event.data.get("spec", {}).get("unschedulable"))

    def __str__(self) -> str:
        """For messages: `node n1 at 42 (modified)`."""
        return f"node {self.event.name} at {self.event.resource_version} ({self.event.kind})"


@dataclass(frozen=True, slots=True)
class Setting:
    """What surrounded the pods of a record. Audit logs have none."""

    nodes: Mapping[str, Sequence[NodeVersion]] = field(default_factory=dict)
    """By name, in order; a node that was made anew is the same name's next version."""
    all_nodes: bool = False
    """Whether these are all nodes of the cluster, or only those of one scenario."""
    ends: Seconds = 0.0
    """When the last event was recorded."""
    quiet_since: Seconds = 0.0
    """Since when no fault was on and no component that was broken still is; infinite while one is."""
    whole: bool = True
    """Whether no recorder lost anything."""
    answers: Mapping[tuple[str, str], Sequence[Event]] = field(default_factory=dict)
    """How requests of hintbound's own clients ended, as the side that asked saw it, by the namespace and name
    of what they were about."""

    def node_at(self, name: str, mono: Seconds) -> NodeVersion | None:
        """A node as it was at a moment; None while it did not exist, or was not known yet."""
        versions = self.nodes.get(name, ())
        position = bisect_right(versions, mono, key=lambda version: version.mono)
        return versions[position - 1] if position and versions[position - 1].there else None

    def nodes_between(self, name: str, first: Seconds, last: Seconds) -> list[NodeVersion]:
        """What a node was like from one moment to another: each version, also that in which it went."""
        versions = self.nodes.get(name, ())
        start = max(0, bisect_right(versions, first, key=lambda version: version.mono) - 1)
        return [version for version in versions[start:] if version.mono <= last]


def setting(
    events: Iterable[Event], *, all_nodes: bool = False, components: Collection[str] | None = None
) -> Setting:
    """The setting of a record, out of all its events in order. Pure.

    `all_nodes`: no node of the cluster is left out. `components`: the names of those that matter, for other
    scenarios end theirs; None: all.
    """
    nodes: dict[str, list[NodeVersion]] = defaultdict(list)
    answers: dict[tuple[str, str], list[Event]] = defaultdict(list)
    down: set[str] = set()
    faults: Counter[str] = Counter()
    whole, ends, quiet_since = True, 0.0, 0.0
    for event in events:
        ends = max(ends, event.mono)
        if event.kind in LOSSES:
            whole = False
        elif event.source == Source.WATCH:
            if event.resource == "nodes" and (event.kind in VERSIONS or event.kind == Kind.GONE):
                nodes[event.name].append(NodeVersion(event))
        elif event.source == Source.CLIENT and event.kind in _ANSWERS:
            answers[event.namespace, event.name].append(event)
        elif event.kind in _DOWN:
            if components is None or event.name in components:
                down.add(event.name)
        elif event.kind in _UP and event.name in down:
            down.discard(event.name)
            quiet_since = event.mono
        elif event.kind == Kind.FAULT_BEGAN:
            faults[str(event.data.get("fault"))] += 1
        elif event.kind == Kind.FAULT_ENDED:
            faults[str(event.data.get("fault"))] -= 1
            quiet_since = event.mono
    restless = down or +faults
    return Setting(nodes, all_nodes, ends, math.inf if restless else quiet_since, whole, answers)
