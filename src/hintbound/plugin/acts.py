"""What a scenario does to pods, each as the actor whose part it is: one request a method, nothing hidden."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from hintbound.clusters.protocol import Component
from hintbound.kube import resources
from hintbound.kube.client import Client, PatchType
from hintbound.kube.errors import ApiError, Forbidden
from hintbound.kube.exchange import Json
from hintbound.plugin.awaits import answered, setting_the_stage
from hintbound.plugin.evidence import summary
from hintbound.plugin.judgement import Unproven
from hintbound.plugin.pods import GATE, Pod, nomination, pod_manifest
from hintbound.protocol import TEST_LABEL, Actor


class Acts(ABC):
    """The half of an Arena that acts."""

    def __init__(self, name: str, namespace: str, scheduler_name: str) -> None:
        self.namespace = namespace
        self.scheduler_name = scheduler_name
        """Whose the pods are that `pod` makes."""
        self._name = name
        self._counter = itertools.count(1)
        self._finalized: list[Pod] = []

    @abstractmethod
    def client(self, actor: Actor, *, through: Component | None = None) -> Client:
        """Speak as an actor."""

    @abstractmethod
    async def until(self, pod: Pod, holds: Callable[[Json], bool], what: str) -> Json:
        """The first recorded version of a pod for which this holds. Raises NotSeen."""

    @property
    def admin(self) -> Client:
        """The client that sets the stage."""
        return self.client(Actor.ADMIN)

    async def pod(self, name: str = "pod", *, actor: Actor = Actor.AUTHOR, **wanted: Any) -> Pod:
        """Create a pod for this scenario's nodes; see `pod_manifest` for what may be wanted."""
        full = f"{name}-{next(self._counter)}"
        wanted.setdefault("node_selector", None if wanted.get("node") else {TEST_LABEL: self._name})
        manifest = pod_manifest(full, scheduler=wanted.pop("scheduler", self.scheduler_name), **wanted)
        return await self.create(manifest, actor=actor)

    async def gated_pod(self, name: str = "pod", **wanted: Any) -> Pod:
        """A pod that its scheduler leaves alone until `ungate`: only so can a hint be written without a
        race."""
        return await self.pod(name, gated=True, **wanted)

    async def running_pod(self, node: str, name: str = "victim", **wanted: Any) -> Pod:
        """A pod that was created on a node, without a scheduler, and runs."""
        pod = await self.pod(name, node=node, **wanted)
        with setting_the_stage():
            await self.until(pod, lambda o: o["status"].get("phase") == "Running", f"{pod} to run on {node}")
        return pod

    async def create(self, manifest: Json, *, actor: Actor = Actor.AUTHOR) -> Pod:
        """Create a pod as it stands."""
        created = await self.client(actor).create(resources.PODS, manifest, namespace=self.namespace)
        pod = Pod(self.namespace, created["metadata"]["name"], created["metadata"]["uid"])
        if created["metadata"].get("finalizers"):
            self._finalized.append(pod)
        return pod

    async def hint(self, pod: Pod, node: str | None, *, through: Component | None = None) -> Json:
        """Write (or with None clear) the hint as the nominator does: one merge PATCH of `pods/status`."""
        return await self.write_status(pod, {"status": {"nominatedNodeName": node}}, through=through)

    async def patch_status(
        self, pod: Pod, status: Mapping[str, Any], *, actor: Actor = Actor.NOMINATOR
    ) -> Json:
        """Merge PATCH of `pods/status`. Raises ApiError."""
        return await self.write_status(pod, {"status": dict(status)}, actor=actor)

    async def write_status(
        self,
        pod: Pod,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        patch_type: PatchType = PatchType.MERGE,
        *,
        actor: Actor = Actor.NOMINATOR,
        through: Component | None = None,
        **more: Any,
    ) -> Json:
        """PATCH of `pods/status` of any type and as it stands, metadata too. Raises ApiError."""
        return await self.client(actor, through=through).patch(
            resources.PODS, pod.name, body, patch_type, namespace=pod.namespace, subresource="status", **more
        )

    async def apply_hint(
        self, pod: Pod, node: str | None, *, manager: str = "hint-applier", force: bool = False
    ) -> Json:
        """Server-side apply of `pods/status` that names the hint and nothing else, or with None not even
        the hint. Raises ApiError."""
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod.name}}
        return await self.client(Actor.NOMINATOR).apply(
            resources.PODS,
            {**body, "status": {"nominatedNodeName": node} if node else {}},
            field_manager=manager,
            force=force,
            namespace=pod.namespace,
            subresource="status",
        )

    async def bind(
        self,
        pod: Pod,
        node: str,
        *,
        dry_run: bool = False,
        legacy: bool = False,
        through: Component | None = None,
        **metadata: Any,
    ) -> Json:
        """Bind a pod as somebody who is not its scheduler: POST of `pods/binding`, or of the older
        `bindings`. Raises ApiError, Unproven."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, **metadata},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        admin = self.client(Actor.ADMIN, through=through)
        resource, subresource = (resources.BINDINGS, None) if legacy else (resources.PODS, "binding")
        try:
            return await admin.create(resource, binding, subresource=subresource, dry_run=dry_run)
        except Forbidden as error:
            raise Unproven(f"this user may not bind pods: {error}") from error

    async def ungate(self, pod: Pod) -> None:
        """Remove the scheduling gate."""
        gates = [{"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE}]
        remove = [{"op": "remove", "path": "/spec/schedulingGates"}]
        await self.client(Actor.AUTHOR).patch(
            resources.PODS, pod.name, [*gates, *remove], PatchType.JSON, namespace=pod.namespace
        )

    async def annotate(self, pod: Pod, annotations: Mapping[str, str]) -> None:
        """Change a pod as its author does, without touching what a scheduler asks."""
        change = {"metadata": {"annotations": dict(annotations)}}
        await self.client(Actor.AUTHOR).patch(resources.PODS, pod.name, change, namespace=pod.namespace)

    async def release(self, pod: Pod) -> None:
        """Take the finalizers from a pod, so that it can go."""
        nothing = {"metadata": {"finalizers": None}}
        await self.admin.patch(resources.PODS, pod.name, nothing, namespace=pod.namespace)

    async def delete(self, pod: Pod, *, grace: int | None = None) -> None:
        """Delete a pod as its author does."""
        await self.client(Actor.AUTHOR).delete(
            resources.PODS, pod.name, namespace=pod.namespace, uid=pod.uid, grace_period=grace
        )

    async def now(self, pod: Pod) -> Json:
        """The pod as the apiserver has it now."""
        return await self.client(Actor.AUTHOR).get(resources.PODS, pod.name, namespace=pod.namespace)

    async def nomination(self, pod: Pod) -> str:
        """The pod's `nominatedNodeName` as the apiserver has it now, empty when unset."""
        return nomination(await self.now(pod))

    async def refused(self, code: int, act: Awaitable[Json]) -> ApiError:
        """Await an act that must be refused with this status code; gives the refusal."""
        try:
            answer = await act
        except ApiError as error:
            if error.status != code:
                raise answered(error, f"a refusal with {code}") from error
            return error
        came = answer if answer.get("kind") == "Status" else summary(answer)  # a binding is answered so
        raise AssertionError(f"awaited {code}, but the write was accepted: {came}")

    async def accepted(self, act: Awaitable[Json]) -> Json:
        """Await an act that must be accepted; gives the answer."""
        try:
            return await act
        except ApiError as error:
            raise answered(error, "that the write is accepted") from error
