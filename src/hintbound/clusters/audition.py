"""Whether anybody serves a `schedulerName`: the only sign of readiness that every scheduler gives."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from hintbound.clusters.fake_nodes import FAKE_ANNOTATION, fake_node
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.errors import AlreadyExists, ApiError, NotFound
from hintbound.protocol import TEST_LABEL, Seconds

_POD = "audition"


class Audition:
    """A pod on a node of its own that only the scheduler of this name can bind."""

    def __init__(self, scheduler_name: str, taints: Sequence[Mapping[str, str]] = ()) -> None:
        self.name = f"hb-audition-{secrets.token_hex(2)}"
        """Of its namespace and its node."""
        self._node = fake_node(self.name, labels={TEST_LABEL: self.name}, taints=taints)
        self._pod = _pod(scheduler_name, self.name)
        self.refusal = ""
        """Why the pod could not be created when that was tried last."""

    async def passed(self, admin: Client) -> bool:
        """Whether the pod has been bound. To be asked until it has; then all of it is gone again."""
        try:
            pod = await admin.get(resources.PODS, _POD, namespace=self.name)
        except NotFound:
            await self._begin(admin)
            return False
        if not pod["spec"].get("nodeName"):
            return False
        await self.remove(admin)
        return True

    async def remove(self, admin: Client, timeout: Seconds | None = None) -> None:
        """Remove what is there of it. Raises KubeError."""
        now: dict[str, Any] = {"grace_period": 0, "timeout": timeout}
        with contextlib.suppress(NotFound):
            await admin.delete(resources.PODS, _POD, namespace=self.name, **now)
        for resource in (resources.NODES, resources.NAMESPACES):
            with contextlib.suppress(NotFound):
                await admin.delete(resource, self.name, timeout=timeout)

    async def _begin(self, admin: Client) -> None:
        """What is there already is well; a namespace takes a moment before it takes pods."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        for resource, manifest in ((resources.NAMESPACES, namespace), (resources.NODES, self._node)):
            with contextlib.suppress(AlreadyExists):
                await admin.create(resource, manifest)
        try:
            await admin.create(resources.PODS, self._pod, namespace=self.name)
            self.refusal = ""
        except ApiError as error:
            self.refusal = str(error)


def _pod(scheduler_name: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _POD},
        "spec": {
            "schedulerName": scheduler_name,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "nodeSelector": {TEST_LABEL: node},
            "tolerations": [{"key": FAKE_ANNOTATION, "operator": "Exists"}],
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}],
        },
    }
