"""kubernetes#106780: a nominated pod that can no longer run keeps its room from others."""

from hintbound.kube import resources
from hintbound.plugin import (
    Arena,
    Capability,
    Feature,
    behaviour,
    nomination,
    regression,
    scheduled,
    waiting_claim,
)
from hintbound.plugin.volumes import Claim

MISSING = "persistentvolumeclaim"


@behaviour(
    "BUG-KUBERNETES-106780",
    must="The attempt that shows that a nominated pod cannot run takes its nomination, and frees the room.",
    why="The room stays reserved for a pod that cannot use it: the node stands empty for its equals.",
    level="regression",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.CONDITIONS, Feature.VOLUMES],
    source="kubernetes#106780, fixed by #106816 in 1.23",
)
@regression(
    "kubernetes#106780",
    "the nomination of a pod that cannot run is not cleared, and its room stays occupied",
    shows=["embedded:1.34.4", "embedded:1.34.0", "embedded:1.35.4", "embedded:1.37.2"],
    absent=["embedded:1.33.13"],
    means="the claim of a waiting preemptor is deleted, then its victim is let go",
    note="The releases of the report (up to 1.22) are not pinned. Since 1.34 the symptom is back by another "
    "way: what PreFilter refuses keeps its nomination where DynamicResourceAllocation is on; see "
    "docs/findings/prefilter-keeps-the-hint.md.",
)
async def test_room_of_the_unable_is_given_away(arena: Arena) -> None:
    """A finalizer holds the victim of a preemptor with a claim; the claim is deleted, the victim let go, and
    a rival of the same priority must get the room."""
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high", spec=claim.spec)
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await arena.admin.delete(resources.PERSISTENT_VOLUME_CLAIMS, claim.name, namespace=arena.namespace)
    await known_to_be_gone(arena, claim)
    await arena.release(victim)
    told = await arena.until(
        preemptor, lambda o: MISSING in scheduled(o).get("message", ""), f"{preemptor} to miss its claim"
    )

    assert nomination(told) == ""
    rival = await arena.pod("rival", cpu="4", priority="hintbound-high")
    assert await arena.bound(rival) == node


async def known_to_be_gone(arena: Arena, claim: Claim) -> None:
    """Wait until the scheduler knows: it refuses a pod for the claim, not for its size."""
    message = ""
    while MISSING not in message:
        large = await arena.pod("large", cpu="64", priority="hintbound-low", spec=claim.spec)
        message = scheduled(await arena.unschedulable(large))["message"]
