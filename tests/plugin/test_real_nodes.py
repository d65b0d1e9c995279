from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Any

import pytest

from hintbound.clusters.fake_nodes import FAKE_TAINT, fake_node
from hintbound.plugin import real_nodes
from hintbound.plugin.judgement import Unproven
from hintbound.plugin.real_nodes import FOREVER, RealNode, one_that, real_node

LINGER = "hintbound.dev/linger:1"
READY = [{"type": "Ready", "status": "True"}]


def node(name: str, cpu: str = "2", *, ready: bool = True, **spec: Any) -> dict[str, Any]:
    status = {"allocatable": {"cpu": cpu}, "conditions": READY if ready else []}
    images = [{"names": ["registry.k8s.io/pause:3.10", LINGER]}]
    labels = {"kubernetes.io/hostname": f"{name}-host"}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {**status, "images": images},
    }


def pod(on: str, *cpus: str, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    containers = [{"resources": {"requests": {"cpu": cpu}}} for cpu in cpus]
    return {"spec": {"nodeName": on, "containers": containers, **spec}, "status": {"phase": phase}}


class FakeArena:
    """Knows nodes and pods, and lists them as its own admin."""

    def __init__(self, nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> None:
        self.admin = self
        self._items = {"nodes": nodes, "pods": pods}

    async def list(self, resource: Any) -> dict[str, Any]:
        return {"items": self._items[resource.plural]}


async def chosen(nodes: list[dict[str, Any]], *pods: dict[str, Any]) -> RealNode:
    return await real_node(FakeArena(nodes, list(pods)))  # type: ignore[arg-type]


async def test_the_node_with_the_most_room_is_chosen() -> None:
    found = await chosen([node("a"), node("b"), node("c", "1")], pod("a", "500m"), pod("b", "100m", "0.2"))

    assert (found.name, found.hostname, found.milli_cpu) == ("b", "b-host", 1700)
    assert LINGER in found.images


async def test_only_what_takes_pods_and_has_a_kubelet_is_chosen() -> None:
    tainted: dict[str, Any] = {"taints": [{"key": "x", "effect": "NoSchedule"}]}
    soft: dict[str, Any] = {"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}
    unfit = [
        node("control-plane", "8", **tainted),
        node("cordoned", "8", unschedulable=True),
        node("not-ready", "8", ready=False),
        fake_node("fake", cpu="8", taints=[FAKE_TAINT]),
        fake_node("fake-too", cpu="8"),
    ]

    assert (await chosen([*unfit, node("real", **soft)])).name == "real"
    with pytest.raises(Unproven, match="no node with a kubelet is Ready and takes pods"):
        await chosen(unfit)


async def test_a_full_node_is_no_stage() -> None:
    with pytest.raises(Unproven, match="a has 0m"):
        await chosen([node("a")], pod("a", "2"))


@pytest.mark.parametrize(
    ("other", "left"),
    [
        (pod("n", "1", phase="Succeeded"), 2000),
        (pod("n", "1", phase="Failed"), 2000),
        (pod("n", "1", phase="Pending"), 1000),
        (pod("elsewhere", "1"), 2000),
        (pod("n", "100m", resources={"requests": {"cpu": "1"}}), 1000),
        (pod("n", initContainers=[{"resources": {"requests": {"cpu": "1"}}}], overhead={"cpu": "10m"}), 990),
        ({"spec": {"nodeName": "n", "containers": [{}]}, "status": {}}, 2000),
    ],
)
def test_what_pods_on_the_node_ask_for_is_not_free(other: dict[str, Any], left: int) -> None:
    assert real_nodes.free(node("n"), [other]) == left


@pytest.mark.parametrize(("lingers", "arguments"), [(0, []), (3, ["3s"]), (FOREVER, ["forever"])])
def test_the_image_made_for_it_is_used_where_a_node_has_it(lingers: int, arguments: list[str]) -> None:
    container = one_that(lingers, {LINGER, "other"})

    assert (container["image"], container["args"]) == (LINGER, arguments)


@pytest.mark.parametrize(
    ("lingers", "at_least", "ends"), [(0, 0.0, True), (1, 1.0, True), (FOREVER, 1.5, False)]
)
def test_else_a_shell_ends_as_wanted(lingers: int, at_least: float, ends: bool) -> None:
    container = one_that(lingers, {"other"})
    assert container["image"].startswith("docker.io/library/busybox:")
    tell = container["command"][2].replace("while :;", "echo ready; while :;")

    shell = subprocess.Popen(["sh", "-c", tell], stdout=subprocess.PIPE, process_group=0)
    assert shell.stdout is not None
    try:
        shell.stdout.readline()  # the trap is set
        time.sleep(0.2)  # it waits for its child
        began = time.monotonic()
        shell.send_signal(signal.SIGTERM)
        if ends:
            assert shell.wait(10) == 0
            assert time.monotonic() - began >= at_least
        else:
            with pytest.raises(subprocess.TimeoutExpired):
                shell.wait(at_least)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)  # its `sleep`, too
        shell.wait()
        shell.stdout.close()
