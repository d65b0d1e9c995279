"""The user's own cluster, by a context of their kubeconfig: taken as it is, left as it was.

Only objects that this run creates are ever changed or removed: its namespaces `hb-…`, its fake nodes, and the
priority classes `hintbound-…`. A KWOK process on this machine plays kubelet for the nodes, through the same
kubeconfig, and a taint keeps everybody else's pods away.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from hintbound import assets
from hintbound.clusters import access, fake_nodes, fixtures, kubeconfigs, registry
from hintbound.clusters.audition import Audition
from hintbound.clusters.embedded import components
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.embedded.process import ComponentDied, Listener, Process
from hintbound.clusters.fake_nodes import FAKE_TAINT
from hintbound.clusters.protocol import (
    READY_WITHIN,
    ApiserverSpec,
    Capability,
    Component,
    ComponentState,
    Extras,
    SchedulerSpec,
    claimed,
)
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.connection import Connection
from hintbound.kube.errors import AlreadyExists, ApiError, KubeError
from hintbound.kube.exchange import Tap
from hintbound.kube.metrics import component_version, feature_gates
from hintbound.protocol import Actor, ComponentKind, Seconds
from hintbound.subjects import Subject

_USER_AGENT: Final = "hintbound"
_RUN_LABEL: Final = "hintbound.dev/run"
_HEARD_WITHIN: Final[Seconds] = 60.0
"""How long a subject may take for its first pod: it may just be becoming the leader."""
_LOOK: Final[Seconds] = 0.1
_UNDO_WITHIN: Final[Seconds] = 5.0
"""For one request of the clean-up: an apiserver that went away must not hold us up."""


class ExistingCluster:
    """See the Cluster protocol. One user, the context's, plays every actor."""

    provider = "existing"
    capabilities = frozenset({Capability.FAKE_NODES})
    extras = Extras()
    node_taints: Sequence[Mapping[str, str]] = (FAKE_TAINT,)

    def __init__(
        self,
        spec: ClusterSpec,
        *,
        name: str,
        logs: Path | None,
        listener: Listener,
        subject: Subject | None = None,
    ) -> None:
        self._spec = spec
        self._subject = subject
        self._name = name
        self._logs = logs
        self._listener = listener
        self._clients: list[Client] = []
        self._run = secrets.token_hex(4)
        self._canary = fake_nodes.Canary(f"hintbound-canary-{self._run}", [FAKE_TAINT])
        self._audition: Audition | None = None
        self._connection: Connection | None = None
        self._binary: Path | None = None
        self._kwok_version = ""
        self._kwok: Process | None = None
        self._guard: Guard | None = None
        self._folder: Path | None = None

    @property
    def name(self) -> str:
        """`shared` or `exclusive` in a run."""
        return self._name

    @property
    def spec(self) -> str:
        """`existing:CONTEXT`."""
        return str(self._spec)

    @property
    def scheduler_name(self) -> str:
        """The subject's, else that of every pod which names none."""
        return self._subject.scheduler_name if self._subject else "default-scheduler"

    @property
    def deviations(self) -> Sequence[str]:
        """What this run does to the cluster, and where it differs from the embedded one."""
        return (
            "every actor is the user of the context",
            "makes and removes namespaces hb-…, tainted fake nodes and priority classes hintbound-…",
            "a KWOK process beside hintbound plays kubelet for the fake nodes",
            "the scheduler's gates cannot be read from outside",
            *([f"pods are scheduled by {self._subject.name}"] if self._subject else []),
        )

    def resolve(self) -> None:
        """Find the context, get KWOK: may download or build, so call it before an event loop runs.

        Raises CannotStart.
        """
        self._connection = Connection.from_kubeconfig(context=self._spec.target)
        self._binary = assets.kwok()
        self._kwok_version = assets.pinned_version(ComponentKind.KWOK)

    async def start(self) -> None:
        """See that it answers and the user may do all that is needed, start KWOK. Raises CannotStart."""
        if self._binary is None:
            await asyncio.to_thread(self.resolve)
        registry.prune()
        admin = self.client(Actor.ADMIN)
        try:
            await admin.get_text("/version")
            await access.check(admin)
            await self._priority_classes(admin)
            await self._start_kwok(admin)
            if self._subject:
                await self._hear(self._subject, admin)
        except (KubeError, ComponentDied, CannotStart, OSError) as error:
            await self.close()
            raise _unusable(self._spec.target, error) from error
        except BaseException:
            await self.close()
            raise

    async def usable(self, namespace: str) -> None:
        """Wait until pods can be created in a new namespace. Raises TimeoutError, KubeError."""
        await access.usable(self._clients[0], namespace)

    async def close(self) -> None:
        """Stop KWOK, remove what we made. May be called twice."""
        try:
            if self._clients:
                await self._undo(self._clients[0])
            if self._kwok:
                await self._kwok.kill()
        finally:
            if self._guard:
                self._guard.release()
            if self._kwok:
                self._kwok.let_go()
                self._kwok.reap()
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._kwok = self._folder = None
            clients, self._clients = self._clients, []
            for client in clients:
                await client.aclose()

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
        admin = self._clients[0]
        try:
            page = await admin.get_text("/metrics")
            version, gates = component_version(page) or "unknown", feature_gates(page) or None
        except ApiError:
            answer = await admin.request("GET", "/version")
            version, gates, source = str(answer.body.get("gitVersion", "unknown")), None, "/version"
        scheduler = ComponentState(
            "kube-scheduler", ComponentKind.SCHEDULER, "unknown", None, "cannot be asked from outside"
        )
        return [
            ComponentState("kube-apiserver", ComponentKind.APISERVER, version, gates, source),
            claimed(self._subject) if self._subject else scheduler,
            ComponentState("kwok", ComponentKind.KWOK, self._kwok_version, None, "our own"),
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

    async def _hear(self, subject: Subject, admin: Client) -> None:
        """See that the subject runs there. Raises CannotStart."""
        self._audition = Audition(subject.scheduler_name, self.node_taints)
        try:
            async with asyncio.timeout(_HEARD_WITHIN):
                while not await self._audition.passed(admin):  # noqa: ASYNC110 - it tries again itself
                    await asyncio.sleep(_LOOK)
        except TimeoutError:
            why = self._audition.refusal or "its pod stays pending"
            raise CannotStart(
                f"nobody binds pods of schedulerName {subject.scheduler_name!r} there within "
                f"{_HEARD_WITHIN:g} s ({subject.file}): {why}.",
                next_step=f"See that {subject.name} runs.",
            ) from None

    async def _priority_classes(self, admin: Client) -> None:
        for manifest in fixtures.manifests(fixtures.PRIORITY_CLASSES):
            manifest["metadata"]["labels"] = {_RUN_LABEL: self._run}
            with contextlib.suppress(AlreadyExists):
                await admin.create(resources.PRIORITY_CLASSES, manifest)

    async def _start_kwok(self, admin: Client) -> None:
        assert self._binary is not None
        assert self._connection is not None
        self._folder = registry.create(None, spec=self.spec)
        file = self._folder / "kubeconfig.yaml"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(kubeconfigs.of_context(self._spec.target)))
        stages = fake_nodes.write_stages(self._folder / "stages.yaml")
        self._guard = Guard()
        self._kwok = Process(
            name="kwok",
            kind=ComponentKind.KWOK,
            version=self._kwok_version,
            command=components.kwok(self._binary, kubeconfig=file, stages=stages),
            log=(self._logs or self._folder) / "kwok.log",
            ready=lambda: self._canary.sings(admin),
            group=self._guard.group,
            # Credential plugins of the kubeconfig read it, and a proxy may be the only way there.
            env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            listener=self._listener,
        )
        await self._kwok.start()
        await self._kwok.until_ready(READY_WITHIN)
        self._register(self._kwok, self._connection.server)

    def _register(self, kwok: Process, server: str) -> None:
        assert self._folder is not None
        processes = {}
        with contextlib.suppress(ProcessLookupError):
            processes["kwok"] = ProcessId.of(kwok.pid or 0)
        owner = ProcessId.of(os.getpid())
        registry.write(self._folder, registry.Entry(self._folder.name, self.spec, server, owner, processes))

    async def _undo(self, admin: Client) -> None:
        """By label: it says for sure what is ours, also when we were interrupted while making it."""
        ours = {"labelSelector": f"{_RUN_LABEL}={self._run}"}
        with contextlib.suppress(KubeError):
            await self._canary.remove(admin, timeout=_UNDO_WITHIN)
        with contextlib.suppress(KubeError):
            if self._audition:
                await self._audition.remove(admin, timeout=_UNDO_WITHIN)
        with contextlib.suppress(KubeError):
            path = resources.PRIORITY_CLASSES.path()
            await admin.request("DELETE", path, params=ours, timeout=_UNDO_WITHIN)


def _unusable(context: str, error: Exception) -> CannotStart:
    what = f"the cluster of context {context!r} cannot be used"
    if isinstance(error, CannotStart):
        return CannotStart(f"{what}: {error.message}", next_step=error.next_step)
    return CannotStart(f"{what}: {error}.", next_step="See whether kubectl can use it.")
