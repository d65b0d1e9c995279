"""What a scenario works with: its own namespace and nodes, actors, and awaits on the recorded watch.

It hides namespace, nodes, watch, cleanup and deadlines; it never hides what a test is about.
"""

from __future__ import annotations

import asyncio
import functools
import random
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hintbound import __version__
from hintbound.checks import Registered
from hintbound.clusters.protocol import ApiserverSpec, Component, ComponentState, Extras, SchedulerSpec
from hintbound.history.events import Kind, Source
from hintbound.history.join import PodLife, lives
from hintbound.history.markers import CaughtUp, caught_up
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.exchange import Json
from hintbound.kube.resources import Resource
from hintbound.kube.watch import ADDED, MODIFIED
from hintbound.plugin import checking
from hintbound.plugin.acts import Acts
from hintbound.plugin.awaits import Watched, undo
from hintbound.plugin.behaviours import Behaviour
from hintbound.plugin.evidence import evidence
from hintbound.plugin.injected import Faults
from hintbound.plugin.judgement import NotSeen, Unproven
from hintbound.plugin.nodes import Nodes
from hintbound.plugin.pods import Pod, nomination, scheduled
from hintbound.plugin.rules import RuleInForce, Rules
from hintbound.plugin.stage import Stage
from hintbound.plugin.tally import Tally
from hintbound.protocol import TEST_LABEL, Actor, ComponentKind, Seconds, Verdict

PATIENCE: Seconds = 20.0
"""How long an awaited event may take. Measured: well under a second alone; shared machines are slower."""
SETTLES_WITHIN: Seconds = 10.0
"""How long the recorders may take to see the marker."""


class Arena(Acts):
    """One scenario's part of a cluster; what it does to pods stands in acts.py."""

    def __init__(self, stage: Stage, behaviour: Behaviour) -> None:
        self._stage = stage
        self._behaviour = behaviour
        name = f"{_slug(behaviour.id)}-{secrets.token_hex(2)}"
        super().__init__(name, f"hb-{name}", stage.cluster.scheduler_name)
        self._own: list[Component] = []
        self._states: list[ComponentState] = []
        self.own_components: list[str] = []
        """Components of its own that it was played on: version, and gates that differ from the cluster's."""
        self._global: list[tuple[Resource, str]] = []
        self._faults = Faults(self._append)
        self._rules = Rules(stage.cluster, self.namespace, self._append)
        self._watched = Watched(stage.store, self.namespace)
        self.nodes = Nodes(self, stage.cluster, self._name)
        """Nodes of this scenario alone: `await arena.nodes(2)`, `arena.nodes.cordon(node)`."""
        self.random = random.Random(f"{stage.seed} {behaviour.id}")
        """Chance, by the seed of the run."""
        stage.store.own(self.namespace, test=behaviour.id, label=self._name)

    @property
    def cluster(self) -> str:
        """The name of the cluster it is on."""
        return self._stage.name

    def client(self, actor: Actor, *, through: Component | None = None) -> Client:
        """Speak as an actor, to the first apiserver or to the one given; every request carries the
        behaviour's id in its User-Agent and is recorded."""
        server = through.name if through else None
        return self._stage.client(actor, self._user_agent, server)

    @property
    def _user_agent(self) -> str:
        return f"hintbound/{__version__} {self._behaviour.id}"

    @property
    def awaiting(self) -> str:
        """What it is waiting for at this moment, for who must break it off; empty when nothing."""
        return self._watched.awaiting

    @property
    def deaths(self) -> Sequence[str]:
        """Components that died by themselves and may have misled this scenario."""
        return self._stage.deaths(self.namespace, [component.name for component in self._own])

    async def lifeless(self) -> list[str]:
        """Components that stand still or do not answer now, and may have misled this scenario."""
        return await self._stage.lifeless(self._own)

    def evidence(self, error: BaseException | None) -> tuple[str, ...]:
        """The lives of its pods as recorded so far, for a reader of the failure."""
        return evidence(error, self._stage.store.slice(namespace=self.namespace), without=self.nodes.scouts)

    def checked(self, checks: Sequence[Registered]) -> checking.Checked:
        """What checks find in its record, which must be whole."""
        facts = self._stage.facts
        for kind in {ComponentKind.APISERVER, ComponentKind.SCHEDULER} & {s.kind for s in self._states}:
            facts = checking.without_facts_of(kind, facts)
        return checking.found(
            checks,
            self._stage.store.slice(namespace=self.namespace, test=self._behaviour.id, cluster=self.cluster),
            self._behaviour,
            facts,
            cluster=self.cluster,
            namespace=self.namespace,
            schedulers={
                state.version
                for state in (*self._stage.states, *self._states)
                if state.kind == ComponentKind.SCHEDULER
            },
            without=self.nodes.scouts,
            nodes=self._stage.store.nodes(cluster=self.cluster),
            components={state.name for state in (*self._stage.states, *self._states)},
        )

    def finished(self, verdict: Verdict, reason: str) -> None:
        """Take down in the record what it came to."""
        data = {"verdict": str(verdict), "reason": reason}
        self._append(Kind.SCENARIO_FINISHED, data)

    def forget(self) -> None:
        """Free the memory of its record; the file keeps everything."""
        self._stage.store.forget(namespace=self.namespace, test=self._behaviour.id)

    def _append(self, kind: Kind, data: Mapping[str, Any]) -> None:
        self._stage.store.append(
            kind, source=Source.ENGINE, cluster=self.cluster, namespace=self.namespace, data=data
        )

    async def open(self) -> None:
        """Make the namespace."""
        self._append(Kind.SCENARIO_STARTED, {"deadline": self._behaviour.deadline})
        labels = {TEST_LABEL: self._name}
        await self.admin.create(
            resources.NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": labels}},
        )
        await self._stage.cluster.usable(self.namespace)

    async def close(self) -> None:
        """Remove what the scenario made, so that nothing of it goes on being scheduled.

        Each step is tried whatever became of the others. Raises ExceptionGroup.
        """
        admin, cluster = self.admin, self._stage.cluster
        everything: dict[str, Any] = {"params": {"gracePeriodSeconds": 0}}
        await undo(
            self.namespace,
            [
                *self._faults.undoing(),
                *(functools.partial(cluster.remove, component) for component in self._own),
                *self._rules.undoing(),
                *(functools.partial(self.release, pod) for pod in self._finalized),
                functools.partial(admin.request, "DELETE", resources.PODS.path(self.namespace), **everything),
                *(functools.partial(admin.delete, resources.NODES, node) for node in self.nodes.made),
                *(functools.partial(admin.delete, resource, name) for resource, name in self._global),
                functools.partial(admin.delete, resources.NAMESPACES, self.namespace),
            ],
        )

    # Setting the stage

    async def own_scheduler(
        self, *, through: Component | None = None, successor: bool = False, **wanted: Any
    ) -> Component:
        """A kube-scheduler of this scenario alone, from now on the one of its pods; its metrics are about
        nothing else.

        `through`: the apiserver that it speaks to. A `successor` serves the pods of the scheduler before it,
        which the scenario has stopped. `wanted`: see SchedulerSpec.
        """
        if not successor:
            self.scheduler_name = f"scheduler-{self._name}" + (f"-{len(self._own)}" if self._own else "")
        spec = SchedulerSpec(self.scheduler_name, server=through.name if through else None, **wanted)
        return await self._added(await self._stage.cluster.add_scheduler(spec))

    async def own_apiserver(self, **wanted: Any) -> Component:
        """A further kube-apiserver on the same etcd, of this scenario alone; see `client(through=…)`, and
        ApiserverSpec for what may be wanted."""
        return await self._added(await self._stage.add_apiserver(ApiserverSpec(**wanted)))

    @property
    def extras(self) -> Extras:
        """Programs and versions beyond the cluster's own; see FAULTY_SCHEDULER and OLDER_MINOR."""
        return self._stage.cluster.extras

    async def _added(self, component: Component) -> Component:
        """Take it as this scenario's own, and down what it says of itself."""
        self._own.append(component)
        state = await component.state()
        self._states.append(state)
        usual = self._stage.facts.gates.get(state.kind, {})
        unlike = {gate: on for gate, on in sorted((state.gates or {}).items()) if usual.get(gate) is not on}
        said = (f"{gate}={str(on).lower()}" for gate, on in unlike.items())
        self.own_components.append(", ".join((f"{state.name} {state.version}", *said)))
        return component

    async def fault(self, name: str, /, **parameters: Any) -> Any:
        """Enter a fault of an installed package; it is undone at the scenario's end, whatever happens.

        Gives what it gives. Raises CannotStart, which lists the installed ones, and what the fault raises.
        """
        return await self._faults.begin(self, name, parameters)

    def direct(self, actor: Actor) -> Client:
        """Speak as an actor past every fault proxy, also one that a mutant put there."""
        return self._stage.direct(actor, self._user_agent)

    async def proxied(self, actor: Actor) -> Client:
        """Speak as an actor through a fault proxy; see `rule`."""
        return await self._stage.proxied(actor, self._user_agent)

    def rule(self, what: str, **said: Any) -> RuleInForce:
        """A rule of the fault proxies for this scenario's objects, from now on until it is removed, or the
        scenario ends: `match`, `when` and `do` as docs/proxy.md has them, and `actor`. Raises CannotStart.

        Schedulers that other scenarios start share the actor and see these objects, too. What does something
        to a whole watch (ends, pauses, delays, freezes it) belongs into a behaviour with `exclusive=True`.
        """
        return self._rules.add(what, said)

    async def make(self, manifest: Json) -> Json:
        """Create any object as the admin, in this scenario's namespace if its kind has one."""
        resource = resources.of(manifest)
        if resource.namespaced:
            return await self.admin.create(resource, manifest, namespace=self.namespace)
        self._global.append((resource, manifest["metadata"]["name"]))
        return await self.admin.create(resource, manifest)

    async def tally(self, component: Component, counter: str, *, by: str) -> Tally:
        """Begin to count what a component does, by a label of one of its counters. Raises Unproven."""
        return await Tally.begin(component, counter, by=by, patience=PATIENCE)

    # Awaits

    async def until(
        self,
        pod: Pod,
        holds: Callable[[Json], bool],
        what: str,
        *,
        unless: Callable[[Json], bool] | None = None,
        patience: Seconds | None = None,
    ) -> Json:
        """The first recorded version of a pod for which this holds.

        Raises NotSeen: it did not come within `patience`, or `unless` came first.
        """
        return await self._watched.until(pod, holds, what, unless, PATIENCE if patience is None else patience)

    async def bound(self, pod: Pod) -> str:
        """Wait until a pod is bound; the node."""
        seen = await self.until(pod, _is_bound, f"{pod} to be bound")
        return str(seen["spec"]["nodeName"])

    async def nominated(self, pod: Pod) -> str:
        """Wait until a pod's `nominatedNodeName` is set; its value."""
        seen = await self.until(pod, lambda o: bool(nomination(o)), f"{pod} to be nominated")
        return nomination(seen)

    async def unschedulable(self, pod: Pod) -> Json:
        """Wait until the scheduler has said `PodScheduled=False, Unschedulable`; that version of the pod."""
        said = f"{pod} to be Unschedulable"
        return await self.until(
            pod, lambda o: scheduled(o).get("reason") == "Unschedulable", said, unless=_is_bound
        )

    async def gone(self, pod: Pod) -> None:
        """Wait until a pod no longer exists."""
        await self._watched.gone(pod, PATIENCE)

    async def told(self, pod: Pod, reason: str) -> Json:
        """Wait for an Event of this reason about a pod. Raises NotSeen."""
        about = f"reason={reason},regarding.uid={pod.uid}"
        return await self.shown(
            resources.EVENTS, lambda _: True, f"an Event {reason} about {pod}", field_selector=about
        )

    async def shown(
        self, resource: Resource, holds: Callable[[Json], bool], what: str, **selectors: Any
    ) -> Json:
        """Wait until any object of this kind (in the namespace, if it has one) is so; no recorder follows
        these. Raises NotSeen."""
        namespace = self.namespace if resource.namespaced else None
        watch = self.admin.watch(resource, namespace=namespace, **selectors)
        try:
            async with asyncio.timeout(PATIENCE), watch:
                async for event in watch:
                    if event.type in (ADDED, MODIFIED) and holds(event.object):
                        return event.object
        except TimeoutError:
            pass
        raise NotSeen(f"awaited for {PATIENCE:g} s: {what}; it never came")

    async def settle(self) -> CaughtUp:
        """Wait until every recorder has seen a marker: only then may the record be judged."""
        return await caught_up(
            self._stage.store,
            self.admin,
            self._stage.recorders,
            namespace=self.namespace,
            test=self._behaviour.id,
            cluster=self.cluster,
            timeout=SETTLES_WITHIN,
        )

    async def life(self, pod: Pod) -> PodLife:
        """Everything that was recorded of a pod up to now. Raises Unproven when the record is not whole."""
        (life,) = await self.lives(pod)
        return life

    async def lives(self, *pods: Pod) -> list[PodLife]:
        """The same of several pods at one moment."""
        record = await self.settle()
        if not record.complete:
            raise Unproven(record.reason)
        found = {life.uid: life for life in lives(self._stage.store.slice(namespace=self.namespace))}
        if missing := [str(pod) for pod in pods if pod.uid not in found]:
            raise Unproven(f"nothing was recorded of {', '.join(missing)}")
        return [found[pod.uid] for pod in pods]


def _is_bound(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _slug(text: str) -> str:
    """A DNS label out of a behaviour's id that leaves room for what is added to it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:44].rstrip("-")
