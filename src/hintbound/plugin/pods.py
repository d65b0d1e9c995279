"""Pods as scenarios use them: a handle, and the manifest of one that asks for no more than it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hintbound.clusters.fake_nodes import FAKE_ANNOTATION, TERMINATION_LABEL
from hintbound.plugin.evidence import condition_of

GATE: Final = "hintbound.dev/hold"
"""The scheduling gate that keeps a pod from its scheduler until a hint has been written."""
_IMAGE: Final = "registry.k8s.io/pause:3.10"


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod that a scenario created."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return self.name


def pod_manifest(
    name: str,
    *,
    scheduler: str,
    cpu: str = "1",
    priority: str | None = None,
    gated: bool = False,
    node: str | None = None,
    node_selector: Mapping[str, str] | None = None,
    grace: int = 0,
    termination: str | None = None,
    preemption: str | None = None,
    finalizers: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    host_port: int | None = None,
    spec: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A pod of one container. `grace` is its terminationGracePeriodSeconds; `spec` replaces top-level spec
    fields."""
    body: dict[str, Any] = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": grace,
        "automountServiceAccountToken": False,
        "tolerations": [{"key": FAKE_ANNOTATION, "operator": "Exists"}],
        "containers": [{"name": "main", "image": _IMAGE, "resources": {"requests": {"cpu": cpu}}}],
    }
    if host_port:
        body["containers"][0]["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    if node_selector:
        body["nodeSelector"] = dict(node_selector)
    if priority:
        body["priorityClassName"] = priority
    if gated:
        body["schedulingGates"] = [{"name": GATE}]
    if node:
        body["nodeName"] = node
    if preemption:
        body["preemptionPolicy"] = preemption
    metadata: dict[str, Any] = {"name": name}
    if labels or termination:
        metadata["labels"] = {**(labels or {}), **({TERMINATION_LABEL: termination} if termination else {})}
    if annotations:
        metadata["annotations"] = dict(annotations)
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**body, **(spec or {})}}


def nomination(pod: Mapping[str, Any]) -> str:
    """A pod's `nominatedNodeName`, empty when unset."""
    return str(pod["status"].get("nominatedNodeName") or "")


def scheduled(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod's PodScheduled condition, empty when it has none."""
    return condition_of(pod, "PodScheduled")
