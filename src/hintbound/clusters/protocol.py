"""What a cluster is to the rest: one Protocol, and the capabilities that tell what this one can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from hintbound.kube.client import Client
from hintbound.kube.exchange import Tap
from hintbound.kube.metrics import Metrics
from hintbound.protocol import Actor, ComponentKind, Seconds
from hintbound.proxy import Book, FaultProxy
from hintbound.subjects import Subject, shown


class Capability(StrEnum):
    """What a provider can offer beyond an apiserver that answers. A test names what it needs."""

    AUDIT = "AUDIT"
    """The audit log of pods at level RequestResponse can be read."""
    FAKE_NODES = "FAKE_NODES"
    """KWOK plays kubelet on nodes that a test creates."""
    ACTORS = "ACTORS"
    """Each actor has a user of its own."""
    OWN_SCHEDULER = "OWN_SCHEDULER"
    """A further kube-scheduler with a `schedulerName`, gates and configuration of its own can be started."""
    RESTART_COMPONENT = "RESTART_COMPONENT"
    """A component can be stopped, killed and started again."""
    PAUSE_COMPONENT = "PAUSE_COMPONENT"
    """A component can be made to stand still (SIGSTOP) and go on (SIGCONT)."""
    ACTOR_PROXY = "ACTOR_PROXY"
    """A fault proxy can stand between an actor, or a scheduler of one's own, and the apiserver."""
    MANY_APISERVERS = "MANY_APISERVERS"
    """Further apiservers, with other gates or of another version, can be started on the same etcd."""
    NO_NODES = "NO_NODES"
    """The cluster has no nodes but those that tests create."""
    REAL_NODES = "REAL_NODES"
    """Nodes with a kubelet, on which containers run and end as they please."""
    FAULTY_SCHEDULER = "FAULTY_SCHEDULER"
    """A kube-scheduler of the cluster's version whose plugin fails where a pod tells it to."""
    WEBHOOKS = "WEBHOOKS"
    """The apiserver can call an admission webhook on this machine."""
    OLDER_MINOR = "OLDER_MINOR"
    """Components of the minor before can be started beside the cluster's own, as in an upgrade."""


@dataclass(frozen=True, slots=True)
class ComponentState:
    """One component as it is now: its version and gates as it says itself, never as we set them."""

    name: str
    kind: ComponentKind
    version: str
    gates: Mapping[str, bool] | None = None
    """From `kubernetes_feature_enabled`; None when the component cannot be asked."""
    source: str = ""
    """How version and gates were read."""

    def completed(self, claims: ComponentState) -> ComponentState:
        """With what is claimed of it in the place of what it does not say; a version that is none of
        Kubernetes' says nothing."""
        version, gates = self.version, self.gates
        claimed = []
        if not version.removeprefix("v").startswith("1."):
            version = claims.version
            claimed.append("version")
        if not gates:
            gates = claims.gates
            claimed.append("gates")
        source = f"{self.source}; {' and '.join(claimed)}: {claims.source}" if claimed else self.source
        if self.gates and claims.gates:
            unlike = [gate for gate, on in claims.gates.items() if self.gates.get(gate, False) is not on]
            source += f"; unlike {claims.source}: {', '.join(unlike)}" if unlike else ""
        return replace(self, version=version, gates=gates, source=source)


def claimed(subject: Subject, name: str = "") -> ComponentState:
    """A subject, or its process of this name, as its file describes it."""
    source = f"as {shown(subject.file)} declares"
    version = subject.kubernetes_version or "unknown"
    return ComponentState(name or subject.name, ComponentKind.SCHEDULER, version, subject.gates, source)


class Component(Protocol):
    """A handle on one running component."""

    @property
    def name(self) -> str:
        """Unique in its cluster, e.g. `kube-scheduler` or `kube-scheduler-own-1`."""

    @property
    def kind(self) -> ComponentKind:
        """Which program it is."""

    async def state(self) -> ComponentState:
        """Its version and gates as it says itself, asked now."""

    async def lifeless(self) -> str:
        """What shows that it does nothing though it runs: it stands still, or does not answer. Empty when it
        is alive, and when it was ended."""

    async def metrics(self, *families: str) -> Metrics:
        """These families of its `/metrics`, read now; all when none is named."""

    async def stop(self) -> None:
        """End it politely."""

    async def kill(self) -> None:
        """SIGKILL."""

    async def restart(self) -> None:
        """Stop it if it runs, start it again as it was, wait until it is ready."""

    def pause(self) -> None:
        """SIGSTOP."""

    def resume(self) -> None:
        """SIGCONT."""


@dataclass(frozen=True, slots=True)
class SchedulerSpec:
    """A kube-scheduler of one's own."""

    scheduler_name: str
    """The `schedulerName` whose pods it serves."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    """Added to the cluster's gates; with another version they are all it has."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Top-level keys of KubeSchedulerConfiguration to replace."""
    version: str | None = None
    """Another Kubernetes version than the cluster's."""
    program: Path | None = None
    """Another program than that version's kube-scheduler; it takes the same flags."""
    emulate: str | None = None
    """The minor whose table of gates it goes by; the cluster's gates are then not added."""
    flags: Sequence[str] = ()
    server: str | None = None
    """The name of the apiserver that it speaks to; None for the first."""
    proxied: bool = False
    """Whether it speaks to it through a fault proxy; see Proxied."""


@dataclass(frozen=True, slots=True)
class ApiserverSpec:
    """A further kube-apiserver on the same etcd."""

    gates: Mapping[str, bool] = field(default_factory=dict)
    """Added to the cluster's gates; with another version they are all it has."""
    version: str | None = None
    emulate: str | None = None
    """As for a scheduler."""
    flags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Extras:
    """What was got for a run beyond a cluster's own programs."""

    faulty_scheduler: Path | None = None
    """For FAULTY_SCHEDULER."""
    older: str = ""
    """For OLDER_MINOR: the exact version."""
    lacking: Mapping[Capability, str] = field(default_factory=dict)
    """What could not be got, and why."""


class Cluster(Protocol):
    """A control plane that tests run against."""

    @property
    def name(self) -> str:
        """Its name in this run: `shared` or `exclusive`."""

    @property
    def provider(self) -> str:
        """`embedded`, `existing`, or the name of a package's own."""

    @property
    def spec(self) -> str:
        """The SPEC that made it, in full."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it offers."""

    @property
    def extras(self) -> Extras:
        """What was got for its run."""

    @property
    def deviations(self) -> Sequence[str]:
        """Where it differs from an ordinary cluster, one sentence each, for the report."""

    @property
    def scheduler_name(self) -> str:
        """The `schedulerName` of the scheduler that it came with."""

    @property
    def node_taints(self) -> Sequence[Mapping[str, str]]:
        """What fake nodes must carry here, so that nobody else's pods land on them."""

    async def start(self) -> None:
        """Make it ready. Raises CannotStart; nothing is left running then."""

    async def usable(self, namespace: str) -> None:
        """Wait until pods can be created in a new namespace. Raises TimeoutError, KubeError."""

    async def close(self) -> None:
        """Remove everything that this object created, and only that. May be called twice."""

    def client(self, actor: Actor, tap: Tap | None = None, server: str | None = None) -> Client:
        """A client that speaks as this actor, to the first apiserver or the one named."""

    def audit_logs(self) -> Sequence[Path]:
        """The audit log files, one per apiserver; none without the capability."""

    async def components(self) -> Sequence[ComponentState]:
        """Every component, asked now."""

    def component(self, name: str) -> Component:
        """A handle on a component by name. Raises KeyError."""

    async def add_scheduler(self, spec: SchedulerSpec) -> Component:
        """Start a scheduler of one's own and wait until it is ready."""

    async def add_apiserver(self, spec: ApiserverSpec) -> Component:
        """Start a further apiserver and wait until it is ready; `client(server=name)` speaks to it."""

    async def remove(self, component: Component) -> None:
        """End a component that was added, and forget it."""


@runtime_checkable
class Stays(Protocol):
    """A cluster that can outlive the process that started it; see `hintbound cluster`."""

    async def leave(self) -> str:
        """Let it go on as nobody's; the name that it is registered under. Whoever breaks this off calls
        `close`."""

    def kubeconfig(self, user: str = Actor.ADMIN) -> Path:
        """The path of the kubeconfig of an actor or a component's user."""


@runtime_checkable
class Proxied(Protocol):
    """A cluster whose actors may stand behind fault proxies (ACTOR_PROXY)."""

    def book(self) -> Book:
        """The rules of all its proxies; what is added there counts at once."""

    def direct(self, actor: Actor, tap: Tap | None = None) -> Client:
        """A new client of this actor that speaks to the first apiserver past every proxy."""

    async def proxy(self, actor: Actor) -> FaultProxy:
        """The proxy between an actor and the first apiserver. Raises CannotStart."""

    def bites(self) -> list[str]:
        """What each rule did so far, a line each, and what went wrong in the proxies themselves."""


@runtime_checkable
class Exports(Protocol):
    """A cluster with logs where nobody would look once it is gone."""

    async def export_logs(self, into: Path) -> None:
        """Copy them into a folder, which is made. Raises OSError."""


READY_WITHIN: Seconds = 60.0
"""How long a component may take: shared machines can be very slow. Measured: 4 s for all."""
