"""Nodes without a machine behind them: their manifests, and the KWOK stages that play kubelet for them."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hintbound import data
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.errors import AlreadyExists, NotFound
from hintbound.protocol import Seconds

FAKE_ANNOTATION: Final = "kwok.x-k8s.io/node"
"""KWOK manages the nodes whose annotation of this name says `fake`."""
NODE_LABEL: Final = "hintbound.dev/node"
"""`not-ready`: the node never becomes Ready."""
TERMINATION_LABEL: Final = "hintbound.dev/termination"
"""On a pod: `instant`, `slow` (5 s longer than its grace period), `stuck` (never); else exactly on time."""
FAKE_TAINT: Final = {"key": FAKE_ANNOTATION, "value": "fake", "effect": "NoSchedule"}
"""On fake nodes of clusters that others use too, so that no stranger's pod lands there."""


_OS_LABELS: Final = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}
_CONTROLLERS_ANNOTATION: Final = {"node.alpha.kubernetes.io/ttl": "0"}
"""What controllers would add at some later moment: a node that changes wakes pods that wait for one."""


class Canary:
    """A node whose Ready proves that KWOK works: no health endpoint would prove as much."""

    def __init__(self, name: str = "hintbound-canary", taints: Sequence[Mapping[str, str]] = ()) -> None:
        self.name = name
        self._manifest = fake_node(name, ready=False, taints=taints)

    async def sings(self, admin: Client) -> bool:
        """Whether KWOK has made the node Ready. To be asked until it has; then the node is gone again."""
        try:
            node = await admin.get(resources.NODES, self.name)
        except NotFound:
            with contextlib.suppress(AlreadyExists):
                await admin.create(resources.NODES, self._manifest)
            return False
        conditions = node.get("status", {}).get("conditions", [])
        if not any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
            return False
        await self.remove(admin)
        return True

    async def remove(self, admin: Client, timeout: Seconds | None = None) -> None:
        """Remove the node if it is there. Raises KubeError."""
        with contextlib.suppress(NotFound):
            await admin.delete(resources.NODES, self.name, timeout=timeout)


def stages() -> str:
    """All stages as one YAML stream, for `kwok --config`."""
    files = sorted((data.folder("fixtures") / "stages").glob("*.yaml"))
    return "\n---\n".join(file.read_text() for file in files)


def write_stages(path: Path) -> Path:
    """Write the stages to a file and return it."""
    path.write_text(stages())
    return path


def fake_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    ready: bool = True,
) -> dict[str, Any]:
    """The manifest of a node for KWOK. It is born Ready; with `ready` false KWOK makes it so.

    A tainted one, on a cluster of others, tells no operating system: DaemonSets that tolerate everything, as
    kube-proxy and most network plugins are, ask for one, and their requests would spoil what fits there.
    """
    capacity = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now}
    conditions = [{**condition, "lastTransitionTime": now}] if ready else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {FAKE_ANNOTATION: "fake", **_CONTROLLERS_ANNOTATION},
            "labels": {"kubernetes.io/hostname": name, **({} if taints else _OS_LABELS), **(labels or {})},
        },
        "spec": {"taints": [dict(taint) for taint in taints]} if taints else {},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": conditions},
    }
