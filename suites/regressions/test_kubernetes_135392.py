"""kubernetes#135392: who keeps away from a nominated pod is not woken when the nomination goes."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, regression

APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "holder"}}}
            ]
        }
    }
}


@behaviour(
    "BUG-KUBERNETES-135392",
    must="A pod that waits because of its anti-affinity to a nominated one is tried when that hint goes.",
    why="The node is free and nobody is told: the pod waits for an unrelated event, up to five minutes.",
    level="regression",
    exclusive=True,
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS, Feature.POD_AFFINITY],
    source="kubernetes#135392",
)
@regression(
    "kubernetes#135392",
    "queueing hints of InterPodAffinity and PodTopologySpread do not mind nominated pods",
    shows=["embedded:1.35.4", "embedded:1.34.4", "embedded:1.33.13"],
    absent=["embedded:1.37.2"],
    means="the hint of a gated pod keeps another away, and is cleared where nothing else happens",
    note="See docs/findings/affinity-waiters-sleep-on.md.",
)
async def test_pod_that_kept_away_is_woken(arena: Arena) -> None:
    """A gated pod is hinted, another that must not be beside it waits; then the hint is cleared."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.nodes.caught_up(node)
    holder = await arena.gated_pod("holder", labels={"app": "holder"})
    await arena.hint(holder, node)
    rival = await arena.pod("rival", spec=APART)
    await arena.unschedulable(rival)

    await arena.hint(holder, None)

    bound = await arena.until(
        rival, lambda o: bool(o["spec"].get("nodeName")), f"{rival} to be bound", patience=8
    )
    assert bound["spec"]["nodeName"] == node
