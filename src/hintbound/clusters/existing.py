"""The user's own cluster, by a context of their kubeconfig: taken as it is, left as it was.

Only objects that this run creates are ever changed or removed: namespaces and nodes named `hb-…` and `nnn-…`, and the
priority classes `hintbound-…`. The nodes are fake: a KWOK process on this machine plays kubelet for them, through the
same kubeconfig, and a taint keeps everybody else's pods away.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from hintbound import assets, data
from hintbound.clusters import fake_nodes, kubeconfigs
from hintbound.clusters.embedded import components
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.process import ComponentDied, Process
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
from hintbound.kube.errors import AlreadyExists, ApiError, KubeError
from hintbound.kube.exchange import Tap
from hintbound.kube.metrics import component_version, feature_gates
from hintbound.protocol import Actor, ComponentKind

_USER_AGENT = "hintbound"


class ExistingCluster:
    """See the Cluster protocol. One user, the context's, plays every actor."""

    provider = "existing"
    capabilities = frozenset({Capability.FAKE_NODES})
    scheduler_name = "default-scheduler"

    def __init__(
        self,
        spec: ClusterSpec,
        *,
        name: str,
        logs: Path | None,
        listener: Callable[[str, Any, Mapping[str, object]], None],
    ) -> None:
        self._spec = spec
        self._name = name
        self._logs = logs
        self._listener = listener
        self._clients: list[Client] = []
        self._classes: list[str] = []
        self._connection: Connection | None = None
        self._kwok: Process | None = None
        self._guard: Guard | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def name(self) -> str:
        """`shared` or `exclusive` in a run."""
        return self._name

    @property
    def spec(self) -> str:
        """`existing:CONTEXT`."""
        return str(self._spec)

    @property
    def deviations(self) -> Sequence[str]:
        """What this run does to the cluster, and where it differs from the embedded one."""
        return (
            "every actor is the user of the context",
            "makes and removes namespaces hb-…, tainted fake nodes nnn-… and priority classes hintbound-…",
            "a KWOK process beside hintbound plays kubelet for the fake nodes",
            "the scheduler's gates cannot be read from outside",
        )

    async def start(self) -> None:
        """Connect, see that the apiserver answers, start KWOK. Raises CannotStart."""
        connection = Connection.from_kubeconfig(context=self._spec.target)
        self._connection = connection
        admin = self.client(Actor.ADMIN)
        try:
            await admin.get_text("/readyz")
            await self._priority_classes(admin)
            await self._start_kwok()
        except (KubeError, ComponentDied) as error:
            await self.close()
            raise CannotStart(
                f"the cluster of context {self._spec.target!r} cannot be used: {error}.",
                next_step="The user needs to create namespaces, nodes and priority classes; try kubectl first.",
            ) from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Stop KWOK, remove the priority classes that we made. May be called twice."""
        if self._kwok:
            await self._kwok.stop()
            self._kwok = None
        if self._guard:
            self._guard.release()
            self._guard = None
        if self._clients:
            for name in self._classes:
                with contextlib.suppress(KubeError):
                    await self._clients[0].delete(resources.PRIORITY_CLASSES, name)
            self._classes.clear()
        for client in self._clients:
            await client.aclose()
        self._clients.clear()
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    def client(self, actor: Actor, tap: Tap | None = None, server: str | None = None) -> Client:
        """A client that calls itself this actor and is the context's user."""
        assert self._connection is not None, "the cluster has not been started"
        client = Client(self._connection, actor=actor, user_agent=_USER_AGENT, tap=tap)
        self._clients.append(client)
        return client

    def audit_logs(self) -> Sequence[Path]:
        """None: the log is on the control plane's machine."""
        return ()

    async def components(self) -> Sequence[ComponentState]:
        """The apiserver as it says itself; the scheduler cannot be asked."""
        source = "/metrics"
        try:
            page = await self._clients[0].get_text("/metrics")
            version, gates = component_version(page) or "unknown", feature_gates(page)
        except ApiError:
            answer = await self._clients[0].request("GET", "/version")
            version, gates, source = str(answer.body.get("gitVersion", "unknown")), None, "/version"
        return [
            ComponentState("kube-apiserver", ComponentKind.APISERVER, version, gates, source),
            ComponentState(
                "kube-scheduler", ComponentKind.SCHEDULER, "unknown", None, "cannot be asked from outside"
            ),
            ComponentState("kwok", ComponentKind.KWOK, assets.pinned_version(ComponentKind.KWOK), None, "our own"),
        ]

    def component(self, name: str) -> Component:
        """Nothing of it can be touched. Raises KeyError."""
        raise KeyError(name)

    async def add_scheduler(self, spec: SchedulerSpec) -> Component:
        """Not offered: see the capabilities."""
        raise NotImplementedError(Capability.OWN_SCHEDULER)

    async def add_apiserver(self, spec: ApiserverSpec) -> Component:
        """Not offered: see the capabilities."""
        raise NotImplementedError(Capability.MANY_APISERVERS)

    async def remove(self, component: Component) -> None:
        """Not offered: see the capabilities."""
        raise NotImplementedError(Capability.OWN_SCHEDULER)

    async def _canary(self) -> bool:
        return await fake_nodes.canary_is_ready(self._clients[0])

    async def _priority_classes(self, admin: Client) -> None:
        for manifest in yaml.safe_load_all((data.folder("fixtures") / "priority-classes.yaml").read_text()):
            with contextlib.suppress(AlreadyExists):
                await admin.create(resources.PRIORITY_CLASSES, manifest)
                self._classes.append(manifest["metadata"]["name"])

    async def _start_kwok(self) -> None:
        binary = await asyncio.to_thread(assets.kwok)
        self._folder = tempfile.TemporaryDirectory(prefix="hintbound-")
        folder = Path(self._folder.name)
        file = folder / "kubeconfig.yaml"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(kubeconfigs.of_context(self._spec.target)))
        self._guard = Guard()
        self._kwok = Process(
            name="kwok",
            kind=ComponentKind.KWOK,
            version=assets.pinned_version(ComponentKind.KWOK),
            command=components.kwok(binary, kubeconfig=file, stages=fake_nodes.write_stages(folder / "stages.yaml")),
            log=(self._logs or folder) / "kwok.log",
            ready=self._canary,
            group=self._guard.group,
            listener=self._listener,
        )
        await self._kwok.start()
        await self._kwok.until_ready(READY_WITHIN)
