"""What a pod shows while a Permit plugin makes it wait, and when it has waited too long."""

from hintbound.plugin import Arena, Capability, Feature, Pod, behaviour, nomination, scheduled
from hintbound.plugin.faults import faulty_scheduler, lift, ordered

EXPECTS = "gate(scheduler, NominatedNodeNameForExpectation)"
KEEPS = f'version(scheduler, "==1.34") and {EXPECTS}'
NEEDS: list[Capability | Feature] = [
    Capability.FAKE_NODES,
    Capability.OWN_SCHEDULER,
    Capability.FAULTY_SCHEDULER,
    Feature.CONDITIONS,
    Feature.UPSTREAM_DETAILS,
]


@behaviour(
    "NNN-PERMIT-WAIT-SHOWN",
    must="While a pod waits on Permit it is nominated to its node, in every version until it is bound there.",
    why="A group that waits for its last member holds empty nodes: whoever removes such nodes must see it.",
    level="extended",
    applies=EXPECTS,
    needs=NEEDS,
    source="KEP-5278, Framework.WillWaitOnPermit; measured 1.34.0-1.37.2 with the gate on",
    affects=["scheduler", "autoscaler", "dashboard"],
    advice="Count the room of nominated pods as used; a co-scheduling plugin need not show it by itself.",
)
async def test_node_is_shown_on_permit(arena: Arena) -> None:
    """A scheduler with a plugin that waits on demand holds a pod in Permit until the test lets it go; its
    recorded versions are compared."""
    pod, node = await waiting_pod(arena)

    assert await arena.nominated(pod) == node
    await lift(arena, pod)
    assert await arena.bound(pod) == node

    shown = [v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name]
    assert set(shown[shown.index(node) :]) == {node}, f"what the unbound versions showed: {shown}"


@behaviour(
    "NNN-PERMIT-WAIT-HIDDEN",
    must="Without NominatedNodeNameForExpectation a pod shows no nomination while it waits on Permit.",
    why="Its room is taken, and nobody but the scheduler knows: an autoscaler may remove the empty node.",
    level="extended",
    applies=f"not {EXPECTS}",
    severity="hazard",
    needs=NEEDS,
    source="kubernetes#125491; measured 1.33.13-1.37.2 with the gate off or absent",
    affects=["scheduler", "autoscaler"],
    advice="Keep autoscalers from nodes that a waiting group holds by other means, say placeholder pods.",
)
async def test_node_is_hidden_on_permit(arena: Arena) -> None:
    """A scheduler with a plugin that waits on demand holds a pod in Permit until the test lets it go; its
    recorded versions are compared."""
    pod, node = await waiting_pod(arena)

    assert "nodeName" not in (await arena.now(pod))["spec"], "it did not wait"
    await lift(arena, pod)
    assert await arena.bound(pod) == node

    shown = {version.nominated_node_name for version in (await arena.life(pod)).versions}
    assert shown == {""}, "what the versions showed"


@behaviour(
    "NNN-PERMIT-TIMED-OUT-CLEARED",
    must="A hinted pod that waits on Permit for longer than the plugin allows loses its hint.",
    why="A group that was not complete in time starts over without its plan.",
    level="extended",
    applies=f"not ({KEEPS})",
    needs=NEEDS,
    source="KEP-5278, kubernetes#135007; measured 1.33.13-1.37.2",
    affects=["nominator", "scheduler"],
    advice="Watch PodScheduled of the pods that you hint: whenever it turns False write the hint anew.",
)
async def test_time_out_clears_the_hint(arena: Arena) -> None:
    """A scheduler with a plugin that waits on demand lets a gated, hinted pod wait in Permit for a second."""
    hinted, after = await hint_after_a_time_out(arena)
    assert after == "", f"the hint at {hinted} was kept"


@behaviour(
    "NNN-PERMIT-TIMED-OUT-KEPT",
    must="In 1.34 with NominatedNodeNameForExpectation a hinted pod that waits on Permit for longer than the "
    "plugin allows keeps its hint.",
    why="1.34 promised external writers that the scheduler keeps their value; 1.35 took it back.",
    level="extended",
    applies=KEEPS,
    needs=NEEDS,
    source="KEP-5278, kubernetes#133276; measured 1.34.0 and 1.34.4 with the gate on",
    affects=["nominator", "scheduler"],
    advice="Do not build on it: from 1.35 on the hint is cleared.",
)
async def test_time_out_keeps_the_hint(arena: Arena) -> None:
    """A scheduler with a plugin that waits on demand lets a gated, hinted pod wait in Permit for a second."""
    hinted, after = await hint_after_a_time_out(arena)
    assert after == hinted


async def waiting_pod(arena: Arena) -> tuple[Pod, str]:
    """A pod that waits on Permit, and the node where it does: a pod of less priority was tried after it."""
    await faulty_scheduler(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(priority="hintbound-high", **ordered("permit-waits=10m"))
    barrier = await arena.pod("barrier", priority="hintbound-low")
    await arena.bound(barrier)
    return pod, node


async def hint_after_a_time_out(arena: Arena) -> tuple[str, str]:
    await faulty_scheduler(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod(**ordered("permit-waits=1s"))
    await arena.hint(pod, node)
    await arena.ungate(pod)
    told = await arena.until(
        pod, lambda o: scheduled(o).get("reason") == "Unschedulable", f"{pod} to be rejected"
    )
    return node, nomination(told)
