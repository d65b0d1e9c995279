"""Nodes with a kubelet, and pods on them whose containers really run and end as a scenario wants.

Nobody else's pods are moved: a scenario takes the room that is free on one node, and pins its pods there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hintbound.clusters.fake_nodes import FAKE_ANNOTATION
from hintbound.kube import resources
from hintbound.kube.exchange import Json
from hintbound.kube.quantities import milli
from hintbound.plugin.arena import Arena
from hintbound.plugin.awaits import setting_the_stage
from hintbound.plugin.judgement import Unproven
from hintbound.plugin.pods import Pod
from hintbound.protocol import Seconds

FOREVER: Final = -1
"""A container that `lingers` so long ignores SIGTERM."""
RUNS_WITHIN: Final[Seconds] = 120.0
"""How long a container may take to run: kubelet may have to pull its image first. Measured without: 1 s."""
_HOSTNAME: Final = "kubernetes.io/hostname"
_LINGER: Final = "hintbound.dev/linger:1"
"""In the node images of tools/kind-node; see its main.go for the arguments."""
_SHELL: Final = "docker.io/library/busybox:1.37.0"
_OVER: Final = ("Succeeded", "Failed")
"""Phases of pods that take no more room."""


@dataclass(frozen=True, slots=True)
class RealNode:
    """One node with a kubelet, and what of it was free when it was chosen."""

    arena: Arena
    name: str
    hostname: str
    milli_cpu: int
    """Free: allocatable without what its pods ask for."""
    images: Collection[str]
    """Names of images that it says it has."""

    async def pod(self, name: str, *, lingers: int = 0, **wanted: Any) -> Pod:
        """A pod that only fits here and asks for all the cpu that is free; see `pod_manifest` for what may be
        wanted.

        `lingers`: for how many seconds its process goes on after SIGTERM, or FOREVER.
        """
        container = one_that(lingers, self.images)
        container["resources"] = {"requests": {"cpu": f"{self.milli_cpu}m"}}
        spec = {"containers": [container], **wanted.pop("spec", {})}
        return await self.arena.pod(name, node_selector={_HOSTNAME: self.hostname}, spec=spec, **wanted)

    async def running_pod(self, name: str = "victim", **wanted: Any) -> Pod:
        """The same, once its container runs. Raises Unproven."""
        pod = await self.pod(name, **wanted)
        with setting_the_stage():
            await runs(self.arena, pod)
        return pod


async def runs(arena: Arena, pod: Pod) -> Json:
    """Wait until kubelet says that a pod runs; that version of it. Raises NotSeen."""
    return await arena.until(
        pod,
        lambda o: o["status"].get("phase") == "Running",
        f"{pod} to run",
        unless=lambda o: o["status"].get("phase") in _OVER,
        patience=RUNS_WITHIN,
    )


async def real_node(arena: Arena) -> RealNode:
    """The node with a kubelet that has the most cpu free. Raises Unproven."""
    nodes = (await arena.admin.list(resources.NODES))["items"]
    pods = (await arena.admin.list(resources.PODS))["items"]
    found = [
        RealNode(arena, node["metadata"]["name"], hostname, free(node, pods), _images(node))
        for node in nodes
        if _takes_pods(node) and (hostname := node["metadata"].get("labels", {}).get(_HOSTNAME))
    ]
    if not found:
        raise Unproven("no node with a kubelet is Ready and takes pods")
    best = max(found, key=lambda node: node.milli_cpu)
    if best.milli_cpu <= 0:
        raise Unproven(f"no node with a kubelet has cpu that is free, {best.name} has {best.milli_cpu}m")
    return best


def one_that(lingers: int, images: Collection[str]) -> dict[str, Any]:
    """A container whose process goes on for so many seconds after SIGTERM, or FOREVER: of the image made for
    it where a node has that, else of a public one that kubelet pulls."""
    if _LINGER in images:
        arguments = [] if not lingers else ["forever" if lingers == FOREVER else f"{lingers}s"]
        return {"name": "main", "image": _LINGER, "args": arguments, "imagePullPolicy": "IfNotPresent"}
    # `exit` alone would give what `wait` gave: 143, as if the signal had ended it.
    trap = "" if lingers == FOREVER else f"sleep {lingers}; exit 0"
    # The shell acts on a signal once `wait` is broken off by it; a foreground sleep would be seen to its end.
    script = f"trap '{trap}' TERM; while :; do sleep 3600 & wait; done"
    return {"name": "main", "image": _SHELL, "command": ["sh", "-c", script]}


def free(node: Json, pods: Iterable[Json]) -> int:
    """What a node has of cpu beside what its pods ask for, in thousandths."""
    name = node["metadata"]["name"]
    taken = sum(
        _asked(pod["spec"])
        for pod in pods
        if pod["spec"].get("nodeName") == name and pod["status"].get("phase") not in _OVER
    )
    return milli(node["status"]["allocatable"]["cpu"]) - taken


def _asked(spec: Mapping[str, Any]) -> int:
    """What a pod may ask for at most: init containers are counted as if they all stayed (sidecars do), and
    what is asked for the whole pod may be more."""
    containers = (*spec.get("containers", ()), *spec.get("initContainers", ()))
    overhead = (spec.get("overhead") or {}).get("cpu", "0")
    return max(sum(map(_requested, containers)), _requested(spec)) + milli(overhead)


def _requested(part: Mapping[str, Any]) -> int:
    """By a container, or for a pod as a whole."""
    return milli(part.get("resources", {}).get("requests", {}).get("cpu", "0"))


def _takes_pods(node: Json) -> bool:
    if FAKE_ANNOTATION in (node["metadata"].get("annotations") or {}) or node["spec"].get("unschedulable"):
        return False
    if any(taint["effect"] != "PreferNoSchedule" for taint in node["spec"].get("taints") or ()):
        return False
    conditions = node["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _images(node: Json) -> frozenset[str]:
    listed = node["status"].get("images") or ()
    return frozenset(name for image in listed for name in image.get("names") or ())
