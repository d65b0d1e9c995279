"""A scheduler that is killed while a pod waits on Permit: what the next one knows of the pod's node."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.plugin.faults import faulty_scheduler, lift, ordered

EXPECTS = "gate(scheduler, NominatedNodeNameForExpectation)"
NEEDS: list[Capability | Feature] = [
    Capability.FAKE_NODES,
    Capability.OWN_SCHEDULER,
    Capability.FAULTY_SCHEDULER,
    Capability.RESTART_COMPONENT,
    Feature.UPSTREAM_DETAILS,
]
UNATTRACTIVE = [{"key": "hintbound.dev/unattractive", "effect": "PreferNoSchedule"}]


@behaviour(
    "NNN-RESTART-PERMIT-RESUMED",
    must="A pod whose scheduler is killed while it waits on Permit is bound by the next one to the node that "
    "it was nominated to, though another node has become the better one.",
    why="What was made ready on that node is not lost: the nomination is the scheduler's memory.",
    level="extended",
    applies=EXPECTS,
    needs=NEEDS,
    source="KEP-5278 story 1; measured 1.34.0-1.37.2 with the gate on",
    affects=["scheduler", "operator"],
    advice="Let Permit and PreBind plugins find what they made ready on the nominated node after a restart.",
)
async def test_nomination_steers_the_next_scheduler(arena: Arena) -> None:
    """A scheduler is killed while a pod waits in Permit; the other node is made the better one before it is
    started again."""
    first, _other, bound = await killed_while_a_pod_waits(arena)
    assert bound == first


@behaviour(
    "NNN-RESTART-PERMIT-FORGOTTEN",
    must="Without NominatedNodeNameForExpectation a pod whose scheduler is killed while it waits on Permit "
    "is bound by the next one wherever it is best then.",
    why="What was made ready on the first node is left behind, and nobody knows that it is there.",
    level="extended",
    applies=f"not {EXPECTS}",
    severity="hazard",
    needs=NEEDS,
    source="KEP-5278 story 1; measured 1.33.13-1.37.2 with the gate off or absent",
    affects=["scheduler", "operator"],
    advice="Turn the gate on before you rely on Permit or PreBind plugins that make nodes ready.",
)
async def test_next_scheduler_starts_over(arena: Arena) -> None:
    """A scheduler is killed while a pod waits in Permit; the other node is made the better one before it is
    started again."""
    _first, other, bound = await killed_while_a_pod_waits(arena)
    assert bound == other


async def killed_while_a_pod_waits(arena: Arena) -> tuple[str, str, str]:
    """The node where it waited, the other one, which is the better one now, and where it was bound."""
    scheduler = await faulty_scheduler(arena)
    first, other = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.pod(priority="hintbound-high", **ordered("permit-waits=10m"))
    barrier = await arena.pod("barrier", priority="hintbound-low")
    assert await arena.bound(barrier) == first

    await scheduler.kill()
    for node, taints in ((first, UNATTRACTIVE), (other, [])):
        await arena.admin.patch(resources.NODES, node, {"spec": {"taints": taints}})
    await lift(arena, pod)
    await scheduler.restart()

    return first, other, await arena.bound(pod)
