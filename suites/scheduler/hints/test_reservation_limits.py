"""What a hint reserves although it should not, and what it does not although it might be thought to."""

from hintbound.kube.exchange import Json
from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination
from hintbound.protocol import TEST_LABEL

HOLD = ["hintbound.dev/hold"]
NEEDS: list[Capability | Feature] = [
    Capability.FAKE_NODES,
    Feature.RESERVATIONS,
    Feature.CONDITIONS,
    Feature.UPSTREAM_DETAILS,
]
SOURCE = "kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-HINT-TAKES-PREEMPTED-ROOM",
    must="A hint of equal priority that is written while a victim terminates takes the room from the "
    "preemptor for which it goes: that loses its nomination.",
    why="A pod was ended for nothing: neither the preemptor runs nor, while it is gated, the hinted pod.",
    severity="hazard",
    needs=[*NEEDS, Feature.PREEMPTION],
    affects=["nominator", "operator"],
    advice="Do not hint at a node to which a pod of the same or lower priority is nominated: look at the "
    "nominations of others before each hint.",
    source=f"{SOURCE}; docs/findings/a-hint-takes-the-room-of-a-victim.md",
)
async def test_hint_takes_the_room_of_a_victim(arena: Arena) -> None:
    """A preemptor waits for its victim, which a finalizer holds; a gated pod of its priority is hinted to the
    same node, and the victim goes."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(node, cpu="4", priority="hintbound-low", finalizers=HOLD)
    holder = await arena.gated_pod("holder", cpu="4", priority="hintbound-high")
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    waiting = await arena.until(preemptor, lambda o: nomination(o) == node, f"{preemptor} to be nominated")
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await arena.hint(holder, node)
    await arena.release(victim)
    await arena.gone(victim)

    since = int(waiting["metadata"]["resourceVersion"])
    await arena.until(
        preemptor,
        lambda o: int(o["metadata"]["resourceVersion"]) > since and not nomination(o) and not bound(o),
        f"{preemptor} to lose its nomination",
        unless=bound,
    )


@behaviour(
    "NNN-HINT-RESERVES-NODE-ONLY",
    must="A hint does not keep out of its node's zone what it keeps out of the node: a pod that excludes the "
    "hinted one from its zone is bound to another node there.",
    why="The hinted pod fits nowhere in the zone afterwards, and loses its hint.",
    severity="hazard",
    needs=[*NEEDS, Feature.POD_AFFINITY],
    affects=["nominator"],
    advice="A plan that rests on zone-wide anti-affinity or spreading is not kept by hints: release its pods "
    "one after the other, or hold the rivals by gates, too.",
    source=f"{SOURCE}; docs/findings/a-hint-reserves-its-node-only.md",
)
async def test_zone_is_not_reserved(arena: Arena) -> None:
    """Of two pods that exclude each other from the zone one is hinted and gated, the other fits only the
    zone's other node; when that is bound, the first is released."""
    hinted, other = await arena.nodes(2)
    zone = {"topologyKey": TEST_LABEL, "labelSelector": {"matchLabels": {"app": "alone"}}}
    alone = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [zone]}}}
    holder = await arena.gated_pod("holder", labels={"app": "alone"}, spec=alone)
    await arena.hint(holder, hinted)

    rival = await arena.pod("rival", labels={"app": "alone"}, spec=alone)
    assert await arena.bound(rival) == other
    await arena.ungate(holder)

    assert nomination(await arena.unschedulable(holder)) == ""


def bound(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName"))
