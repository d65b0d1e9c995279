"""A control plane of real binaries as local processes: no root, no Docker, loopback only."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from hintbound import assets, data
from hintbound.clusters import fake_nodes
from hintbound.clusters.embedded import components, registry
from hintbound.clusters.embedded.components import Tuning
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.pki import Authority, KeyPair
from hintbound.clusters.embedded.ports import LOOPBACK, HeldPort
from hintbound.clusters.embedded.process import ComponentDied, Listener, Process
from hintbound.clusters.protocol import (
    READY_WITHIN,
    ApiserverSpec,
    Capability,
    Component,
    ComponentState,
    SchedulerSpec,
)
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.connection import Connection
from hintbound.kube.errors import ApiError, KubeError, TransportError
from hintbound.kube.exchange import Tap
from hintbound.kube.metrics import Metrics, component_version, feature_gates
from hintbound.protocol import Actor, ComponentKind, Seconds

CAPABILITIES = frozenset(Capability)
_USER_AGENT = "hintbound"
_FIXTURES = ("rbac.yaml", "priority-classes.yaml")
_KINDS = (ComponentKind.APISERVER, ComponentKind.CONTROLLER_MANAGER, ComponentKind.SCHEDULER)


@dataclass(frozen=True, slots=True)
class Options:
    """What does not belong into a SPEC."""

    name: str = "shared"
    """The cluster's name in a run's record."""
    stay: bool = False
    """Brought up to outlive this process (`hintbound cluster up`)."""
    folder_name: str | None = None
    """The name it is registered under; None for a random one."""
    logs: Path | None = None
    """Where components log; None for the cluster's own folder."""
    apiserver_port: int = 0
    audit_policy: Path | None = None
    listener: Listener = lambda _event, _process, _facts: None
    flags: Mapping[ComponentKind, Sequence[str]] = field(default_factory=dict)


class EmbeddedComponent:
    """A handle on one of the processes."""

    def __init__(
        self, process: Process, ports: Sequence[HeldPort], client: Client | None, changed: Callable[[], None]
    ) -> None:
        self.process = process
        self._ports = ports
        self._client = client
        self._changed = changed

    @property
    def name(self) -> str:
        """Its name in the cluster."""
        return self.process.name

    @property
    def kind(self) -> ComponentKind:
        """Which program it is."""
        return self.process.kind

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self.process.pid

    @property
    def port(self) -> int:
        """The port it serves clients on."""
        assert self._ports, f"{self.name} serves no port"
        return self._ports[0].number

    async def metrics(self, *families: str) -> Metrics:
        """These families of its `/metrics`, read now; all when none is named."""
        return Metrics.parse(await self.metrics_text(), *families)

    async def metrics_text(self) -> str:
        """Its `/metrics` page."""
        assert self._client is not None, f"{self.name} has no metrics"
        return await self._client.get_text("/metrics")

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL after a grace."""
        await self.process.stop()
        self._changed()

    async def kill(self) -> None:
        """SIGKILL."""
        await self.process.kill()
        self._changed()

    async def restart(self) -> None:
        """Start it again as it was, on the same port; wait until it is ready."""
        await self.process.restart(READY_WITHIN)
        self._changed()

    def pause(self) -> None:
        """SIGSTOP."""
        self.process.pause()

    def resume(self) -> None:
        """SIGCONT."""
        self.process.resume()

    async def close(self) -> None:
        """End it for good and let its port go."""
        await self.process.kill()
        await self.let_go()

    async def let_go(self) -> None:
        """Close our connection and the ports that we hold; the process goes on."""
        self.process.let_go()
        if self._client:
            await self._client.aclose()
        for port in self._ports:
            port.release()


class EmbeddedCluster:
    """etcd, kube-apiserver, kube-scheduler, kube-controller-manager and KWOK; see the Cluster protocol."""

    provider = "embedded"
    capabilities = CAPABILITIES
    scheduler_name = "default-scheduler"

    def __init__(self, spec: ClusterSpec, options: Options | None = None) -> None:
        self._spec = spec
        self._options = options or Options()
        self._components: dict[str, EmbeddedComponent] = {}
        self._clients: dict[tuple[str, Actor], Client] = {}
        self._users: dict[str, KeyPair] = {}
        self._guard: Guard | None = None
        self._folder: Path | None = None
        self._version = ""
        self._binaries: Mapping[ComponentKind, Path] = {}
        self._counter = itertools.count(1)
        self._owner = None if self._options.stay else registry.ProcessId.of(os.getpid())

    @property
    def name(self) -> str:
        """`shared` or `exclusive` in a run."""
        return self._options.name

    @property
    def spec(self) -> str:
        """The SPEC in full, with the version that was chosen."""
        return str(self._spec)

    @property
    def folder(self) -> Path:
        """Keys, configurations, etcd's data."""
        assert self._folder is not None, "the cluster has not been started"
        return self._folder

    @property
    def deviations(self) -> Sequence[str]:
        """Where it differs from an ordinary cluster."""
        return (
            "nodes are played by KWOK: no kubelet, no containers",
            f"admission plugins {' and '.join(components.DISABLED_ADMISSION)} are off, so that nodes are usable at once",
            "etcd runs without fsync",
            "schedulers run without leader election",
        )

    @property
    def server(self) -> str:
        """The URL of the first apiserver."""
        return self._server(ComponentKind.APISERVER)

    async def start(self) -> None:
        """Resolve the binaries, start everything, wait until a node is Ready. Raises CannotStart."""
        self._version, self._binaries = await asyncio.to_thread(self._resolve)
        registry.prune()
        self._folder = registry.create(self._options.folder_name)
        self._guard = None if self._options.stay else Guard()
        try:
            self._prepare()
            await self._start_all()
        except ComponentDied as error:
            await self.close()
            raise _why_not(error) from error
        except KubeError as error:
            await self.close()
            raise CannotStart(f"the control plane did not start: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End every process and remove the folder. May be called twice."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()
        if self._folder is None:
            return
        # SIGKILL: nothing of it is kept, the audit log is written before each answer, and a polite end takes 3 s.
        await asyncio.gather(*(part.close() for part in self._components.values()))
        self._components.clear()
        if self._guard:
            self._guard.release()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    async def leave(self) -> None:
        """Let go of a cluster that stays: close our connections, keep its processes and its folder."""
        for part in self._components.values():
            await part.let_go()
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()
        self._folder = None

    def client(self, actor: Actor, tap: Tap | None = None, server: str | None = None) -> Client:
        """A client of this actor. Without a tap it is shared; with one it is new and the caller closes it."""
        where = server or ComponentKind.APISERVER
        if tap is not None:
            return self._connect(self._server(where), actor, self._users[actor], tap)
        key = (where, actor)
        if key not in self._clients:
            self._clients[key] = self._connect(self._server(where), actor, self._users[actor], None)
        return self._clients[key]

    def kubeconfig(self, user: str = Actor.ADMIN) -> Path:
        """The path of the kubeconfig of an actor or a component's user."""
        return self.folder / "kubeconfigs" / f"{user.replace(':', '-')}.yaml"

    def audit_logs(self) -> Sequence[Path]:
        """One file per apiserver, oldest apiserver first."""
        return [self._audit_log(part.name) for part in self._components.values() if part.kind == ComponentKind.APISERVER]

    def component(self, name: str) -> EmbeddedComponent:
        """A handle by name. Raises KeyError."""
        return self._components[name]

    async def components(self) -> Sequence[ComponentState]:
        """Ask each component for its version and gates."""
        return await asyncio.gather(*(self._state(part) for part in self._components.values()))

    async def add_scheduler(self, spec: SchedulerSpec) -> Component:
        """Start a scheduler of one's own."""
        binary, version = await self._binary(ComponentKind.SCHEDULER, spec.version)
        gates = {**self._spec.gates_of(ComponentKind.SCHEDULER), **spec.gates}
        part = self._scheduler(
            f"{ComponentKind.SCHEDULER}-{next(self._counter)}",
            spec.scheduler_name,
            binary,
            version,
            spec.config,
            Tuning(gates, self._spec.emulate, spec.flags),
        )
        await self._start(part)
        return part

    async def add_apiserver(self, spec: ApiserverSpec) -> Component:
        """Start a further apiserver on the same etcd."""
        binary, version = await self._binary(ComponentKind.APISERVER, spec.version)
        gates = {**self._spec.gates_of(ComponentKind.APISERVER), **spec.gates}
        part = self._apiserver(
            f"{ComponentKind.APISERVER}-{next(self._counter)}",
            binary,
            version,
            HeldPort(),
            Tuning(gates, spec.emulate or self._spec.emulate, spec.flags),
        )
        await self._start(part)
        return part

    async def remove(self, component: Component) -> None:
        """End a component that was added, and forget it."""
        part = self._components.pop(component.name)
        for key in [key for key in self._clients if key[0] == component.name]:
            await self._clients.pop(key).aclose()
        await part.close()
        self._register()

    def _resolve(self) -> tuple[str, Mapping[ComponentKind, Path]]:
        if self._spec.src:
            version, binaries = assets.from_source(self._spec.src)
        else:
            version = assets.resolve_version(self._spec.target or assets.DEFAULT_VERSION)
            self._spec = replace(self._spec, target=version)
            binaries = assets.control_plane(version)
        return version, {**binaries, ComponentKind.ETCD: assets.etcd(), ComponentKind.KWOK: assets.kwok()}

    async def _binary(self, kind: ComponentKind, version: str | None) -> tuple[Path, str]:
        if version is None:
            return self._binaries[kind], self._version
        exact = assets.resolve_version(version)
        return (await asyncio.to_thread(assets.control_plane, exact))[kind], exact

    def _prepare(self) -> None:
        """Keys, kubeconfigs and configuration files: all that needs no running process."""
        self._apiserver_port = HeldPort(self._options.apiserver_port)
        self._authority = Authority(self.folder / "pki")
        self._serving = self._authority.server("hintbound-server")
        self._etcd_client = self._authority.client("hintbound-etcd-client")
        self._tokens = self._authority.signing_key("service-account")
        self._users = {actor: self._authority.client(actor) for actor in Actor if actor != Actor.ADMIN}
        self._users[Actor.ADMIN] = self._authority.client(Actor.ADMIN, "system:masters")
        for user in components.USERS.values():
            self._users[user] = self._authority.client(user)
        server = f"https://{LOOPBACK}:{self._apiserver_port.number}"
        (self.folder / "kubeconfigs").mkdir()
        for user, pair in self._users.items():
            self.kubeconfig(user).write_text(components.kubeconfig(server, self._authority.cert, user, pair))
        fake_nodes.write_stages(self.folder / "stages.yaml")
        self._register(server)

    async def _start_all(self) -> None:
        etcd = self._etcd()
        await etcd.process.start()
        apiserver = self._apiserver(
            ComponentKind.APISERVER,
            self._binaries[ComponentKind.APISERVER],
            self._version,
            self._apiserver_port,
            self._tuning(ComponentKind.APISERVER),
        )
        await etcd.process.until_ready(READY_WITHIN)
        await apiserver.process.start()
        await apiserver.process.until_ready(READY_WITHIN)
        rest = [
            self._scheduler(
                ComponentKind.SCHEDULER,
                self.scheduler_name,
                self._binaries[ComponentKind.SCHEDULER],
                self._version,
                {},
                self._tuning(ComponentKind.SCHEDULER),
            ),
            self._controller_manager(),
            self._kwok(),
        ]
        for part in rest:
            await part.process.start()
        self._register()
        await _together(self._apply_fixtures(), *(part.process.until_ready(READY_WITHIN) for part in rest))

    async def _start(self, part: EmbeddedComponent) -> None:
        try:
            await part.process.start()
            await part.process.until_ready(READY_WITHIN)
        except ComponentDied:
            self._components.pop(part.name, None)
            await part.close()
            raise
        self._register()

    async def _apply_fixtures(self) -> None:
        admin = self.client(Actor.ADMIN)
        manifests = [
            manifest
            for file in _FIXTURES
            for manifest in yaml.safe_load_all((data.folder("fixtures") / file).read_text())
        ]
        await _together(*(admin.create(_RESOURCES[manifest["kind"]], manifest) for manifest in manifests))

    def _etcd(self) -> EmbeddedComponent:
        client_port, peer_port = HeldPort(), HeldPort()
        self._etcd_port = client_port
        command = components.etcd(
            self._binaries[ComponentKind.ETCD],
            data=self.folder / "etcd",
            client=client_port.number,
            peer=peer_port.number,
            server=self._serving,
            ca=self._authority.cert,
        )
        ready = _listens(client_port.number)
        return self._add(ComponentKind.ETCD, ComponentKind.ETCD, "", command, [client_port, peer_port], ready)

    def _apiserver(
        self, name: str, binary: Path, version: str, port: HeldPort, tuning: Tuning
    ) -> EmbeddedComponent:
        command = components.apiserver(
            binary,
            port=port.number,
            etcd=self._etcd_port.number,
            server=self._serving,
            etcd_client=self._etcd_client,
            ca=self._authority.cert,
            tokens=self._tokens,
            audit_policy=self._options.audit_policy or data.folder("fixtures") / "audit-policy.yaml",
            audit_log=self._audit_log(name),
            tuning=tuning,
        )
        return self._add(name, ComponentKind.APISERVER, version, command, [port], None)

    def _scheduler(
        self,
        name: str,
        scheduler_name: str,
        binary: Path,
        version: str,
        config: Mapping[str, Any],
        tuning: Tuning,
    ) -> EmbeddedComponent:
        kubeconfig = self.kubeconfig(components.USERS[ComponentKind.SCHEDULER])
        file = self.folder / f"{name}.yaml"
        file.write_text(components.scheduler_config(kubeconfig, scheduler_name, config))
        port = HeldPort()
        command = components.scheduler(
            binary,
            port=port.number,
            config=file,
            server=self._serving,
            ca=self._authority.cert,
            kubeconfig=kubeconfig,
            tuning=tuning,
        )
        return self._add(name, ComponentKind.SCHEDULER, version, command, [port], None)

    def _controller_manager(self) -> EmbeddedComponent:
        port = HeldPort()
        command = components.controller_manager(
            self._binaries[ComponentKind.CONTROLLER_MANAGER],
            port=port.number,
            server=self._serving,
            ca=self._authority.cert,
            kubeconfig=self.kubeconfig(components.USERS[ComponentKind.CONTROLLER_MANAGER]),
            tokens=self._tokens,
            tuning=self._tuning(ComponentKind.CONTROLLER_MANAGER),
        )
        kind = ComponentKind.CONTROLLER_MANAGER
        return self._add(kind, kind, self._version, command, [port], None)

    def _kwok(self) -> EmbeddedComponent:
        command = components.kwok(
            self._binaries[ComponentKind.KWOK],
            kubeconfig=self.kubeconfig(components.USERS[ComponentKind.KWOK]),
            stages=self.folder / "stages.yaml",
        )
        return self._add(ComponentKind.KWOK, ComponentKind.KWOK, "", command, [], self._canary)

    def _add(
        self,
        name: str,
        kind: ComponentKind,
        version: str,
        command: Sequence[str],
        ports: Sequence[HeldPort],
        ready: Callable[[], Awaitable[bool]] | None,
    ) -> EmbeddedComponent:
        client = None
        if kind in _KINDS:
            url = f"https://{LOOPBACK}:{ports[0].number}"
            client = self._connect(url, Actor.ADMIN, self._users[Actor.ADMIN], None)
            ready = ready or _healthy(client, "/healthz" if kind == ComponentKind.CONTROLLER_MANAGER else "/readyz")
        assert ready is not None
        process = Process(
            name=name,
            kind=kind,
            version=version,
            command=[*command, *self._options.flags.get(kind, ())],
            log=(self._options.logs or self.folder / "logs") / f"{name}.log",
            ready=ready,
            group=self._guard.group if self._guard else None,
            listener=self._options.listener,
        )
        part = EmbeddedComponent(process, ports, client, self._register)
        self._components[name] = part
        return part

    def _tuning(self, kind: ComponentKind) -> Tuning:
        return Tuning(self._spec.gates_of(kind), self._spec.emulate)

    async def _canary(self) -> bool:
        return await fake_nodes.canary_is_ready(self.client(Actor.ADMIN))

    async def _state(self, part: EmbeddedComponent) -> ComponentState:
        if part.kind not in _KINDS:
            return ComponentState(part.name, part.kind, assets.pinned_version(part.kind), None, "the pin it was built from")
        text = await part.metrics_text()
        return ComponentState(
            part.name, part.kind, component_version(text) or "unknown", feature_gates(text), "/metrics"
        )

    def _connect(self, url: str, actor: Actor, pair: KeyPair, tap: Tap | None) -> Client:
        connection = Connection.from_pem(url, ca=self._authority.cert, cert=pair.cert, key=pair.key)
        return Client(connection, actor=actor, user_agent=_USER_AGENT, tap=tap)

    def _server(self, name: str) -> str:
        return f"https://{LOOPBACK}:{self._components[name].port}"

    def _audit_log(self, name: str) -> Path:
        return self.folder / f"audit-{name}.log"

    def _register(self, server: str | None = None) -> None:
        entry = registry.Entry(self.folder.name, self.spec, server or self.server, self._owner)
        for name, part in self._components.items():
            if part.pid is not None:
                with contextlib.suppress(Exception):
                    entry.processes[name] = registry.ProcessId.of(part.pid)
        registry.write(self.folder, entry)


_RESOURCES = {
    "ClusterRole": resources.CLUSTER_ROLES,
    "ClusterRoleBinding": resources.CLUSTER_ROLE_BINDINGS,
    "PriorityClass": resources.PRIORITY_CLASSES,
}
_REJECTED_GATE = re.compile(r"[^\"\n]*feature gate[^\"\n]*")


def _why_not(death: ComponentDied) -> CannotStart:
    """One clear line for what a component says when it ends at once."""
    for line in death.lines:
        if found := _REJECTED_GATE.search(line):
            return CannotStart(
                f"{death.name} {death.version} rejects a gate: {found.group().strip()}.",
                next_step="Gates come and go with versions; see `hintbound list versions`.",
            )
    return CannotStart(f"the control plane did not start: {death}")


async def _together(*work: Coroutine[Any, Any, object]) -> None:
    """Do all at once; when one fails, cancel the others and raise its error as it is, not as a group."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except* (ComponentDied, KubeError) as errors:
        first = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]  # type: ignore[assignment]
        failure: BaseException = first
    else:
        return
    raise failure


def _healthy(client: Client, path: str) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        with contextlib.suppress(ApiError, TransportError):
            await client.get_text(path, timeout=_PROBE)
            return True
        return False

    return ask


def _listens(port: int) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        try:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            return False
        writer.close()
        return True

    return ask


_PROBE: Seconds = 2.0
