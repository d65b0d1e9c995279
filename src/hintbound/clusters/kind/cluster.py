"""A kind cluster: a real control plane of static pods and real kubelets, in containers of this machine.

Beside it, as local processes, run what the suite adds: KWOK for fake nodes, and schedulers of a scenario's
own (the very program that the node runs). Their certificates are signed by the cluster's own authority.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from hintbound import assets
from hintbound.clusters import access, fake_nodes, fixtures, proxies, registry
from hintbound.clusters.embedded import extras
from hintbound.clusters.embedded.assembly import Assembly
from hintbound.clusters.embedded.credentials import Credentials
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.embedded.pki import Authority
from hintbound.clusters.embedded.process import ComponentDied
from hintbound.clusters.fake_nodes import FAKE_TAINT
from hintbound.clusters.kind import docker
from hintbound.clusters.kind.docker import DockerError, docker_soon
from hintbound.clusters.kind.node import NodeComponent
from hintbound.clusters.kind.nodes import Attached, Created, Nodes
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
from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.errors import AlreadyExists, KubeError
from hintbound.kube.exchange import Tap
from hintbound.kube.resources import Resource
from hintbound.protocol import Actor, ComponentKind, Seconds
from hintbound.proxy import Book, FaultProxy

_PKI: Final = "/etc/kubernetes/pki"
_STATIC_PODS: Final = (
    ComponentKind.APISERVER,
    ComponentKind.SCHEDULER,
    ComponentKind.CONTROLLER_MANAGER,
    ComponentKind.ETCD,
)
_UNDO_WITHIN: Final[Seconds] = 5.0


class KindCluster:
    """See the Cluster protocol. Made by `start`, removed by `close`; or attached to, and left as it was."""

    provider = "kind"
    scheduler_name = "default-scheduler"
    node_taints: Sequence[Mapping[str, str]] = (FAKE_TAINT,)

    def __init__(self, spec: ClusterSpec, options: Options | None = None) -> None:
        self._spec = spec
        self._options = options or Options()
        self._nodes: Nodes = (
            Attached(spec.cluster) if spec.cluster else Created(Path(spec.target), spec.image)
        )
        self.extras = Extras()
        self._kwok: Path | None = None
        self._folder: Path | None = None
        self._guard: Guard | None = None
        self._assembly: Assembly | None = None
        self._server = ""
        self._owner: ProcessId | None = ProcessId.of(os.getpid())
        self._clients: dict[Actor, Client] = {}
        self._parts: dict[str, NodeComponent] = {}
        self._replaced: dict[str, NodeComponent] = {}
        """Static pods that are held down, because a process here does their work through a proxy."""
        self._made: list[tuple[Resource, str]] = []
        """What stands in an attached cluster because of us."""
        self._counter = itertools.count(1)
        self._copying = asyncio.Lock()
        self._canary = fake_nodes.Canary(taints=[FAKE_TAINT])

    @property
    def name(self) -> str:
        """`shared` or `exclusive` in a run."""
        return self._options.name

    @property
    def spec(self) -> str:
        """`kind:CONFIG`, or `kind:cluster=NAME`."""
        return str(self._spec)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All that needs no further apiserver, none that calls this machine, and no cluster without nodes;
        the audit log only of nodes that we made."""
        missing = extras.ON_DEMAND - self._options.needs | self.extras.lacking.keys()
        missing |= {Capability.MANY_APISERVERS, Capability.NO_NODES, Capability.WEBHOOKS}
        return frozenset(Capability) - missing - (set() if self._nodes.ours else {Capability.AUDIT})

    @property
    def deviations(self) -> Sequence[str]:
        """Where it differs from an ordinary cluster, and what is done to one that is not ours."""
        here = (
            "the apiserver writes an audit log of pods at level RequestResponse"
            if self._nodes.ours
            else "components are paused, stopped and started, and run again at the end; namespaces hb-…, "
            "fake nodes, priority classes, roles and bindings hintbound-… are made and removed"
        )
        return (
            "nodes of scenarios are played by KWOK beside the real ones, and tainted",
            here,
            "schedulers of a scenario's own run on the machine, not in a pod, without leader election",
            *proxies.deviations(self._options.rules),
        )

    def resolve(self) -> None:
        """Find Docker, kind and the config, or the cluster; get KWOK: may download or build.

        Raises CannotStart.
        """
        if self._options.subject:
            raise CannotStart(
                "kind clusters take no subject.",
                next_step="Judge it on embedded:VERSION, or where it runs: existing:kind-NAME.",
            )
        if any(ComponentKind.CONTROLLER_MANAGER in rule.actors for rule in self._options.rules):
            raise CannotStart(
                "the kube-controller-manager of a kind cluster cannot stand behind a fault proxy.",
                next_step="Use embedded:VERSION.",
            )
        self._nodes.resolve()
        self._kwok = assets.kwok()
        self.extras = extras.gather(self._nodes.version, self._options.needs)

    async def start(self) -> None:
        """Make it, wait until a fake node is Ready. Raises CannotStart; nothing is left running then."""
        if self._kwok is None:
            await asyncio.to_thread(self.resolve)
        registry.prune()
        self._folder = registry.create(self._options.folder_name, spec=self.spec)
        try:
            self._guard = Guard()
            await self._nodes.claim(f"hintbound-{self._folder.name}")
            self._register()
            log = (self._options.logs or self._folder) / "kind.log"
            await self._nodes.begin(self._folder, self._guard.group, log)
            await self._take_over()
            await self._apply_fixtures()
            await self._start_kwok()
            await self._behind_proxies()
        except (ComponentDied, KubeError, DockerError, OSError, TimeoutError) as error:
            await self.close()
            raise CannotStart(f"the kind cluster did not start: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def usable(self, namespace: str) -> None:
        """Wait until pods can be created in a new namespace. Raises TimeoutError, KubeError."""
        await access.usable(self.client(Actor.ADMIN), namespace)

    async def close(self) -> None:
        """Remove what this object made: processes, containers, folder; in an attached cluster what it made
        there. May be called twice."""
        folder, self._folder = self._folder, None
        if folder is None:
            return
        assembly = self._assembly
        parts = list(assembly.components.values()) if assembly else []
        try:
            if assembly and not self._nodes.ours:
                await self._leave_as_found()
            await asyncio.gather(*(part.close() for part in parts))
            if assembly:
                await assembly.proxies.close()
        finally:
            # Without an await up to the end of the folder: a second Ctrl-C cancels only the wait above.
            self._assembly = None
            if self._guard:
                self._guard.release()
            for part in parts:
                part.process.reap()
            if assembly:
                assembly.let_go()
            self._nodes.clean()
            shutil.rmtree(folder, ignore_errors=True)
            await self._hang_up()

    async def leave(self) -> str:
        """Let it outlive this process: it is nobody's from then on; its name. Whoever breaks this off calls
        `close`."""
        self._owner = None
        self._register()
        assert self._guard is not None
        for part in self._built.components.values():
            await part.let_go()
        await self._hang_up()
        # Without an await from here on: whoever breaks off what is above finds both still on duty.
        self._guard.disarm()
        self._nodes.keep()
        name, self._folder = self._home.name, None
        return name

    async def export_logs(self, into: Path) -> None:
        """All that its nodes have logged. Raises OSError."""
        await self._nodes.export_logs(into)

    def client(self, actor: Actor, tap: Tap | None = None, server: str | None = None) -> Client:
        """A client of this actor. Without a tap it is shared; with one it is new and the caller closes it."""
        if tap is not None:
            return self._built.connect(self._server, actor, tap)
        if actor not in self._clients:
            self._clients[actor] = self._built.connect(self._server, actor)
        return self._clients[actor]

    def book(self) -> Book:
        """See Proxied."""
        return self._built.proxies.book

    def direct(self, actor: Actor, tap: Tap | None = None) -> Client:
        """See Proxied."""
        return self._built.connect(self._server, actor, tap, direct=True)

    async def proxy(self, actor: Actor) -> FaultProxy:
        """See Proxied."""
        return await self._built.proxies.listening(actor, self._server)

    def bites(self) -> list[str]:
        """See Proxied."""
        return self._built.proxies.bites()

    def kubeconfig(self, user: str = Actor.ADMIN) -> Path:
        """The path of the kubeconfig of an actor or a component's user."""
        return self._built.credentials.kubeconfig(user)

    def audit_logs(self) -> Sequence[Path]:
        """The apiserver's log, which the node writes into a folder of this machine."""
        return self._nodes.audit_logs()

    def component(self, name: str) -> Component:
        """A handle by name. Raises KeyError."""
        in_node: Component | None = self._parts.get(name)
        return in_node or self._built.components[name]

    async def components(self) -> Sequence[ComponentState]:
        """Ask each component for its version and gates."""
        parts: list[Component] = [*self._parts.values(), *self._built.components.values()]
        return await asyncio.gather(*(part.state() for part in parts))

    async def add_scheduler(self, spec: SchedulerSpec) -> Component:
        """Start a scheduler of one's own: the node's program, or another. Raises ComponentDied, CannotStart,
        DockerError."""
        return await self._scheduler(f"{ComponentKind.SCHEDULER}-{next(self._counter)}", spec)

    async def _scheduler(self, name: str, spec: SchedulerSpec) -> Component:
        binary, version = await self._program(spec)
        ways = self._built.proxies
        part = self._built.scheduler(
            name,
            spec.scheduler_name,
            binary,
            version,
            spec.config,
            self._built.tuning(ComponentKind.SCHEDULER, spec.version, spec.gates, spec.emulate, spec.flags),
            through=await (ways.listening if spec.proxied else ways.open)(
                ComponentKind.SCHEDULER, self._server
            ),
        )
        await self._built.start(part)
        return part

    async def _behind_proxies(self) -> None:
        """Who is named by the rules that the cluster was made with: our actors, and its own scheduler, in the
        place of which its very program runs here."""
        await self._built.proxies.open_actors(self._server)
        await self._hang_up()  # what was opened before goes past the proxies
        if self._built.proxies.stand_before(ComponentKind.SCHEDULER):
            own = SchedulerSpec(self.scheduler_name)
            await self._program(own)  # copied as long as it runs
            in_node = self._parts.pop(ComponentKind.SCHEDULER)
            self._replaced[ComponentKind.SCHEDULER] = in_node
            await in_node.stop()
            await self._scheduler(ComponentKind.SCHEDULER, own)

    async def add_apiserver(self, spec: ApiserverSpec) -> Component:
        """Not offered: see the capabilities."""
        raise NotImplementedError(Capability.MANY_APISERVERS)

    async def remove(self, component: Component) -> None:
        """End a component that was added, and forget it."""
        part = self._built.components.pop(component.name)
        await part.close()
        self._register()

    @property
    def _home(self) -> Path:
        assert self._folder is not None, "the cluster is not started"
        return self._folder

    @property
    def _built(self) -> Assembly:
        assert self._assembly is not None, "the cluster is not started"
        return self._assembly

    async def _take_over(self) -> None:
        """Learn where it is, and make an identity for each actor."""
        assert self._guard is not None
        assert self._kwok is not None
        (node,) = await asyncio.to_thread(docker.containers, self._nodes.cluster, "control-plane")
        self._server = await asyncio.to_thread(docker.server, node)
        cert, key = [
            (await docker_soon("exec", node, "cat", f"{_PKI}/{name}")).encode()
            for name in ("ca.crt", "ca.key")
        ]
        credentials = Credentials(self._home, Authority(self._home / "pki", (cert, key)))
        credentials.write_kubeconfigs(self._server)
        fake_nodes.write_stages(self._home / "stages.yaml")
        self._assembly = Assembly(
            replace(self._spec, gates=self._nodes.gates),
            self._options,
            folder=self._home,
            group=self._guard.group,
            version="",
            binaries={ComponentKind.KWOK: self._kwok},
            changed=self._register,
            credentials=credentials,
        )
        parts = [NodeComponent(kind, node, self._options.listener) for kind in _STATIC_PODS]
        self._parts = {part.name: part for part in parts}

    async def _apply_fixtures(self) -> None:
        admin = self.client(Actor.ADMIN)
        for manifest in fixtures.manifests(fixtures.RBAC, fixtures.PRIORITY_CLASSES):
            with contextlib.suppress(AlreadyExists):
                await admin.create(resources.of(manifest), manifest)
                self._made.append((resources.of(manifest), manifest["metadata"]["name"]))

    async def _leave_as_found(self) -> None:
        """What was held runs again, what was made goes."""
        for held in (*self._parts.values(), *self._replaced.values()):
            with contextlib.suppress(DockerError):
                await held.undo()
        admin = self.client(Actor.ADMIN)
        with contextlib.suppress(KubeError):
            await self._canary.remove(admin, timeout=_UNDO_WITHIN)
        for resource, name in reversed(self._made):
            with contextlib.suppress(KubeError):
                await admin.delete(resource, name, timeout=_UNDO_WITHIN)

    async def _start_kwok(self) -> None:
        kwok = self._built.kwok(lambda: self._canary.sings(self.client(Actor.ADMIN)))
        await kwok.process.start()
        await kwok.process.until_ready(READY_WITHIN)
        self._register()

    async def _program(self, spec: SchedulerSpec) -> tuple[Path, str]:
        """What to start, and the version that it is."""
        if spec.version is not None:
            exact = assets.resolve_version(spec.version)
            plane = await asyncio.to_thread(assets.control_plane, exact)
            return spec.program or plane[ComponentKind.SCHEDULER], exact
        if spec.program is not None:
            return spec.program, self._nodes.version
        program = self._home / ComponentKind.SCHEDULER
        async with self._copying:
            if not program.exists():
                draft = program.with_suffix(".part")
                await asyncio.to_thread(self._parts[ComponentKind.SCHEDULER].copy_program, draft)
                draft.chmod(0o755)
                draft.rename(program)
        return program, self._nodes.version

    def _register(self) -> None:
        processes = self._assembly.processes() if self._assembly else {}
        kind, attached = (self._nodes.cluster, "") if self._nodes.ours else ("", self._nodes.cluster)
        entry = registry.Entry(
            self._home.name, self.spec, self._server, self._owner, processes, kind, attached
        )
        registry.write(self._home, entry)

    async def _hang_up(self) -> None:
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()
