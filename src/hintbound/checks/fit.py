"""Whether a pod that waits fits a node for certain, and for how long it has.

Certain is what no plugin of kube-scheduler can deny: requests, ports, taints, cordon and node selector are
counted; a pod that asks for anything else (affinity, spread, volumes, claims, a group) is not judged.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hintbound.checks.model import Context
from hintbound.checks.room import Demand, Stay, demand, lack, over
from hintbound.history.events import Kind
from hintbound.history.join import PodLife, PodVersion
from hintbound.history.setting import NodeVersion, Setting
from hintbound.protocol import Seconds

OTHERS_WAIT: Final = "the room that is free may be meant for other pods that wait"

_PLAIN_VOLUMES: Final = frozenset(
    {"name", "configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret"}
)
_ORDERED: Final = "hintbound.dev/fault"
"""By this annotation pods of our own scenarios order their scheduler to fail them."""
_BEYOND: Final = (
    "affinity",
    "topologySpreadConstraints",
    "resourceClaims",
    "workloadRef",
    "schedulingGroup",
    "schedulingGates",
)
_REASONS: Final = re.compile(
    r"Insufficient \S+|Too many pods|no nodes available to schedule pods"
    r"|node\(s\) (?:had untolerated taint.*|were unschedulable|didn't match Pod's node affinity/selector"
    r"|didn't have free ports for the requested pod ports)"
)
"""What a scheduler may say of a pod that is judged here: causes that the record shows the end of."""


def unfathomable(pod: Mapping[str, Any]) -> str:
    """Why it cannot be said where a pod fits; empty when it can."""
    spec = pod.get("spec", {})
    if beyond := next((name for name in _BEYOND if spec.get(name)), ""):
        return f"spec.{beyond} of a pod that waits says more than the record can count"
    if any(not volume.keys() <= _PLAIN_VOLUMES for volume in spec.get("volumes") or ()):
        return "the volumes of a pod that waits say more than the record can count"
    if _ORDERED in (pod["metadata"].get("annotations") or {}):
        return "its scheduler was ordered to fail it"
    conditions = pod.get("status", {}).get("conditions") or ()
    said: Mapping[str, Any] = next((c for c in conditions if c.get("type") == "PodScheduled"), {})
    if said.get("status") == "False" and not _only_room(str(said.get("message") or "")):
        return "its scheduler gave a reason that the record cannot count"
    return ""


def _only_room(message: str) -> bool:
    """Whether all the reasons in a message are of those that are counted here."""
    filtered = message.partition(" preemption:")[0].rstrip(". ")
    head, colon, reasons = filtered.partition(" nodes are available: ")
    if not colon:
        return bool(_REASONS.fullmatch(head))
    parts = (part.lstrip("0123456789 ") for part in reasons.split(", "))
    return all(_REASONS.fullmatch(part) for part in parts)


def repelled(pod: Mapping[str, Any], node: NodeVersion) -> bool:
    """Whether a node's labels, taints or cordon keep a pod away."""
    spec = pod.get("spec", {})
    if any(node.labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return True
    taints = [t for t in node.taints if t.get("effect") in ("NoSchedule", "NoExecute")]
    if node.cordoned:
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    tolerations = spec.get("tolerations") or ()
    return any(not any(_tolerates(one, taint) for one in tolerations) for taint in taints)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")


@dataclass(frozen=True, slots=True)
class Wait:
    """A pod that could have been scheduled, and was not, for a time."""

    life: PodLife
    since: Seconds
    until: Seconds

    @property
    def lasts(self) -> Seconds:
        """How long."""
        return self.until - self.since


def wait(life: PodLife, setting: Setting) -> Wait | None:
    """How long a pod waited without a gate; to the end of the record if it was not bound. None for one that
    never could be scheduled, or of which the beginning was not seen."""
    free = next((v for v in life.versions if not v.object.get("spec", {}).get("schedulingGates")), None)
    if free is None or free.node_name or free.type == Kind.LISTED:
        return None
    later = life.versions[life.versions.index(free) :]
    ended = next((v for v in later if v.node_name or v.deletion_timestamp or over(v)), None)
    return Wait(life, free.mono, ended.mono if ended else setting.ends)


class Waiting:
    """Where the pods of one record would have fitted."""

    def __init__(
        self, lives: Sequence[PodLife], stays: Mapping[str, Sequence[Stay]], context: Context, known: Setting
    ) -> None:
        self._lives = lives
        self._stays = stays
        self._setting = known
        self._own = [n for n, v in known.nodes.items() if v[-1].event.test == context.behaviour]
        self._waits = [w for life in lives if (w := wait(life, known)) is not None]

    @property
    def nodes(self) -> list[str]:
        """Nodes of which everybody who was on them is in the record."""
        return self._own

    def longest_fit(
        self, life: PodLife, node: str, since: Seconds, until: Seconds
    ) -> tuple[Seconds, Seconds]:
        """For how long a pod fitted on a node without a break: for certain, and as far as pods show that were
        bound there."""
        certain = maybe = longest = perhaps = 0.0
        wanted, pod = demand(life.last.object), life.last.object
        for first, last in self._segments(node, since, until):
            version = self._setting.node_at(node, first)
            there = [s for s in self._stays.get(node, ()) if s.came.mono <= first and not _left(s, first)]
            taken = [stay.demand for stay in there]
            fits = (
                version is not None
                and not repelled(pod, version)
                and not any(stay.resized or _shuns(stay.life) for stay in there)
                and not lack(wanted, taken, version)
            )
            perhaps = perhaps + last - first if fits else 0.0
            sure = (
                fits
                and version is not None
                and not lack(wanted, [*taken, *self._rivals(life, node, first)], version)
            )
            certain = certain + last - first if sure else 0.0
            longest, maybe = max(longest, certain), max(maybe, perhaps)
        return longest, maybe

    def _segments(self, node: str, since: Seconds, until: Seconds) -> Iterator[tuple[Seconds, Seconds]]:
        """Times during which nothing changed that counts."""
        moments = {since, until}
        moments.update(v.mono for v in self._setting.nodes.get(node, ()))
        for stay in self._stays.get(node, ()):
            moments.update((stay.came.mono, stay.left.mono if stay.left else until))
        for other in self._waits:
            moments.update((other.since, other.until))
        for life in self._lives:
            moments.update(v.mono for v in life.versions if v.nominated_node_name == node)
        within = sorted(m for m in moments if since <= m <= until)
        yield from itertools.pairwise(within)

    def _rivals(self, life: PodLife, node: str, at: Seconds) -> list[Demand]:
        """What pods ask for that may have been meant for the room: they waited too, or were hinted there."""
        found = [w.life for w in self._waits if w.since <= at < w.until and w.life is not life]
        for other in self._lives:
            if other is life or other in found:
                continue
            seen = next((v for v in reversed(other.versions) if v.mono <= at), None)
            if (
                seen is not None
                and not over(seen)
                and seen.nominated_node_name == node
                and not seen.node_name
            ):
                found.append(other)
        return [demand(other.last.object) for other in found]


def _left(stay: Stay, at: Seconds) -> bool:
    return stay.left is not None and stay.left.mono <= at


def _shuns(life: PodLife) -> bool:
    """Whether a pod keeps others away by more than the room that it takes."""
    affinity: Any = life.last.object.get("spec", {}).get("affinity") or {}
    return bool((affinity.get("podAntiAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution"))


def last_seen(life: PodLife, at: Seconds) -> PodVersion | None:
    """A pod as it was at a moment."""
    return next((version for version in reversed(life.versions) if version.mono <= at), None)
