"""What a scenario works with: its own namespace and nodes, actors, and awaits on the recorded watch.

It hides namespace, nodes, watch, cleanup and deadlines; it never hides what a test is about.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hintbound import __version__
from hintbound.clusters.fake_nodes import fake_node
from hintbound.clusters.protocol import Component, SchedulerSpec
from hintbound.history.events import Event, Kind, Source
from hintbound.history.join import PodLife, lives
from hintbound.history.markers import CaughtUp, caught_up
from hintbound.kube import resources
from hintbound.kube.client import Client, PatchType
from hintbound.kube.errors import ApiError, NotFound
from hintbound.kube.exchange import Json
from hintbound.plugin.behaviours import Behaviour
from hintbound.plugin.judgement import NotSeen, Unproven
from hintbound.plugin.pods import GATE, Pod, pod_manifest
from hintbound.plugin.stage import Stage
from hintbound.protocol import TEST_LABEL, Actor, Seconds

PATIENCE: Seconds = 20.0
"""How long an awaited event may take. Measured: well under a second alone; shared machines are slower."""
SETTLES_WITHIN: Seconds = 10.0
"""How long the recorders may take to see the marker."""


class Arena:
    """One scenario's part of a cluster."""

    def __init__(self, stage: Stage, behaviour: Behaviour) -> None:
        self._stage = stage
        self._behaviour = behaviour
        self._name = f"{_slug(behaviour.id)}-{secrets.token_hex(2)}"
        self._counter = itertools.count(1)
        self._nodes: list[str] = []
        self._own: list[Component] = []
        self.namespace = f"hb-{self._name}"
        self.scheduler_name = stage.cluster.scheduler_name
        stage.store.own(self.namespace, test=behaviour.id)

    @property
    def cluster(self) -> str:
        """The name of the cluster it is on."""
        return self._stage.name

    def client(self, actor: Actor) -> Client:
        """Speak as an actor; every request carries the behaviour's id in its User-Agent and is recorded."""
        return self._stage.client(actor, f"hintbound/{__version__} {self._behaviour.id}")

    async def open(self) -> None:
        """Make the namespace."""
        labels = {TEST_LABEL: self._name}
        await self._admin.create(
            resources.NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": labels}},
        )
        await self._stage.cluster.usable(self.namespace)

    async def close(self) -> None:
        """Remove what the scenario made, so that nothing of it goes on being scheduled."""
        for component in self._own:
            await self._stage.cluster.remove(component)
        path = resources.PODS.path(self.namespace)
        await self._admin.request("DELETE", path, params={"gracePeriodSeconds": 0})
        for node in self._nodes:
            await self._admin.delete(resources.NODES, node)
        await self._admin.delete(resources.NAMESPACES, self.namespace)

    # Setting the stage

    async def nodes(
        self, count: int, *, cpu: str = "4", soft_taint: Sequence[str | None] = (), **more: Any
    ) -> list[str]:
        """Nodes of this scenario alone, known to its scheduler. `soft_taint` per node: None or "PreferNoSchedule"."""
        names = [f"{self._name}-n{next(self._counter)}" for _ in range(count)]
        effects = [*soft_taint, *[None] * (count - len(soft_taint))]
        async with asyncio.TaskGroup() as group:
            for name, effect in zip(names, effects, strict=True):
                taints = [{"key": "hintbound.dev/unattractive", "effect": effect}] if effect else []
                group.create_task(self._node(name, cpu=cpu, taints=taints, **more))
        await self._known(names)
        return names

    async def _node(self, name: str, **wanted: Any) -> None:
        taints = [*self._stage.cluster.node_taints, *wanted.pop("taints")]
        manifest = fake_node(name, labels={TEST_LABEL: self._name}, taints=taints, **wanted)
        await self._admin.create(resources.NODES, manifest)
        self._nodes.append(name)

    async def _known(self, nodes: Sequence[str]) -> None:
        """Wait until the scheduler knows these nodes: a pod that only fits there has been bound.

        Nodes and pods reach a scheduler on two watches, so a pod that was created after a node may be seen before it.
        """
        scouts = []
        for node in nodes:
            selector = {"kubernetes.io/hostname": node}
            scouts.append(await self.pod("scout", cpu="0", node_selector=selector, priority="hintbound-high"))
        for scout in scouts:
            await self.bound(scout)
        for scout in scouts:
            await self.delete(scout)
        for scout in scouts:
            await self.gone(scout)

    async def own_scheduler(
        self, *, gates: Mapping[str, bool] | None = None, config: Mapping[str, Any] | None = None
    ) -> Component:
        """A kube-scheduler of this scenario alone, from now on the one of its pods; its metrics are about nothing else."""
        self.scheduler_name = f"scheduler-{self._name}"
        spec = SchedulerSpec(self.scheduler_name, gates or {}, config or {})
        component = await self._stage.cluster.add_scheduler(spec)
        self._own.append(component)
        return component

    # Acts

    async def pod(self, name: str = "pod", *, actor: Actor = Actor.AUTHOR, **wanted: Any) -> Pod:
        """Create a pod for this scenario's nodes; see `pod_manifest` for what may be wanted."""
        full = f"{name}-{next(self._counter)}"
        wanted.setdefault("node_selector", None if wanted.get("node") else {TEST_LABEL: self._name})
        manifest = pod_manifest(full, scheduler=wanted.pop("scheduler", self.scheduler_name), **wanted)
        return await self.create(manifest, actor=actor)

    async def gated_pod(self, name: str = "pod", **wanted: Any) -> Pod:
        """A pod that its scheduler leaves alone until `ungate`: only so can a hint be written without a race."""
        return await self.pod(name, gated=True, **wanted)

    async def running_pod(self, node: str, name: str = "victim", **wanted: Any) -> Pod:
        """A pod that was created on a node, without a scheduler, and runs."""
        pod = await self.pod(name, node=node, **wanted)
        await self.until(pod, lambda o: o["status"].get("phase") == "Running", f"{pod} to run on {node}")
        return pod

    async def create(self, manifest: Json, *, actor: Actor = Actor.AUTHOR) -> Pod:
        """Create a pod as it stands."""
        created = await self.client(actor).create(resources.PODS, manifest, namespace=self.namespace)
        return Pod(self.namespace, created["metadata"]["name"], created["metadata"]["uid"])

    async def hint(self, pod: Pod, node: str | None) -> Json:
        """Write (or with None clear) the hint as the nominator does: one merge PATCH of `pods/status`."""
        return await self.patch_status(pod, {"nominatedNodeName": node})

    async def patch_status(self, pod: Pod, status: Mapping[str, Any], *, actor: Actor = Actor.NOMINATOR) -> Json:
        """Merge PATCH of `pods/status`. Raises ApiError."""
        return await self.client(actor).patch(
            resources.PODS, pod.name, {"status": dict(status)}, namespace=pod.namespace, subresource="status"
        )

    async def ungate(self, pod: Pod) -> None:
        """Remove the scheduling gate."""
        gates = [{"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE}]
        remove = [{"op": "remove", "path": "/spec/schedulingGates"}]
        await self.client(Actor.AUTHOR).patch(
            resources.PODS, pod.name, [*gates, *remove], PatchType.JSON, namespace=pod.namespace
        )

    async def delete(self, pod: Pod, *, grace: int | None = None) -> None:
        """Delete a pod as its author does."""
        await self.client(Actor.AUTHOR).delete(
            resources.PODS, pod.name, namespace=pod.namespace, uid=pod.uid, grace_period=grace
        )

    async def now(self, pod: Pod) -> Json:
        """The pod as the apiserver has it now."""
        return await self.client(Actor.AUTHOR).get(resources.PODS, pod.name, namespace=pod.namespace)

    async def refused(self, code: int, act: Any) -> ApiError:
        """Await an act that must be refused with this status code; gives the refusal."""
        try:
            answer = await act
        except ApiError as error:
            assert error.status == code, f"awaited {code}, got {error}"
            return error
        raise AssertionError(f"awaited {code}, but the write was accepted: {_summary(answer)}")

    # Awaits

    async def until(self, pod: Pod, holds: Callable[[Json], bool], what: str, patience: Seconds = PATIENCE) -> Json:
        """The first recorded version of a pod for which this holds. Raises NotSeen."""

        def fits(event: Event) -> bool:
            return event.uid == pod.uid and event.source == Source.WATCH and _holds(holds, event)

        try:
            event = await self._stage.store.wait_for(fits, patience, namespace=self.namespace, what=what)
        except TimeoutError:
            raise NotSeen(f"awaited for {patience:g} s: {what}; came instead: {self._last(pod)}") from None
        return dict(event.data)

    async def bound(self, pod: Pod) -> str:
        """Wait until a pod is bound; the node."""
        seen = await self.until(pod, lambda o: bool(o["spec"].get("nodeName")), f"{pod} to be bound")
        return str(seen["spec"]["nodeName"])

    async def nominated(self, pod: Pod) -> str:
        """Wait until a pod's `nominatedNodeName` is set; its value."""
        seen = await self.until(pod, lambda o: bool(nomination(o)), f"{pod} to be nominated")
        return nomination(seen)

    async def unschedulable(self, pod: Pod) -> Json:
        """Wait until the scheduler has said `PodScheduled=False, Unschedulable`; that version of the pod."""
        return await self.until(
            pod, lambda o: scheduled(o).get("reason") == "Unschedulable", f"{pod} to be Unschedulable"
        )

    async def gone(self, pod: Pod) -> None:
        """Wait until a pod no longer exists."""

        def fits(event: Event) -> bool:
            return event.uid == pod.uid and event.kind == Kind.DELETED

        try:
            await self._stage.store.wait_for(fits, PATIENCE, namespace=self.namespace, what=f"{pod} to be gone")
        except TimeoutError:
            raise NotSeen(f"awaited for {PATIENCE:g} s: {pod} to be gone; came instead: {self._last(pod)}") from None

    async def settle(self) -> CaughtUp:
        """Wait until every recorder has seen a marker: only then may the record be judged."""
        return await caught_up(
            self._stage.store,
            self._admin,
            self._stage.recorders,
            namespace=self.namespace,
            test=self._behaviour.id,
            cluster=self.cluster,
            timeout=SETTLES_WITHIN,
        )

    async def life(self, pod: Pod) -> PodLife:
        """Everything that was recorded of a pod up to now. Raises Unproven when a recorder has not caught up."""
        record = await self.settle()
        if not record.complete:
            raise Unproven(record.reason)
        events = self._stage.store.slice(namespace=self.namespace)
        found = next((life for life in lives(events) if life.uid == pod.uid), None)
        if found is None:
            raise Unproven(f"nothing was recorded of {pod}")
        return found

    @property
    def _admin(self) -> Client:
        return self.client(Actor.ADMIN)

    def _last(self, pod: Pod) -> str:
        versions = [e for e in self._stage.store.slice(namespace=self.namespace) if e.uid == pod.uid and e.source == Source.WATCH]
        return _summary(versions[-1].data) if versions else "no event about it at all"


def nomination(pod: Mapping[str, Any]) -> str:
    """A pod's `nominatedNodeName`, empty when unset."""
    return str(pod["status"].get("nominatedNodeName") or "")


def scheduled(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod's PodScheduled condition, empty when it has none."""
    return next((c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled"), {})


def _holds(holds: Callable[[Json], bool], event: Event) -> bool:
    return event.kind in (Kind.ADDED, Kind.MODIFIED) and holds(dict(event.data))


def _summary(pod: Mapping[str, Any]) -> str:
    """One line about a pod that tells what matters here."""
    condition = scheduled(pod)
    parts = {
        "nodeName": pod["spec"].get("nodeName"),
        "nominatedNodeName": nomination(pod),
        "phase": pod["status"].get("phase"),
        "PodScheduled": "/".join(filter(None, (condition.get("status"), condition.get("reason")))),
        "message": condition.get("message"),
        "deletionTimestamp": pod["metadata"].get("deletionTimestamp"),
        "resourceVersion": pod["metadata"].get("resourceVersion"),
    }
    return ", ".join(f"{key}={value}" for key, value in parts.items() if value)


def _slug(text: str) -> str:
    """A DNS label out of a behaviour's id that leaves room for what is added to it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:44].rstrip("-")
