"""The kube-scheduler of `subjects/faulty-scheduler`, which fails where a pod orders it to."""

from __future__ import annotations

from typing import Any, Final

from hintbound.clusters.protocol import Component
from hintbound.kube import resources
from hintbound.plugin.arena import Arena
from hintbound.plugin.pods import Pod
from hintbound.protocol import Actor

_ORDER: Final = "hintbound.dev/fault"
_PLUGIN: Final = {"plugins": {"multiPoint": {"enabled": [{"name": "Fault"}]}}}


async def faulty_scheduler(arena: Arena) -> Component:
    """One of this scenario alone; needs FAULTY_SCHEDULER."""
    return await arena.own_scheduler(config={"profiles": [_PLUGIN]}, program=arena.extras.faulty_scheduler)


def ordered(fault: str) -> dict[str, Any]:
    """What a pod has that gives this order, for `arena.pod`.

    `reserve-rejected`, `reserve-error`, `permit-rejected`, `permit-error`; or `permit-waits=DURATION` (`2s`):
    it waits on Permit until `lift`, and is rejected when that time is over.
    """
    return {"annotations": {_ORDER: fault}}


async def lift(arena: Arena, pod: Pod) -> None:
    """Take the order back: a pod that waits on Permit may go on, any other is tried again."""
    nothing = {"metadata": {"annotations": {_ORDER: None}}}
    await arena.client(Actor.AUTHOR).patch(resources.PODS, pod.name, nothing, namespace=pod.namespace)
