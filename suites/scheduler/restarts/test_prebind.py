"""A scheduler that ends while a pod waits in PreBind."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, waiting_claim


@behaviour(
    "NNN-RESTART-PREBIND-KEPT",
    must="A scheduler that is told to end (SIGTERM) while a pod waits in PreBind leaves the nomination, and "
    "the one that is started then binds the pod there.",
    why="An upgrade of the scheduler must not send pods to nodes where their volumes are not.",
    level="extended",
    applies="gate(scheduler, NominatedNodeNameForExpectation)",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.RESTART_COMPONENT, Feature.VOLUMES],
    affects=["operator", "autoscaler"],
    advice="Let kube-scheduler end by SIGTERM and give it time. An autoscaler must keep the nominated node "
    "while no scheduler runs: the pod comes back to it.",
    source="KEP-5278, kubernetes#138443; measured 1.34.0-1.37.2 with the gate on",
)
async def test_nomination_outlives_a_polite_end(arena: Arena) -> None:
    """A claim without a volume holds a pod in PreBind while the scheduler is ended and started again; then
    the volume comes."""
    scheduler = await arena.own_scheduler()
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)
    assert await arena.nominated(pod) == node
    assert await claim.selected() == node

    await scheduler.stop()
    await scheduler.restart()
    await claim.provide(node)
    assert await arena.bound(pod) == node

    shown = [v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name]
    assert set(shown[shown.index(node) :]) == {node}, f"what the unbound versions showed: {shown}"
