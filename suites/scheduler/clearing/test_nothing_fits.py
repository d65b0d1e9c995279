"""A hint on a pod that fits nowhere."""

from hintbound.clusters.protocol import Capability
from hintbound.plugin import Arena, behaviour
from hintbound.plugin.arena import nomination

SCHEDULER = "system:kube-scheduler"


@behaviour(
    "NNN-CLEAR-NOTHING-FITS",
    must="When no node fits and nothing can be preempted, the same PATCH that says Unschedulable clears the hint.",
    why="A hint that stays would hold its room and keep autoscalers from adding any (they skip nominated pods).",
    needs=[Capability.FAKE_NODES, Capability.AUDIT],
    source="KEP-5278 C2, kubernetes#89111; measured 1.34.0-1.37.2",
)
async def test_hint_is_cleared_with_the_condition(arena: Arena) -> None:
    (small,) = await arena.nodes(1, cpu="1")
    pod = await arena.gated_pod(cpu="2")

    await arena.hint(pod, small)
    await arena.ungate(pod)

    refused = await arena.unschedulable(pod)
    assert nomination(refused) == "", "the version that says Unschedulable still carries the hint"
    life = await arena.life(pod)
    sent = [set(request.body["status"]) - {"$setElementOrder/conditions"} for request in life.requests if request.user == SCHEDULER]
    assert sent[0] == {"nominatedNodeName", "conditions"}, "the first PATCH does not carry both"
    assert {"nominatedNodeName"} not in sent, "a PATCH cleared the hint without a condition"
