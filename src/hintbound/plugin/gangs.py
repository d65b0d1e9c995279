"""Pods that are scheduled together or not at all: PodGroups with the policy gang (KEP-4671)."""

from __future__ import annotations

from typing import Any

from hintbound.plugin.arena import Arena


async def gang(arena: Arena, size: int, *, priority: str | None = None) -> dict[str, Any]:
    """A PodGroup that needs `size` pods; what its members have in their spec."""
    await arena.make(
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "gang"},
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": size}},
                **({"priorityClassName": priority} if priority else {}),
            },
        }
    )
    return {"schedulingGroup": {"podGroupName": "gang"}}
