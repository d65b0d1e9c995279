"""A scripted nominator that keeps to the protocol: what it decides it decides on a pod that it has read, and
says so in its write."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hintbound.kube import resources
from hintbound.kube.errors import Conflict
from hintbound.kube.exchange import Json
from hintbound.plugin.judgement import Unproven
from hintbound.plugin.pods import Pod
from hintbound.protocol import DECISION_ANNOTATION, Actor, Decision, Seconds

if TYPE_CHECKING:
    from hintbound.plugin.arena import Arena

MOST_CONFLICTS: Final = 10
"""So often it decides anew."""
TTL: Final[Seconds] = 60.0
"""For how long it stands by a decision."""

Choice = Callable[[Json], Awaitable[str | None]]
"""Of a pod as it was read: the node to hint; None for none. What happens meanwhile is not known to it."""


class ScriptedWriter:
    """Speaks as the nominator of a scenario, which is judged by the checks as a real one
    (`judges_nominator=True`). Source: seed 001."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    async def hint(self, pod: Pod, choose: Choice) -> Json:
        """Read, decide, write; after a conflict all of it again.

        Gives the pod as it was answered: to the write, or to the read where there was nothing to decide (it
        has a node, another pod has its name, or `choose` gave none). Raises ApiError, Unproven.
        """
        for _ in range(MOST_CONFLICTS):
            seen = await self._arena.client(Actor.OBSERVER).get(
                resources.PODS, pod.name, namespace=pod.namespace
            )
            ours = seen["metadata"]["uid"] == pod.uid and not seen["spec"].get("nodeName")
            node = await choose(seen) if ours else None
            if node is None:
                return seen
            basis = {key: seen["metadata"][key] for key in ("uid", "resourceVersion")}
            annotations = {DECISION_ANNOTATION: _decision(basis["resourceVersion"]).to_annotation()}
            metadata = {**basis, "annotations": annotations}
            body = {"metadata": metadata, "status": {"nominatedNodeName": node}}
            try:
                return await self._arena.write_status(pod, body)
            except Conflict:
                continue
        raise Unproven(f"{pod} changed {MOST_CONFLICTS} times between read and write")


def _decision(resource_version: str) -> Decision:
    now = datetime.now(UTC)
    return Decision(str(uuid.uuid4()), "as the scenario wants", "scripted/1", now, TTL, resource_version)
