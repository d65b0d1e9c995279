"""A started cluster with the recorders on it: what scenarios are played on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from typing import Any, Protocol

from hintbound import clusters
from hintbound.clusters.installed import not_started
from hintbound.clusters.protocol import (
    ApiserverSpec,
    Capability,
    Cluster,
    Component,
    ComponentState,
    Exports,
    Proxied,
    SchedulerSpec,
    Stays,
)
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source
from hintbound.history.recorders import AuditRecorder, ClientRecorder, ProxyRecorder, Recorder, WatchRecorder
from hintbound.history.store import Store
from hintbound.kube.client import Client
from hintbound.kube.errors import KubeError
from hintbound.mutants import Mutant
from hintbound.plugin.applies import Facts
from hintbound.protocol import Actor, ComponentKind
from hintbound.report.folder import RunFolder
from hintbound.subjects import Subject

_THROUGH_PROXY, _PAST_PROXIES = "through a proxy", "past every proxy"
"""Ways to the first apiserver that are none of an apiserver's names."""


class Named(Protocol):
    """What a component's listener is told of it."""

    @property
    def name(self) -> str:
        """The component's name."""


class Stage:
    """One cluster of a run and its witnesses; `start` before anything, `close` at the end."""

    def __init__(
        self,
        name: str,
        spec: ClusterSpec,
        store: Store,
        folder: RunFolder,
        needs: Collection[Capability] = (),
        subject: Subject | None = None,
        *,
        keep: bool = False,
        seed: int = 0,
        mutant: Mutant | None = None,
    ) -> None:
        """`keep`: the cluster is left running at the end. `seed`: of what scenarios leave to chance.
        `mutant`: how it is made to break the protocol. Raises CannotStart."""
        self.name = name
        self.subject = subject
        """Whose scheduler it is; None for kube-scheduler."""
        self.store = store
        self._spec = spec
        self._folder = folder
        self.cluster: Cluster = clusters.open_cluster(
            spec,
            name=name,
            logs=folder.logs / name,
            listener=self._component,
            needs=needs,
            subject=subject,
            rules=mutant.rules if mutant else (),
            flags=mutant.flags if mutant else None,
            witness=ProxyRecorder(store, cluster=name),
        )
        self.mutant = mutant
        if keep and (spec.is_there or not isinstance(self.cluster, Stays)):
            raise CannotStart(f"{spec} is not for us to keep or to end.", next_step="Leave --keep out.")
        self.seed = seed
        self._keep = keep
        self.kept = ""
        """The name by which a cluster that was kept is found again."""
        self.spoiled = False
        """Whether something failed on it, or nothing was proven: then its logs are worth having."""
        self.notes: list[str] = []
        """What went wrong in ending it."""
        self.recorders: list[Recorder] = []
        self.states: tuple[ComponentState, ...] = ()
        self._dead: dict[str, object] = {}
        """Components that ended by themselves and have not been started again, with their exit codes."""
        self._recorder = ClientRecorder(store, cluster=name)
        self._clients: dict[tuple[Actor, str | None], Client] = {}
        """By actor and way: the name of an apiserver, None for the first, or one of the two below."""
        self._open = AsyncExitStack()
        self._started = False

    @property
    def is_alone(self) -> bool:
        """Whether there cannot be another one beside it."""
        return self._spec.is_there or Capability.RESTART_COMPONENT not in self.cluster.capabilities

    @property
    def facts(self) -> Facts:
        """Versions and gates as the first component of each kind says itself."""
        known: dict[Any, ComponentState] = {}
        for state in self.states:
            known.setdefault(state.kind, state)
        gates = {kind: state.gates for kind, state in known.items() if state.gates is not None}
        versions = {kind: state.version for kind, state in known.items()}
        if self.mutant:
            for kind, believed in (self.mutant.believes or {}).items():
                gates[kind] = {**gates.get(kind, {}), **believed}
            versions.update(self.mutant.believes_version or {})
        return Facts(gates, versions)

    async def start(self) -> None:
        """Start the cluster, open every watch, read versions and gates. Raises CannotStart."""
        self._open.push_async_callback(self._end)
        try:
            await self.cluster.start()
            self.recorders.append(self._recorder)
            watch = WatchRecorder(self.store, self.cluster.client(Actor.OBSERVER), cluster=self.name)
            self.recorders.append(await self._open.enter_async_context(watch))
            if Capability.AUDIT in self.cluster.capabilities:
                audit = AuditRecorder(
                    self.store, self.cluster.audit_logs(), copy=self._folder.audit, cluster=self.name
                )
                self.recorders.append(await self._open.enter_async_context(audit))
            self.states = tuple(await self.cluster.components())
            self._all_known()
            if self.mutant and self.mutant.second_scheduler:
                await self.cluster.add_scheduler(SchedulerSpec(self.cluster.scheduler_name))
            self._started = True
        except KubeError as error:
            await self.close()
            raise CannotStart(
                f"the {self.name} control plane cannot be observed: {error}.",
                next_step="Its user must be able to list and watch pods and nodes.",
            ) from error
        except Exception as error:
            await self.close()
            raise not_started(self._spec, error) from error
        except BaseException:
            await self.close()
            raise

    def _all_known(self) -> None:
        """Without gates a behaviour is skipped, and a skip does not count: that is for what others run."""
        ours = {ComponentKind.APISERVER, *([] if self.subject else [ComponentKind.SCHEDULER])}
        for state in self.states:
            gated = state.kind in ours
            if gated and not state.gates and Capability.RESTART_COMPONENT in self.cluster.capabilities:
                raise CannotStart(
                    f"{state.name} does not tell its feature gates: {state.source}.",
                    next_step="Try again; if it stays so, see its log in the run's folder.",
                )

    async def close(self) -> None:
        """End the recorders, then the cluster. May be called twice."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()
        await self._open.aclose()

    async def _end(self) -> None:
        """Export the logs if somebody will want them, and end the cluster, or leave it."""
        if self.spoiled and isinstance(self.cluster, Exports):
            try:
                await self.cluster.export_logs(self._folder.logs / self.name / "nodes")
            except OSError as error:
                self.notes.append(f"{error}")
        if self._started and isinstance(self.cluster, Proxied):
            self.notes += [f"{self.name}: {told}" for told in self.cluster.bites()]
        if self._keep and self._started and isinstance(self.cluster, Stays):
            try:
                self.kept = await self.cluster.leave()
            except BaseException:
                await self.cluster.close()
                raise
        else:
            await self.cluster.close()

    def client(self, actor: Actor, user_agent: str, server: str | None = None) -> Client:
        """A recorded client of this actor whose requests carry this User-Agent."""
        key = (actor, server)
        if key not in self._clients:
            self._clients[key] = self.cluster.client(actor, tap=self._recorder, server=server)
        return self._clients[key].named(user_agent)

    def direct(self, actor: Actor, user_agent: str) -> Client:
        """A recorded client of this actor that speaks past every fault proxy."""
        if not isinstance(self.cluster, Proxied):
            return self.client(actor, user_agent)
        key = (actor, _PAST_PROXIES)
        if key not in self._clients:
            self._clients[key] = self.cluster.direct(actor, self._recorder)
        return self._clients[key].named(user_agent)

    async def proxied(self, actor: Actor, user_agent: str) -> Client:
        """A recorded client of this actor that speaks through a fault proxy."""
        assert isinstance(self.cluster, Proxied), "a behaviour names what it needs: ACTOR_PROXY"
        key = (actor, _THROUGH_PROXY)
        if key not in self._clients:
            connection = (await self.cluster.proxy(actor)).connection()
            self._clients[key] = Client(connection, actor=actor, user_agent=user_agent, tap=self._recorder)
        return self._clients[key].named(user_agent)

    async def add_apiserver(self, spec: ApiserverSpec) -> Component:
        """Start a further apiserver; what it logs is recorded as well."""
        before = set(self.cluster.audit_logs())
        component = await self.cluster.add_apiserver(spec)
        for recorder in self.recorders:
            if isinstance(recorder, AuditRecorder):
                for log in set(self.cluster.audit_logs()) - before:
                    recorder.follow(log)
        return component

    def deaths(self, namespace: str, own: Collection[str] = ()) -> list[str]:
        """Components that ended by themselves before or while this scenario played, and may have misled it.

        The cluster's own, and those that the scenario added; another scenario's scheduler is none of its
        business.
        """
        matter = {state.name for state in self.states} | set(own)
        died = {name: code for name, code in self._dead.items() if name in matter}
        for event in self.store.slice(namespace=namespace, cluster=self.name):
            if event.kind == Kind.COMPONENT_EXITED and event.name in matter:
                died[event.name] = event.data.get("code")
        return [f"{name} died by itself ({_how(code)})" for name, code in died.items()]

    async def lifeless(self, own: Collection[Component] = ()) -> list[str]:
        """Components that give no sign of life at this moment: what was awaited of them proves nothing. Of a
        cluster whose components are out of reach nothing is known."""
        if Capability.PAUSE_COMPONENT not in self.cluster.capabilities:
            return []
        parts = [*(self.cluster.component(state.name) for state in self.states), *own]
        return [told for told in await asyncio.gather(*(part.lifeless() for part in parts)) if told]

    def _component(self, event: str, process: Named, facts: dict[str, Any]) -> None:
        if event == "exited":
            self._dead[process.name] = facts.get("code")
        elif event == "started":
            self._dead.pop(process.name, None)
        self.store.append(
            f"component-{event}", source=Source.ENGINE, cluster=self.name, name=process.name, data=facts
        )


def _how(code: object) -> str:
    """What an exit code says: `exit code 1`, `SIGKILL`."""
    with contextlib.suppress(ValueError):
        if isinstance(code, int) and code < 0:
            return signal.Signals(-code).name
    return f"exit code {code}"


async def start_all(stages: list[Stage], told: Callable[[Stage], None]) -> None:
    """Start several stages at once. Raises what the first to fail raised; the others are closed."""
    tasks = [asyncio.create_task(stage.start(), name=f"start {stage.name}") for stage in stages]
    try:
        for stage, task in zip(stages, tasks, strict=True):
            await task
            told(stage)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stage in stages:
            await stage.close()
        raise
