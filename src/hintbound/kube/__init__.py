"""Speak to an apiserver in plain JSON: connection, client, watch, informer, metrics.

The constants of resources are in `hintbound.kube.resources`, the errors in `hintbound.kube.errors`.
"""

from hintbound.kube.answer import Answer
from hintbound.kube.changes import Change, ChangeType, Gap, Key, Source, Subscription
from hintbound.kube.client import Client, PatchType, Propagation
from hintbound.kube.connection import Connection
from hintbound.kube.exchange import Call, Json, Outcome, Tap
from hintbound.kube.informer import Informer, Initial
from hintbound.kube.metrics import Metrics, component_version, feature_gates
from hintbound.kube.resources import Resource
from hintbound.kube.timing import Backoff, Timing
from hintbound.kube.watch import Watch, WatchEvent

__all__ = [
    "Answer",
    "Backoff",
    "Call",
    "Change",
    "ChangeType",
    "Client",
    "Connection",
    "Gap",
    "Informer",
    "Initial",
    "Json",
    "Key",
    "Metrics",
    "Outcome",
    "PatchType",
    "Propagation",
    "Resource",
    "Source",
    "Subscription",
    "Tap",
    "Timing",
    "Watch",
    "WatchEvent",
    "component_version",
    "feature_gates",
]
