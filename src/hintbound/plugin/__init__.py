"""The pytest plugin: behaviours as tests, run as concurrent scenarios on a real control plane.

What a suite imports stands here: `behaviour`, `Arena`, `Pod`, `Capability`, `Feature`, how to read a
pod, and the errors that give a verdict.
Loaded lazily, because pytest imports this package in every project of an environment that has hintbound
installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hintbound.clusters.protocol import Capability
    from hintbound.plugin.arena import Arena
    from hintbound.plugin.behaviours import behaviour
    from hintbound.plugin.judgement import NotSeen, Unproven
    from hintbound.plugin.pods import Pod, nomination, scheduled
    from hintbound.plugin.regressions import regression
    from hintbound.plugin.volumes import waiting_claim
    from hintbound.protocol import Feature

__all__ = [
    "Arena",
    "Capability",
    "Feature",
    "NotSeen",
    "Pod",
    "Unproven",
    "behaviour",
    "nomination",
    "regression",
    "scheduled",
    "waiting_claim",
]

_HOMES = {
    "Arena": "hintbound.plugin.arena",
    "Capability": "hintbound.clusters.protocol",
    "Feature": "hintbound.protocol",
    "NotSeen": "hintbound.plugin.judgement",
    "Pod": "hintbound.plugin.pods",
    "Unproven": "hintbound.plugin.judgement",
    "behaviour": "hintbound.plugin.behaviours",
    "nomination": "hintbound.plugin.pods",
    "regression": "hintbound.plugin.regressions",
    "scheduled": "hintbound.plugin.pods",
    "waiting_claim": "hintbound.plugin.volumes",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
