"""The nodes of one scenario, and how its scheduler is known to know of them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hintbound.clusters.fake_nodes import fake_node
from hintbound.clusters.protocol import Cluster
from hintbound.kube import resources
from hintbound.plugin.awaits import setting_the_stage
from hintbound.plugin.judgement import Unproven
from hintbound.plugin.pods import Pod
from hintbound.protocol import TEST_LABEL

if TYPE_CHECKING:
    from hintbound.plugin.arena import Arena


class Nodes:
    """Makes fake nodes that only this scenario's pods fit on, and changes them."""

    def __init__(self, arena: Arena, cluster: Cluster, name: str) -> None:
        self._arena = arena
        self._cluster = cluster
        self._name = name
        self._counter = itertools.count(1)
        self.made: list[str] = []
        """Names of nodes that are to be removed."""
        self.scouts: list[str] = []
        """The uids of pods that only helped to set the stage."""

    async def __call__(
        self,
        count: int,
        *,
        cpu: str = "4",
        soft_taint: Sequence[str | None] = (),
        names: Sequence[str] = (),
        **more: Any,
    ) -> list[str]:
        """Nodes of this scenario alone, known to its scheduler. `soft_taint` per node: None or
        "PreferNoSchedule"; `names`: of `future`."""
        names = names or [self.future() for _ in range(count)]
        effects = [*soft_taint, *[None] * (count - len(soft_taint))]
        async with asyncio.TaskGroup() as group:
            for name, effect in zip(names, effects, strict=True):
                taints = [{"key": "hintbound.dev/unattractive", "effect": effect}] if effect else []
                group.create_task(self._node(name, cpu=cpu, taints=taints, **more))
        await self._until_known(names)
        return list(names)

    def future(self) -> str:
        """The name of a node that does not exist; `arena.nodes(names=...)` can make it."""
        return f"{self._name}-n{next(self._counter)}"

    async def _node(self, name: str, **wanted: Any) -> None:
        taints = [*self._cluster.node_taints, *wanted.pop("taints")]
        manifest = fake_node(name, labels={TEST_LABEL: self._name}, taints=taints, **wanted)
        self.made.append(name)  # before it is there: who is cancelled meanwhile must still remove it
        await self._arena.admin.create(resources.NODES, manifest)

    async def _until_known(self, nodes: Sequence[str]) -> None:
        """Wait until the scheduler knows these nodes: a pod that only fits there has been bound.

        Nodes and pods reach a scheduler on two watches, so a pod that was created after a node may be seen
        before it.
        """
        scouts = [await self._scout(node_selector={"kubernetes.io/hostname": node}) for node in nodes]
        await self._return(scouts)

    async def cordon(self, node: str) -> None:
        """Mark a node unschedulable, and wait until the scheduler knows."""
        await self._change(node, {"unschedulable": True})

    async def taint(self, node: str, effect: str = "NoSchedule") -> None:
        """Taint a node, and wait until the scheduler knows."""
        taint = {"key": "hintbound.dev/repels", "effect": effect}
        await self._change(node, {"taints": [*self._cluster.node_taints, taint]})

    async def _change(self, node: str, spec: Mapping[str, Any]) -> None:
        """Change a node's spec and wait until the scheduler knows: a pod that tolerates everything was bound
        by a label that came with the change."""
        label = {"hintbound.dev/changed": f"{node}-{next(self._counter)}"}
        change = {"metadata": {"labels": label}, "spec": dict(spec)}
        await self._arena.admin.patch(resources.NODES, node, change)
        tolerant = {"tolerations": [{"operator": "Exists"}]}
        await self._return([await self._scout(node_selector=label, spec=tolerant)])

    async def caught_up(self, node: str) -> None:
        """Wait until the scheduler knows all that has happened to pods on nodes.

        It hears of them apart from pods that wait: a pod that wants to be beside one that was put on a node
        last has been bound.
        """
        label = {"hintbound.dev/beside": f"{self._name}-{next(self._counter)}"}
        last = await self._arena.pod("last", cpu="0", node=node, labels=label)
        beside = {"labelSelector": {"matchLabels": label}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}}
        self.scouts.append(last.uid)
        scout = await self._scout(spec={"affinity": affinity})
        with setting_the_stage():
            await self._arena.bound(scout)  # and stays, so that nothing goes on happening to pods on nodes

    async def _scout(self, **wanted: Any) -> Pod:
        scout = await self._arena.pod("scout", cpu="0", priority="hintbound-high", **wanted)
        self.scouts.append(scout.uid)
        return scout

    async def _return(self, scouts: Sequence[Pod]) -> None:
        """Wait until scouts are bound, and remove them."""
        with setting_the_stage():
            for scout in scouts:
                await self._arena.bound(scout)
            for scout in scouts:
                await self._arena.delete(scout)
            for scout in scouts:
                await self._arena.gone(scout)

    async def none(self) -> None:
        """See to it that the cluster has no node at all. Raises Unproven."""
        answer = await self._arena.admin.request("GET", resources.NODES.path())
        if names := [node["metadata"]["name"] for node in answer.body["items"]]:
            raise Unproven(f"the cluster is not without nodes: {', '.join(names)}")
