"""A hint on a pod that fits nowhere."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

SCHEDULER = "system:kube-scheduler"


@behaviour(
    "NNN-CLEAR-NOTHING-FITS",
    must="When no node fits and nothing can be preempted, the same PATCH that says Unschedulable clears "
    "the hint.",
    why="A hint that stays would hold its room and keep autoscalers from adding any (they skip nominated "
    "pods).",
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Feature.HINTS, Feature.CONDITIONS],
    source="KEP-5278, kubernetes#89111; measured 1.33.13-1.37.2",
)
async def test_hint_is_cleared_with_the_condition(arena: Arena) -> None:
    """A gated pod is hinted to the only node, which is too small, and released; the scheduler's PATCHes are
    read from the audit log."""
    (small,) = await arena.nodes(1, cpu="1")
    pod = await arena.gated_pod(cpu="2")

    await arena.hint(pod, small)
    await arena.ungate(pod)

    refused = await arena.unschedulable(pod)
    assert nomination(refused) == "", "the version that says Unschedulable still carries the hint"
    requests = (await arena.life(pod)).requests
    sent = [set(r.body["status"]) - {"$setElementOrder/conditions"} for r in requests if r.user == SCHEDULER]
    assert sent[:1] == [{"nominatedNodeName", "conditions"}], "the first PATCH does not carry both"
    # A retry from an older copy of the pod may send the same again; but never the one without the other.
    assert {"nominatedNodeName"} not in sent, "a PATCH cleared the hint without a condition"
