"""Facts about a pod that one who may only patch `pods/status` can forge or wipe."""

from hintbound.kube.client import PatchType
from hintbound.plugin import Arena, behaviour, scheduled


@behaviour(
    "NNN-DAMAGE-SCHEDULED-FORGED",
    must="`pods/status` takes the condition PodScheduled=True for a pod that has no node.",
    why="Readers must look at `spec.nodeName`: the condition is a claim of whoever may patch the status.",
    severity="hazard",
    affects=["autoscaler", "dashboard", "operator"],
    advice="Take a pod for placed when spec.nodeName is set, never for its conditions. Refuse, by a "
    "ValidatingAdmissionPolicy on pods/status, any change of conditions by whoever only hints.",
    source="kubernetes validation.ValidatePodStatusUpdate; measured 1.33.13-1.37.2",
)
async def test_scheduled_condition_can_be_forged(arena: Arena) -> None:
    """The nominator, who may only patch `pods/status`, writes the condition to a pod without a scheduler."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    forged = {"type": "PodScheduled", "status": "True"}
    await arena.accepted(arena.patch_status(pod, {"conditions": [forged]}))

    now = await arena.now(pod)
    assert scheduled(now).get("status") == "True"
    assert now["spec"].get("nodeName", "") == ""


@behaviour(
    "NNN-DAMAGE-IP-FORGED",
    must="`pods/status` takes any valid address as podIP of a bound pod.",
    why="Services send their traffic where this address points, so the right to hint is also the right to "
    "divert.",
    severity="hazard",
    affects=["operator"],
    advice="Let only node agents change podIP and podIPs: a ValidatingAdmissionPolicy on pods/status that "
    "gives whoever hints status.nominatedNodeName and nothing else.",
    source="kubernetes validation.ValidatePodStatusUpdate; measured 1.33.13-1.37.2",
)
async def test_pod_ip_can_be_forged(arena: Arena) -> None:
    """The nominator, who may only patch `pods/status`, writes an address of its choice to a bound pod."""
    pod = await arena.pod(node="node-a")

    address = "192.0.2.1"
    await arena.accepted(arena.patch_status(pod, {"podIP": address, "podIPs": [{"ip": address}]}))

    assert (await arena.now(pod))["status"]["podIP"] == address


@behaviour(
    "NNN-DAMAGE-STATUS-WIPED",
    must="A merge patch of `pods/status` with null, or a strategic one with `$patch: replace`, removes the "
    "whole status but qosClass.",
    why="Phase, conditions and the scheduler's nomination go with one careless write, and nothing restores "
    "them while the pod waits.",
    severity="hazard",
    affects=["nominator", "operator"],
    advice='Name the one field: {"status": {"nominatedNodeName": null}} clears a hint, {"status": null} '
    "clears everything. A ValidatingAdmissionPolicy on pods/status can refuse a write that drops "
    "other fields.",
    source="RFC 7396, kubernetes podStatusStrategy.PrepareForUpdate; measured 1.33.13-1.37.2",
)
async def test_status_can_be_wiped(arena: Arena) -> None:
    """The nominator fills a pod's status and wipes it again, once by null and once by `$patch: replace`."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    full = {"nominatedNodeName": "node-a", "conditions": [waiting]}
    replaced = {"$patch": "replace", "nominatedNodeName": "node-b"}

    await arena.patch_status(pod, full)
    nulled = await arena.accepted(arena.write_status(pod, {"status": None}))
    await arena.patch_status(pod, full)
    left = await arena.accepted(arena.write_status(pod, {"status": replaced}, PatchType.STRATEGIC))

    assert nulled["status"] == {"qosClass": "Burstable"}
    assert left["status"] == {"qosClass": "Burstable", "nominatedNodeName": "node-b"}
