"""kubernetes#85677: a nomination outlives its node."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, regression, scheduled


@behaviour(
    "BUG-KUBERNETES-85677",
    must="A preemptor that is tried after its node was removed does not name that node any more.",
    why="Autoscalers take a nominated pod for one that is served, and add no node: it waits for ever.",
    level="regression",
    exclusive=True,
    needs=[Capability.FAKE_NODES, Capability.NO_NODES, Feature.PREEMPTION, Feature.CONDITIONS],
    source="kubernetes#85677, fixed by #106816 in 1.23; KEP-5278, kubernetes#133276",
)
@regression(
    "kubernetes#85677",
    "nominatedNodeName names a node that is gone",
    shows=["embedded:1.34.4,NominatedNodeNameForExpectation=true"],
    absent=["embedded:1.34.4", "embedded:1.35.4", "embedded:1.37.2"],
    means="the only node is removed while its victim is held, then the victim is let go",
    note="The releases of the report (up to 1.22) are not pinned. #133276 brought the symptom back in 1.34 "
    "behind its gate, for the last node of a cluster; 1.35 took it away again.",
)
async def test_nomination_goes_with_the_node(arena: Arena) -> None:
    """A finalizer holds a victim on the only node; the node is removed, and the victim's end has the
    preemptor tried again."""
    await arena.nodes.none()
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await arena.admin.delete(resources.NODES, node)
    await arena.release(victim)
    await arena.gone(victim)

    told = await arena.until(
        preemptor,
        lambda o: "no nodes available" in scheduled(o).get("message", ""),
        f"{preemptor} to be tried without a node",
    )
    assert nomination(told) == ""
