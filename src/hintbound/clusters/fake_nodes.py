"""Nodes without a machine behind them: their manifests, and the KWOK stages that play kubelet for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hintbound import data

FAKE_ANNOTATION: Final = "kwok.x-k8s.io/node"
"""KWOK manages the nodes whose annotation of this name says `fake`."""
NODE_LABEL: Final = "hintbound.dev/node"
"""`not-ready`: the node never becomes Ready."""
TERMINATION_LABEL: Final = "hintbound.dev/termination"
"""On a pod: `instant`, `slow` (5 s longer than its grace period), `stuck` (never); else exactly its grace period."""


def stages() -> str:
    """All stages as one YAML stream, for `kwok --config`."""
    return "\n---\n".join(path.read_text() for path in sorted((data.folder("fixtures") / "stages").glob("*.yaml")))


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
) -> dict[str, Any]:
    """The manifest of a node for KWOK; it is Ready soon after it was created."""
    capacity = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {FAKE_ANNOTATION: "fake"},
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})},
        },
        "spec": {"taints": [dict(taint) for taint in taints]} if taints else {},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
