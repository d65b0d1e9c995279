"""Speak to an apiserver in plain JSON: connection, client, watch, informer, metrics.

The constants of resources are in `hintbound.kube.resources`, the errors in `hintbound.kube.errors`.
"""

from hintbound.kube.client import Answer, Client, PatchType, Propagation
from hintbound.kube.connection import Connection
from hintbound.kube.exchange import Call, Json, Outcome, Tap
from hintbound.kube.metrics import Metrics, component_version, feature_gates
from hintbound.kube.resources import Resource
from hintbound.kube.watch import Watch, WatchEvent

__all__ = [
    "Answer",
    "Call",
    "Client",
    "Connection",
    "Json",
    "Metrics",
    "Outcome",
    "PatchType",
    "Propagation",
    "Resource",
    "Tap",
    "Watch",
    "WatchEvent",
    "component_version",
    "feature_gates",
]
