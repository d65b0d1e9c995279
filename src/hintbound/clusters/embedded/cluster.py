"""A control plane of real binaries as local processes: no root, no Docker, loopback only."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hintbound import assets
from hintbound.clusters import fake_nodes, fixtures, proxies, registry
from hintbound.clusters.audition import Audition
from hintbound.clusters.embedded import components, extras, foreign
from hintbound.clusters.embedded.assembly import Assembly
from hintbound.clusters.embedded.component import EmbeddedComponent, answers
from hintbound.clusters.embedded.failures import why_not
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.embedded.ports import LOOPBACK
from hintbound.clusters.embedded.process import ComponentDied
from hintbound.clusters.protocol import (
    READY_WITHIN,
    ApiserverSpec,
    Capability,
    Component,
    ComponentState,
    Extras,
    SchedulerSpec,
)
from hintbound.clusters.spec import ClusterSpec
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.errors import KubeError
from hintbound.kube.exchange import Tap
from hintbound.protocol import Actor, ComponentKind
from hintbound.proxy import Book, FaultProxy
from hintbound.subjects import Subject


class EmbeddedCluster:
    """etcd, kube-apiserver, kube-scheduler, kube-controller-manager and KWOK; see the Cluster protocol."""

    provider = "embedded"
    node_taints: Sequence[Mapping[str, str]] = ()

    def __init__(self, spec: ClusterSpec, options: Options | None = None) -> None:
        self._spec = spec
        self._options = options or Options()
        self._assembly: Assembly | None = None
        self._clients: dict[tuple[str, Actor], Client] = {}
        self._guard: Guard | None = None
        self._folder: Path | None = None
        self._version = ""
        self._binaries: Mapping[ComponentKind, Path] = {}
        self.extras = Extras()
        self._counter = itertools.count(1)
        self._node_canary = fake_nodes.Canary()
        self._subject = self._options.subject
        self._audition = Audition(self.scheduler_name)
        self._owner: ProcessId | None = ProcessId.of(os.getpid())

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
        assert self._folder is not None, "the cluster is not started"
        return self._folder

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All but kubelets; what costs programs of its own only if that was wanted and could be got."""
        missing = (
            extras.ON_DEMAND - self._options.needs | self.extras.lacking.keys() | {Capability.REAL_NODES}
        )
        return frozenset(Capability) - missing

    @property
    def scheduler_name(self) -> str:
        """The subject's, else that of every pod which names none."""
        return self._subject.scheduler_name if self._subject else "default-scheduler"

    @property
    def deviations(self) -> Sequence[str]:
        """Where it differs from an ordinary cluster."""
        off = " and ".join(components.DISABLED_ADMISSION)
        emulated = self._spec.emulate
        return (
            *([f"every component emulates Kubernetes {emulated}"] if emulated else []),
            "nodes are played by KWOK: no kubelet, no containers",
            f"admission plugins {off} are off, so that nodes are usable at once",
            "etcd runs without fsync",
            "schedulers run without leader election",
            *proxies.deviations(self._options.rules),
            *([f"{self._subject.name} runs in the place of kube-scheduler"] if self._subject else []),
        )

    @property
    def server(self) -> str:
        """The URL of the first apiserver."""
        return self._server(ComponentKind.APISERVER)

    def resolve(self) -> None:
        """Get the binaries: may download or build for minutes, so call it before an event loop runs.

        Raises CannotStart.
        """
        if self._subject:
            foreign.startable(self._subject, self._spec)
        if self._spec.src:
            self._version, plane = assets.from_source(self._spec.src)
        else:
            self._version = assets.resolve_version(self._spec.target or assets.DEFAULT_VERSION)
            self._spec = replace(self._spec, target=self._version)
            plane = assets.control_plane(self._version)
        self._binaries = {**plane, ComponentKind.ETCD: assets.etcd(), ComponentKind.KWOK: assets.kwok()}
        self.extras = extras.gather(self._version, self._options.needs, self._subject)

    async def start(self) -> None:
        """Start everything, wait until a node is Ready. Raises CannotStart; nothing is left then."""
        if not self._binaries:
            await asyncio.to_thread(self.resolve)
        registry.prune()
        self._folder = registry.create(self._options.folder_name, spec=self.spec)
        try:
            self._prepare()
            await self._start_all()
        except (ComponentDied, KubeError, OSError) as error:
            cause = why_not(self._first_death() or error, self.folder, self._subject)
            await self.close()
            raise cause from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End every process and remove the folder. May be called twice."""
        folder, self._folder = self._folder, None
        if folder is None:
            return
        assembly, self._assembly = self._assembly, None
        parts = list(assembly.components.values()) if assembly else []
        try:
            # SIGKILL: nothing of it is kept, and the audit log is written before each answer.
            await asyncio.gather(*(part.close() for part in parts))
            if assembly:
                await assembly.proxies.close()
        finally:
            # Without an await up to the end of the folder: a second Ctrl-C cancels only the wait above.
            if self._guard:
                self._guard.release()
            for part in parts:
                part.process.reap()
            if assembly:
                assembly.let_go()
            shutil.rmtree(folder, ignore_errors=True)
            await self._hang_up()

    async def leave(self) -> str:
        """Let it outlive this process: it is nobody's from then on; its name. Whoever breaks this off calls
        `close`."""
        self._owner = None
        self._register()
        assert self._guard is not None
        self._guard.disarm()
        for part in self._built.components.values():
            await part.let_go()
        await self._hang_up()
        name, self._folder = self.folder.name, None
        return name

    def client(self, actor: Actor, tap: Tap | None = None, server: str | None = None) -> Client:
        """A client of this actor. Without a tap it is shared; with one it is new and the caller closes it."""
        where = server or ComponentKind.APISERVER
        if tap is not None:
            return self._built.connect(self._server(where), actor, tap)
        key = (where, actor)
        if key not in self._clients:
            self._clients[key] = self._built.connect(self._server(where), actor)
        return self._clients[key]

    def kubeconfig(self, user: str = Actor.ADMIN) -> Path:
        """The path of the kubeconfig of an actor or a component's user."""
        return self._built.credentials.kubeconfig(user)

    def book(self) -> Book:
        """See Proxied."""
        return self._built.proxies.book

    def direct(self, actor: Actor, tap: Tap | None = None) -> Client:
        """See Proxied."""
        return self._built.connect(self.server, actor, tap, direct=True)

    async def proxy(self, actor: Actor) -> FaultProxy:
        """See Proxied."""
        return await self._built.proxies.listening(actor, self.server)

    def bites(self) -> list[str]:
        """See Proxied."""
        return self._built.proxies.bites()

    def audit_logs(self) -> Sequence[Path]:
        """One file per apiserver, oldest apiserver first."""
        parts = self._built.components.values()
        return [self._built.audit_log(part.name) for part in parts if part.kind == ComponentKind.APISERVER]

    async def usable(self, namespace: str) -> None:
        """A namespace is usable at once: the ServiceAccount admission plugin is off."""

    def component(self, name: str) -> EmbeddedComponent:
        """A handle by name. Raises KeyError."""
        return self._built.components[name]

    async def components(self) -> Sequence[ComponentState]:
        """Ask each component for its version and gates."""
        return await asyncio.gather(*(part.state() for part in self._built.components.values()))

    async def add_scheduler(self, spec: SchedulerSpec) -> Component:
        """Start a scheduler of one's own. Raises ComponentDied, CannotStart."""
        if self._subject and spec.version is None and spec.program is None:
            part = await self._another(self._subject, spec)
            await self._built.start(part)
            return part
        binary, version = await self._binary(ComponentKind.SCHEDULER, spec.version)
        server = self._server(spec.server or ComponentKind.APISERVER)
        through = await self._built.proxies.open(ComponentKind.SCHEDULER, server)
        if spec.proxied:
            through = await self._built.proxies.listening(ComponentKind.SCHEDULER, server)
        flags = [*spec.flags, *([f"--master={server}"] if spec.server and not through else [])]
        tuning = self._built.tuning(ComponentKind.SCHEDULER, spec.version, spec.gates, spec.emulate, flags)
        part = self._built.scheduler(
            f"{ComponentKind.SCHEDULER}-{next(self._counter)}",
            spec.scheduler_name,
            spec.program or binary,
            version,
            spec.config,
            tuning,
            through=through,
        )
        await self._built.start(part)
        return part

    async def _another(self, subject: Subject, spec: SchedulerSpec) -> EmbeddedComponent:
        """The subject once more, for other pods."""
        foreign.can_be(subject, spec)
        server = self._server(spec.server or ComponentKind.APISERVER)
        return self._built.subject(
            subject,
            f"{subject.name}-{next(self._counter)}",
            spec.scheduler_name,
            spec.config,
            self._built.tuning(ComponentKind.SCHEDULER, None, spec.gates, spec.emulate),
            server=server,
            through=await self._built.proxies.open(ComponentKind.SCHEDULER, server),
        )

    async def add_apiserver(self, spec: ApiserverSpec) -> Component:
        """Start a further apiserver on the same etcd. Raises ComponentDied, CannotStart."""
        binary, version = await self._binary(ComponentKind.APISERVER, spec.version)
        tuning = self._built.tuning(
            ComponentKind.APISERVER, spec.version, spec.gates, spec.emulate, spec.flags
        )
        name = f"{ComponentKind.APISERVER}-{next(self._counter)}"
        part = self._built.apiserver(name, binary, version, self._built.hold(), tuning)
        await self._built.start(part)
        await self._built.proxies.open_actors(self._server(name))
        return part

    async def remove(self, component: Component) -> None:
        """End a component that was added, and forget it."""
        part = self._built.components.pop(component.name)
        for key in [key for key in self._clients if key[0] == component.name]:
            await self._clients.pop(key).aclose()
        await part.close()
        self._register()

    async def _binary(self, kind: ComponentKind, version: str | None) -> tuple[Path, str]:
        if version is None:
            return self._binaries[kind], self._version
        exact = assets.resolve_version(version)
        return (await asyncio.to_thread(assets.control_plane, exact))[kind], exact

    def _prepare(self) -> None:
        """Keys, kubeconfigs and configuration files: all that needs no running process."""
        self._guard = Guard()
        self._assembly = Assembly(
            self._spec,
            self._options,
            folder=self.folder,
            group=self._guard.group,
            version=self._version,
            binaries=self._binaries,
            changed=self._register,
        )
        server = f"https://{LOOPBACK}:{self._assembly.apiserver_port.number}"
        self._assembly.credentials.write_kubeconfigs(server)
        fake_nodes.write_stages(self.folder / "stages.yaml")
        self._register(server)

    @property
    def _built(self) -> Assembly:
        assert self._assembly is not None, "the cluster is not started"
        return self._assembly

    async def _start_all(self) -> None:
        etcd = self._built.etcd()
        await etcd.process.start()
        apiserver = self._built.apiserver(
            ComponentKind.APISERVER,
            self._binaries[ComponentKind.APISERVER],
            self._version,
            self._built.apiserver_port,
            self._built.tuning(ComponentKind.APISERVER),
        )
        await etcd.process.until_ready(READY_WITHIN)
        await apiserver.process.start()
        # It serves a second and a half before it is ready: two of its bootstrap hooks sleep first. KWOK needs
        # neither.
        await apiserver.process.until(
            READY_WITHIN, answers(self.client(Actor.ADMIN), "/livez/ping"), "did not answer"
        )
        await self._apply_fixtures()
        kwok = self._built.kwok(self._canary)
        await kwok.process.start()
        await _together(kwok.process.until_ready(READY_WITHIN), self._start_rest(apiserver))
        await self._built.proxies.open_actors(self.server)
        await self._hang_up()  # what was opened before goes past the proxies
        self._register()

    async def _start_rest(self, apiserver: EmbeddedComponent) -> None:
        """Those who need the bootstrap RBAC: without it they would begin with a refusal and back off."""
        await apiserver.process.until_ready(READY_WITHIN)
        ways = [
            await self._built.proxies.open(kind, self.server)
            for kind in (ComponentKind.SCHEDULER, ComponentKind.CONTROLLER_MANAGER)
        ]
        rest = [self._scheduler(ways[0]), self._built.controller_manager(ways[1])]
        for part in rest:
            await part.process.start()
        self._register()
        await _together(*(part.process.until_ready(READY_WITHIN) for part in rest))

    def _scheduler(self, through: FaultProxy | None) -> EmbeddedComponent:
        """The one that the cluster comes with."""
        tuning = self._built.tuning(ComponentKind.SCHEDULER)
        if self._subject:
            return self._built.subject(
                self._subject,
                self._subject.name,
                self.scheduler_name,
                {},
                tuning,
                server=self.server,
                ready=[lambda: self._audition.passed(self.client(Actor.ADMIN))],
                through=through,
            )
        binary = self._binaries[ComponentKind.SCHEDULER]
        return self._built.scheduler(
            ComponentKind.SCHEDULER, self.scheduler_name, binary, self._version, {}, tuning, through=through
        )

    async def _apply_fixtures(self) -> None:
        admin = self.client(Actor.ADMIN)
        manifests = fixtures.manifests(fixtures.RBAC, fixtures.PRIORITY_CLASSES)
        await _together(*(admin.create(resources.of(manifest), manifest) for manifest in manifests))

    async def _canary(self) -> bool:
        return await self._node_canary.sings(self.client(Actor.ADMIN))

    async def _hang_up(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()

    def _server(self, name: str) -> str:
        return f"https://{LOOPBACK}:{self._built.components[name].port}"

    def _first_death(self) -> ComponentDied | None:
        """The first component, in the order of their starts, that has ended: why others fail as well."""
        parts = self._assembly.components.values() if self._assembly else ()
        return next((part.process.died() for part in parts if part.process.ended), None)

    def _register(self, server: str | None = None) -> None:
        processes = self._built.processes()
        entry = registry.Entry(self.folder.name, self.spec, server or self.server, self._owner, processes)
        registry.write(self.folder, entry)


async def _together(*work: Coroutine[Any, Any, object]) -> None:
    """Do all at once; when one fails, cancel the others and raise its error as it is, not as a group."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
