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
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from hintbound import assets, data
from hintbound.clusters import access, fake_nodes
from hintbound.clusters.embedded import registry
from hintbound.clusters.embedded.assembly import Assembly
from hintbound.clusters.embedded.credentials import Credentials
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.embedded.pki import Authority
from hintbound.clusters.embedded.process import ComponentDied
from hintbound.clusters.fake_nodes import FAKE_TAINT
from hintbound.clusters.kind import configs
from hintbound.clusters.kind.docker import (
    NETWORK,
    DockerError,
    check,
    containers,
    docker_soon,
    image_is_there,
    networks,
)
from hintbound.clusters.kind.janitor import Janitor
from hintbound.clusters.kind.node import NodeComponent
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
from hintbound.protocol import Actor, ComponentKind, Seconds

_FIXTURES: Final = ("rbac.yaml", "priority-classes.yaml")
_STATIC_PODS: Final = (
    ComponentKind.APISERVER,
    ComponentKind.SCHEDULER,
    ComponentKind.CONTROLLER_MANAGER,
    ComponentKind.ETCD,
)
_CREATED_WITHIN: Final[Seconds] = 600.0
_PKI: Final = "/etc/kubernetes/pki"


class KindCluster:
    """See the Cluster protocol. Made by `start`, removed by `close`."""

    provider = "kind"
    scheduler_name = "default-scheduler"
    node_taints: Sequence[Mapping[str, str]] = (FAKE_TAINT,)
    capabilities = frozenset(
        {
            Capability.AUDIT,
            Capability.FAKE_NODES,
            Capability.ACTORS,
            Capability.OWN_SCHEDULER,
            Capability.RESTART_COMPONENT,
            Capability.PAUSE_COMPONENT,
            Capability.REAL_NODES,
        }
    )
    extras = Extras()

    def __init__(self, spec: ClusterSpec, options: Options | None = None) -> None:
        self._spec = spec
        self._options = options or Options()
        self._config: dict[str, Any] = {}
        self._minor = 0
        self._kind: Path | None = None
        self._kwok: Path | None = None
        self._folder: Path | None = None
        self._guard: Guard | None = None
        self._janitor: Janitor | None = None
        self._assembly: Assembly | None = None
        self._server = ""
        self._version = ""
        self._clients: dict[Actor, Client] = {}
        self._parts: dict[str, NodeComponent] = {}
        self._counter = itertools.count(1)
        self._copying = asyncio.Lock()
        self._canary = fake_nodes.Canary(taints=[FAKE_TAINT])

    @property
    def name(self) -> str:
        """`shared` or `exclusive` in a run."""
        return self._options.name

    @property
    def spec(self) -> str:
        """`kind:CONFIG`."""
        return str(self._spec)

    @property
    def deviations(self) -> Sequence[str]:
        """Where it differs from an ordinary cluster."""
        return (
            "nodes of scenarios are played by KWOK beside the real ones, and tainted",
            "the apiserver writes an audit log of pods at level RequestResponse",
            "schedulers of a scenario's own run on the machine, not in a pod, without leader election",
        )

    def resolve(self) -> None:
        """Find Docker, kind and the config, get KWOK: may download or build. Raises CannotStart."""
        path = Path(self._spec.target)
        self._config = configs.read(path)
        image = self._spec.image
        minor = configs.minor_of(self._config, image)
        if minor is None:
            raise CannotStart(
                f"{path} does not say which Kubernetes its nodes run.",
                next_step="Give its nodes an `image:` with a version, or add image=kindest/node:v1.35.8.",
            )
        self._minor = minor
        check()
        if image and not image_is_there(image) and "/" not in image.partition(":")[0]:
            raise CannotStart(
                f"there is no node image {image}.", next_step="Build it: tools/kind-node/image 1.35."
            )
        self._kind = assets.kind()
        _needs_pytest_kind()
        self._kwok = assets.kwok()

    async def start(self) -> None:
        """Create it, wait until a fake node is Ready. Raises CannotStart; nothing is left running then."""
        if self._kind is None:
            await asyncio.to_thread(self.resolve)
        registry.prune()
        self._folder = registry.create(self._options.folder_name, spec=self.spec)
        try:
            await self._create()
            await self._take_over()
            await self._start_kwok()
        except (ComponentDied, KubeError, DockerError, OSError) as error:
            await self.close()
            raise CannotStart(f"the kind cluster did not start: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def usable(self, namespace: str) -> None:
        """Wait until pods can be created in a new namespace. Raises TimeoutError, KubeError."""
        await access.usable(self.client(Actor.ADMIN), namespace)

    async def close(self) -> None:
        """Delete what this object created: processes, containers, the folder. May be called twice."""
        folder, self._folder = self._folder, None
        if folder is None:
            return
        assembly, self._assembly = self._assembly, None
        parts = list(assembly.components.values()) if assembly else []
        try:
            await asyncio.gather(*(part.close() for part in parts))
        finally:
            # Without an await up to the end of the folder: a second Ctrl-C cancels only the wait above.
            if self._guard:
                self._guard.release()
            for part in parts:
                part.process.reap()
            if assembly:
                assembly.let_go()
            if self._janitor:
                self._janitor.clean()
            shutil.rmtree(folder, ignore_errors=True)
            clients, self._clients = list(self._clients.values()), {}
            for client in clients:
                await client.aclose()

    def client(self, actor: Actor, tap: Tap | None = None, server: str | None = None) -> Client:
        """A client of this actor. Without a tap it is shared; with one it is new and the caller closes it."""
        if tap is not None:
            return self._built.connect(self._server, actor, tap)
        if actor not in self._clients:
            self._clients[actor] = self._built.connect(self._server, actor)
        return self._clients[actor]

    def audit_logs(self) -> Sequence[Path]:
        """The apiserver's log, which the node writes into a folder of this machine."""
        return [self._home / "audit" / configs.LOG]

    def component(self, name: str) -> Component:
        """A handle by name. Raises KeyError."""
        in_node: Component | None = self._parts.get(name)
        return in_node or self._built.components[name]

    async def components(self) -> Sequence[ComponentState]:
        """Ask each component for its version and gates."""
        parts: list[Component] = [*self._parts.values(), *self._built.components.values()]
        return await asyncio.gather(*(part.state() for part in parts))

    async def add_scheduler(self, spec: SchedulerSpec) -> Component:
        """Start a scheduler of one's own: the node's program, or another version's. Raises ComponentDied,
        CannotStart, DockerError."""
        binary, version = await self._scheduler(spec.version)
        part = self._built.scheduler(
            f"{ComponentKind.SCHEDULER}-{next(self._counter)}",
            spec.scheduler_name,
            binary,
            version,
            spec.config,
            self._built.tuning(
                ComponentKind.SCHEDULER, spec.version, spec.gates, spec.emulate, tuple(spec.flags)
            ),
        )
        try:
            await part.process.start()
            await part.process.until_ready(READY_WITHIN)
        except BaseException:  # also when the caller's own deadline has passed
            self._built.components.pop(part.name, None)
            await part.close()
            raise
        self._register()
        return part

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

    async def _create(self) -> None:
        """With kind, in a process of its own, so that it can be broken off; its output goes to a log."""
        audit = self._home / "audit"
        audit.mkdir()
        shutil.copyfile(data.folder("fixtures") / "audit-policy.yaml", audit / configs.POLICY)
        config = self._home / "kind.yaml"
        config.write_text(yaml.safe_dump(configs.observed(self._config, self._minor, audit)))
        self._janitor = Janitor(self._cluster_name, new_network=not networks(NETWORK))
        self._guard = Guard()
        self._register()
        log = (self._options.logs or self._home) / "kind.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "hintbound.clusters.kind.create", self._cluster_name, str(config)]
        command += [str(self._home / "kubeconfig.yaml"), str(self._kind), self._spec.image or ""]
        with log.open("ab") as output:
            creating = await asyncio.create_subprocess_exec(
                *command,
                cwd=self._home,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=self._guard.group,
            )
        async with asyncio.timeout(_CREATED_WITHIN):
            code = await creating.wait()
        if code:
            raise CannotStart(f"kind cannot create the cluster: {_last_error(log)} (see {log}).")

    async def _take_over(self) -> None:
        """Learn where it is, make an identity for each actor, and apply what the suites need."""
        kubeconfig = yaml.safe_load((self._home / "kubeconfig.yaml").read_text())
        self._server = kubeconfig["clusters"][0]["cluster"]["server"]
        node = (await asyncio.to_thread(containers, self._cluster_name, "control-plane"))[0]
        cert, key = [
            (await docker_soon("exec", node, "cat", f"{_PKI}/{name}")).encode()
            for name in ("ca.crt", "ca.key")
        ]
        await docker_soon("exec", node, "chmod", "a+r", f"{configs.AUDIT}/{configs.LOG}")
        credentials = Credentials(self._home, Authority(self._home / "pki", (cert, key)))
        credentials.write_kubeconfigs(self._server)
        fake_nodes.write_stages(self._home / "stages.yaml")
        assert self._guard is not None
        assert self._kwok is not None
        self._assembly = Assembly(
            replace(self._spec, gates=dict(self._config.get("featureGates") or {})),
            self._options,
            folder=self._home,
            group=self._guard.group,
            version="",
            binaries={ComponentKind.KWOK: self._kwok},
            changed=self._register,
            credentials=credentials,
        )
        self._parts = {part.name: part for part in self._components_of(node)}
        await self._apply_fixtures()
        self._version = (await self._parts[ComponentKind.SCHEDULER].state()).version.removeprefix("v")

    def _components_of(self, node: str) -> Sequence[NodeComponent]:
        return [NodeComponent(kind, node, self._options.listener) for kind in _STATIC_PODS]

    async def _apply_fixtures(self) -> None:
        admin = self.client(Actor.ADMIN)
        for file in _FIXTURES:
            for manifest in yaml.safe_load_all((data.folder("fixtures") / file).read_text()):
                with contextlib.suppress(AlreadyExists):
                    await admin.create(resources.of(manifest), manifest)

    async def _start_kwok(self) -> None:
        kwok = self._built.kwok(lambda: self._canary.sings(self.client(Actor.ADMIN)))
        await kwok.process.start()
        await kwok.process.until_ready(READY_WITHIN)
        self._register()

    async def _scheduler(self, version: str | None) -> tuple[Path, str]:
        if version is not None:
            exact = assets.resolve_version(version)
            plane = await asyncio.to_thread(assets.control_plane, exact)
            return plane[ComponentKind.SCHEDULER], exact
        program = self._home / ComponentKind.SCHEDULER
        async with self._copying:
            if not program.exists():
                part = self._parts[ComponentKind.SCHEDULER]
                draft = program.with_suffix(".part")
                await asyncio.to_thread(part.copy_program, draft)
                draft.chmod(0o755)
                draft.rename(program)
        return program, self._version

    @property
    def _cluster_name(self) -> str:
        return f"hintbound-{self._home.name}"

    def _register(self) -> None:
        processes = {}
        for name, part in (self._assembly.components if self._assembly else {}).items():
            if part.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    processes[name] = ProcessId.of(part.pid)
        owner = ProcessId.of(os.getpid())
        registry.write(self._home, registry.Entry(self._home.name, self.spec, self._server, owner, processes))


def _needs_pytest_kind() -> None:
    from importlib.util import find_spec

    if find_spec("pytest_kind") is None:
        raise CannotStart(
            "kind clusters need pytest-kind, which is not installed.",
            next_step="Install it: pip install 'hintbound[kind]'.",
        )


def _last_error(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    told = [line.strip() for line in lines if line.startswith(("ERROR:", "Command Output:"))]
    return told[0] if told else (lines[-1] if lines else "it said nothing")
