"""The vocabulary that every part shares: verdicts, severities, levels, gates, actors, keys. No I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any, Final, Self

import orjson

Seconds = float
"""A duration."""


class Verdict(StrEnum):
    """What a judged behaviour came to (Jepsen's tri-state and gateway-api's two kinds of not run)."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"
    """Nothing was proven: a recorder had a gap, a fault never bit, a judge crashed, time ran out."""
    SKIP = "skip"
    """The cluster lacks a capability that the behaviour needs; the reason names it."""
    NOT_SUPPORTED = "not-supported"
    """The behaviour does not apply to these versions and gates."""


_WORST_FIRST: Final = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a whole: fail > unknown > pass. Skips do not count; nothing judged at all is unknown."""
    seen = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in seen), Verdict.UNKNOWN)


class ExitCode(IntEnum):
    """Exit codes of every command and of pytest with the plugin."""

    PASS = 0
    FAIL = 1
    UNKNOWN = 2
    INTERRUPTED = 130
    CANNOT_START = 254
    INTERNAL = 255


EXIT_CODES: Final = {
    Verdict.PASS: ExitCode.PASS,
    Verdict.FAIL: ExitCode.FAIL,
    Verdict.UNKNOWN: ExitCode.UNKNOWN,
}


class Severity(StrEnum):
    """How bad a broken sentence is."""

    VIOLATION = "violation"
    """The protocol is broken."""
    HAZARD = "hazard"
    """Legal but harmful, e.g. a stale hint that hides a pod from autoscalers."""


class Affected(StrEnum):
    """Who notices when a behaviour begins, ends or breaks."""

    NOMINATOR = "nominator"
    """Whoever writes hints."""
    SCHEDULER = "scheduler"
    """Whoever builds or configures a scheduler."""
    AUTOSCALER = "autoscaler"
    """Whoever adds and removes nodes by what pods await."""
    DASHBOARD = "dashboard"
    """Whoever shows or alerts on pods."""
    OPERATOR = "operator"
    """Whoever runs the cluster."""


class Level(StrEnum):
    """What a behaviour asks of a cluster: core needs neither component restarts nor several apiservers."""

    CORE = "core"
    EXTENDED = "extended"
    REGRESSION = "regression"
    """It reproduces a public bug: what must hold fails on releases that have the bug, and so proves no
    profile."""


class Feature(StrEnum):
    """What one scheduler can do and another need not: a subject declares what it has, a behaviour names what
    it asks for. kube-scheduler has all of them.

    What is no feature is asked of every scheduler: it binds the pods of its `schedulerName` through
    `pods/binding`, heeds scheduling gates, requests, node selectors and affinity, taints and cordons, and
    tries again what did not fit.
    """

    HINTS = "Hints"
    """Binds a pod to the node in its `nominatedNodeName` if it fits there, and clears a hint that failed."""
    RESERVATIONS = "Reservations"
    """Keeps the room that a nomination names from pods of equal or lower priority."""
    PREEMPTION = "Preemption"
    """Deletes pods of lower priority for one that fits nowhere, and nominates that to their node."""
    POD_DISRUPTION_BUDGETS = "PodDisruptionBudgets"
    """Prefers victims that no budget guards."""
    POD_AFFINITY = "PodAffinity"
    HOST_PORTS = "HostPorts"
    TOPOLOGY_SPREAD = "TopologySpread"
    VOLUMES = "Volumes"
    """Minds where volumes can be reached, and lets a pod wait (PreBind) until its claim is bound."""
    CONDITIONS = "Conditions"
    """Says `PodScheduled=False` with the reason Unschedulable or SchedulerError on what it could not bind."""
    EVENTS = "Events"
    """Tells of what it does in the Events of kube-scheduler."""
    METRICS = "Metrics"
    """Counts what it does in the metrics of kube-scheduler."""
    CONFIGURATION_FILE = "ConfigurationFile"
    """Does what a KubeSchedulerConfiguration says: profiles, plugins, extenders, backoff."""
    FEATURE_GATES = "FeatureGates"
    """Takes Kubernetes' gates and the version to emulate, and behaves by them."""
    UPSTREAM_DETAILS = "UpstreamDetails"
    """Does as kube-scheduler also where nobody asks for it: its hazards, its choices, its words."""


class Profile(StrEnum):
    """Which levels a run judges."""

    CORE = "core"
    EXTENDED = "extended"
    ALL = "all"
    """What a release must hold: core and extended."""
    REGRESSIONS = "regressions"
    """The bugs that `suites/regressions` reproduces, and nothing else."""

    def includes(self, level: Level) -> bool:
        """Whether a behaviour of this level belongs to the profile."""
        if level is Level.REGRESSION or self is Profile.REGRESSIONS:
            return level is Level.REGRESSION and self is Profile.REGRESSIONS
        return self is Profile.ALL or self.value == level.value


class ComponentKind(StrEnum):
    """The programs of a control plane, spelled as Kubernetes spells them."""

    ETCD = "etcd"
    APISERVER = "kube-apiserver"
    SCHEDULER = "kube-scheduler"
    CONTROLLER_MANAGER = "kube-controller-manager"
    KWOK = "kwok"


class Actor(StrEnum):
    """Who speaks to the apiserver. Each has a user of its own; NNN is written only by named actor users."""

    ADMIN = "hintbound-admin"
    """Sets the stage: namespaces, nodes, RBAC. Never part of a judged act."""
    AUTHOR = "hintbound-author"
    """Creates, changes and deletes pods, as a workload controller does."""
    NOMINATOR = "hintbound-nominator"
    """Writes hints: `patch pods/status` and nothing else."""
    OBSERVER = "hintbound-observer"
    """Watches. Reads only."""


SCHEDULER_USER: Final = "system:kube-scheduler"
"""As whom kube-scheduler speaks, unless it was installed otherwise."""

NOMINATED_NODE_NAME_FOR_EXPECTATION: Final = "NominatedNodeNameForExpectation"
CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING: Final = "ClearingNominatedNodeNameAfterBinding"

TEST_LABEL: Final = "hintbound.dev/test"
"""On namespaces and nodes: which scenario they belong to."""
MARKER_LABEL: Final = "hintbound.dev/marker"
"""On the object whose sight tells that a recorder has caught up."""

DECISION_ANNOTATION: Final = "hintbound.dev/decision"
"""On a pod that a nominator hinted, written in the same request as the hint: the Decision behind it."""

LONGEST_TTL: Final[Seconds] = 3600.0
"""A decision is about a cluster that changes: what is to hold for longer is no hint."""
_LONGEST_TEXT: Final = 1024
_DECISION_KEYS: Final = ("id", "reason", "algorithmVersion", "time", "ttlSeconds", "resourceVersion")


class UnreadableDecision(ValueError):
    """A decision, or an annotation, that breaks the protocol: says which field, and how, in one line."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a nominator hints a pod to a node, on what it decided that, and for how long it stands by it.

    As an annotation it is a JSON object with exactly the keys id, reason, algorithmVersion, time (RFC 3339),
    ttlSeconds and resourceVersion. One id stands for one decision: written again it is the same in all
    fields, and hints the same node.

    Raises UnreadableDecision for values that the protocol does not know.
    """

    id: str
    reason: str
    algorithm_version: str
    time: datetime
    """When it was made; with a time zone."""
    ttl: Seconds
    """For how long it holds from then on: more than 0, at most LONGEST_TTL."""
    resource_version: str
    """Of the pod, as it was when this was decided."""

    def __post_init__(self) -> None:
        """Every field is checked, whoever makes it."""
        texts = {
            "id": self.id,
            "reason": self.reason,
            "algorithmVersion": self.algorithm_version,
            "resourceVersion": self.resource_version,
        }
        for key, text in texts.items():
            if type(text) is not str or not text.strip():
                raise UnreadableDecision(f"{key} is {text!r}, no text")
            if len(text) > _LONGEST_TEXT or not text.isprintable():
                raise UnreadableDecision(f"{key} is no line of at most {_LONGEST_TEXT} characters")
        if not isinstance(self.time, datetime) or self.time.tzinfo is None:
            raise UnreadableDecision(f"time is {self.time!r}, no moment with a time zone")
        if type(self.ttl) not in (int, float) or not 0 < self.ttl <= LONGEST_TTL or math.isnan(self.ttl):
            raise UnreadableDecision(
                f"ttlSeconds is {self.ttl!r}, not more than 0 and at most {LONGEST_TTL:g}"
            )
        try:
            self.time.astimezone(UTC), self.expires.astimezone(UTC)
        except OverflowError:
            raise UnreadableDecision(f"time is {self.time}, out of reach") from None

    @property
    def expires(self) -> datetime:
        """From this moment on it no longer holds."""
        return self.time + timedelta(seconds=self.ttl)

    def to_annotation(self) -> str:
        """The value of DECISION_ANNOTATION."""
        time = self.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        values = (self.id, self.reason, self.algorithm_version, time, self.ttl, self.resource_version)
        return orjson.dumps(dict(zip(_DECISION_KEYS, values, strict=True))).decode()

    @classmethod
    def from_annotation(cls, text: str) -> Self:
        """Read a value of DECISION_ANNOTATION back, strictly. Raises UnreadableDecision."""
        try:
            said: Any = orjson.loads(text)
        except ValueError:
            raise UnreadableDecision("it is no JSON") from None
        if not isinstance(said, dict):
            raise UnreadableDecision(f"it is {type(said).__name__}, no object")
        if lacking := [key for key in _DECISION_KEYS if key not in said]:
            raise UnreadableDecision(f"{', '.join(lacking)} is missing")
        if unknown := sorted(said.keys() - set(_DECISION_KEYS)):
            raise UnreadableDecision(f"{', '.join(unknown)} is unknown")
        try:
            time = datetime.fromisoformat(said["time"])
        except (TypeError, ValueError):
            raise UnreadableDecision(f"time is {said['time']!r}, no RFC 3339") from None
        return cls(
            said["id"],
            said["reason"],
            said["algorithmVersion"],
            time,
            said["ttlSeconds"],
            said["resourceVersion"],
        )
