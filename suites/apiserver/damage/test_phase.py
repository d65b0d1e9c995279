"""The phase, written by one who may only patch `pods/status`."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, scheduled


@behaviour(
    "NNN-DAMAGE-PHASE-FAILED",
    must="A gated pod whose phase was set to Failed through `pods/status` is never scheduled, also not once "
    "its gate is removed.",
    why="The right that a nominator needs is enough to end any pod that waits: guard it with an admission "
    "policy.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.UPSTREAM_DETAILS],
    affects=["operator"],
    advice="Refuse, by a ValidatingAdmissionPolicy on pods/status, any change of status.phase by whoever "
    "only hints. Alert on pods that are Failed and have no spec.nodeName: neither a node nor a "
    "kubelet can have failed them.",
    source="kubernetes scheduler pod informer; measured 1.33.13-1.37.2",
)
async def test_failed_pod_is_never_scheduled(arena: Arena) -> None:
    """The nominator sets a gated pod to Failed; the gate is removed, and two later pods through the same
    scheduler are bound while it is not."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()

    await arena.accepted(arena.patch_status(pod, {"phase": "Failed"}))
    await arena.ungate(pod)
    for _ in range(2):  # two attempts later: the first may have begun before the gate was gone
        assert await arena.bound(await arena.pod("barrier")) == node

    now = await arena.now(pod)
    assert now["spec"].get("nodeName", "") == "", "the failed pod was scheduled"
    assert now["status"]["phase"] == "Failed"
    assert scheduled(now).get("reason") != "Unschedulable", "the scheduler tried the failed pod"


@behaviour(
    "NNN-DAMAGE-PHASE-FREES-HINT",
    must="A hint on a pod whose phase was set to Failed through `pods/status` no longer holds room.",
    why="One hostile or mistaken write takes a reservation from another nominator's pod.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["operator", "nominator"],
    advice="Refuse, by a ValidatingAdmissionPolicy on pods/status, any change of status.phase by whoever "
    "only hints. A nominator counts a hint on a pod that is Failed or Succeeded as gone and plans "
    "anew.",
    source="kubernetes scheduler pod informer; measured 1.33.13-1.37.2",
)
async def test_failed_pod_holds_no_room(arena: Arena) -> None:
    """A hint fills a node and keeps a rival out; the nominator sets the hinted pod to Failed, and the rival
    must be bound."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, node)
    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)

    await arena.accepted(arena.patch_status(holder, {"phase": "Failed"}))

    assert await arena.bound(rival) == node
    assert await arena.nomination(holder) == node, "the hint itself was cleared"


@behaviour(
    "NNN-DAMAGE-PHASE-OVERCOMMITS",
    must="A running pod whose phase was set to Succeeded through `pods/status` frees its room for the "
    "scheduler, and the next pod is bound into it though the containers of the first run on.",
    why="The node is over-committed by a write that looks harmless: no eviction, no deletion, no event.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["operator", "dashboard"],
    advice="Refuse, by a ValidatingAdmissionPolicy on pods/status, any change of status.phase by whoever "
    "only hints. Alert on pods that are Succeeded or Failed while a containerStatus is still "
    "running.",
    source="kubernetes scheduler pod informer; measured 1.33.13-1.37.2",
)
async def test_succeeded_pod_frees_its_room(arena: Arena) -> None:
    """A pod waits because another one runs on its node; the nominator sets the running one to Succeeded, and
    the waiting one must be bound."""
    (node,) = await arena.nodes(1, cpu="4")
    running = await arena.running_pod(node, "running", cpu="1")
    large = await arena.pod("large", cpu="4")
    await arena.unschedulable(large)

    await arena.accepted(arena.patch_status(running, {"phase": "Succeeded"}))

    assert await arena.bound(large) == node
    containers = (await arena.now(running))["status"]["containerStatuses"]
    assert all("running" in container["state"] for container in containers), "the first pod had stopped"


@behaviour(
    "NNN-DAMAGE-PHASE-UNCHECKED",
    must="`pods/status` takes any text as phase.",
    why="Readers that know five phases meet a sixth: a write of the status is not checked for sense.",
    severity="hazard",
    affects=["dashboard", "operator"],
    advice="Show a phase that you do not know as unknown instead of failing on it. Refuse, by a "
    "ValidatingAdmissionPolicy on pods/status, any change of status.phase by whoever only hints.",
    source="kubernetes validation.ValidatePodStatusUpdate; measured 1.33.13-1.37.2",
)
async def test_any_phase_is_accepted(arena: Arena) -> None:
    """The nominator writes the phase `Bogus` to a pod."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    await arena.accepted(arena.patch_status(pod, {"phase": "Bogus"}))

    assert (await arena.now(pod))["status"]["phase"] == "Bogus"
