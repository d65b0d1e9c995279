"""What tests do with a real cluster: nodes, pods, waiting by watch."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.fake_nodes import fake_node
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.exchange import Json
from hintbound.kube.resources import Resource
from hintbound.kube.watch import DELETED
from hintbound.protocol import Actor

PATIENCE = 60.0


class World:
    """A namespace and nodes of one test; its pods fit on its nodes only."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.admin = cluster.client(Actor.ADMIN)
        self.namespace = f"test-{secrets.token_hex(3)}"
        self.nodes: list[str] = []

    async def __aenter__(self) -> Self:
        await self.admin.create(resources.NAMESPACES, namespace(self.namespace))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        path = resources.PODS.path(self.namespace)
        await self.admin.request("DELETE", path, params={"gracePeriodSeconds": 0})
        for node in self.nodes:
            await self.admin.delete(resources.NODES, node)
        await self.admin.delete(resources.NAMESPACES, self.namespace)

    async def node(self, **wanted: Any) -> str:
        name = f"{self.namespace}-n{len(self.nodes)}"
        labels = {"test": self.namespace, **wanted.pop("labels", {})}
        await self.admin.create(resources.NODES, fake_node(name, labels=labels, **wanted))
        self.nodes.append(name)
        return name

    async def pod(
        self, name: str, *, client: Client | None = None, labels: dict[str, str] | None = None, **spec: Any
    ) -> Json:
        manifest = pod(name, labels=labels, **spec)
        if "nodeName" not in spec:
            manifest["spec"]["nodeSelector"] = {"test": self.namespace}
        return await (client or self.admin).create(resources.PODS, manifest, namespace=self.namespace)

    async def get(self, name: str, client: Client | None = None) -> Json:
        return await (client or self.admin).get(resources.PODS, name, namespace=self.namespace)

    async def until(self, name: str, holds: Callable[[Json], bool], client: Client | None = None) -> Json:
        return await until(client or self.admin, resources.PODS, name, holds, namespace=self.namespace)

    async def bound(self, name: str) -> str:
        seen = await self.until(name, lambda pod: bool(pod["spec"].get("nodeName")))
        return str(seen["spec"]["nodeName"])

    async def running(self, name: str) -> None:
        await self.until(name, lambda pod: pod["status"].get("phase") == "Running")

    async def gone(self, name: str) -> None:
        await gone(self.admin, resources.PODS, name, namespace=self.namespace)


def namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Json:
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": containers, **spec},
    }


async def until(
    client: Client,
    resource: Resource,
    name: str,
    holds: Callable[[Json], bool],
    *,
    namespace: str | None = None,
) -> Json:
    """The first version of an object for which this holds."""
    last: Json = {}
    try:
        async with (
            asyncio.timeout(PATIENCE),
            client.watch(resource, namespace=namespace, field_selector=f"metadata.name={name}") as watch,
        ):
            async for event in watch:
                last = event.object
                if event.type in ("ADDED", "MODIFIED") and holds(last):
                    return last
    except TimeoutError:
        pass
    raise AssertionError(f"{resource.kind} {name} did not come to it; last seen: {last.get('status', last)}")


async def gone(client: Client, resource: Resource, name: str, *, namespace: str | None = None) -> None:
    """Wait until an object that is there is there no more."""
    selector = f"metadata.name={name}"
    listed = await client.list(resource, namespace=namespace, field_selector=selector)
    if not listed["items"]:
        return
    version = listed["metadata"]["resourceVersion"]
    async with (
        asyncio.timeout(PATIENCE),
        client.watch(
            resource, namespace=namespace, field_selector=selector, resource_version=version
        ) as watch,
    ):
        async for event in watch:
            if event.type == DELETED:
                return


def audit(*logs: Path) -> list[Json]:
    """All events of audit logs."""
    return [orjson.loads(line) for log in logs for line in log.read_bytes().splitlines()]


def processes_of(folder: Path) -> dict[int, str]:
    """What runs with this folder in its command line: pid and program."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(f"{folder}/".encode() in part for part in command[1:]):
            found[int(process.name)] = command[0].decode()
    return found
