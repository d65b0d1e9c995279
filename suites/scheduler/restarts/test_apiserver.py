"""An apiserver that is killed. Another one on the same etcd keeps the record whole meanwhile."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

NEEDS = [Capability.FAKE_NODES, Capability.MANY_APISERVERS, Capability.RESTART_COMPONENT]


@behaviour(
    "NNN-RESTART-APISERVER-PREEMPTION",
    must="A preemption whose scheduler loses its apiserver to SIGKILL is completed once that is back, on the "
    "nominated node, although the victim went meanwhile.",
    why="Etcd and the next list tell all that the scheduler missed; a preemptor that waits for ever would "
    "not.",
    level="extended",
    needs=[*NEEDS, Capability.OWN_SCHEDULER, Feature.PREEMPTION],
    deadline=240,
    source="client-go reflector, kubernetes scheduling queue; measured 1.33.13-1.37.2",
)
async def test_preemption_outlives_an_apiserver(arena: Arena) -> None:
    """A finalizer holds the victim while the scheduler's apiserver is killed; the victim goes, and the
    apiserver is started again."""
    server = await arena.own_apiserver()
    await arena.own_scheduler(through=server)
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    await server.kill()
    await arena.release(victim)
    await arena.gone(victim)
    await server.restart()

    bound = await arena.until(
        preemptor, lambda o: bool(o["spec"].get("nodeName")), f"{preemptor} to be bound", patience=90
    )
    assert bound["spec"]["nodeName"] == node
    shown = [v.nominated_node_name for v in (await arena.life(preemptor)).versions if not v.node_name]
    assert set(shown[shown.index(node) :]) == {node}, f"what the unbound versions showed: {shown}"


@behaviour(
    "NNN-RESTART-APISERVER-HINT",
    must="A hint that was answered with 200 outlives the apiserver that answered, and is honoured.",
    why="A nominator that got its answer need not write again when the server is gone a moment later.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS],
    deadline=240,
    source="Kubernetes API conventions; measured 1.33.13-1.37.2",
)
async def test_hint_outlives_its_apiserver(arena: Arena) -> None:
    """A gated pod is hinted through an apiserver that is killed at once; through another one the pod is
    released."""
    server = await arena.own_apiserver()
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    await arena.accepted(arena.hint(pod, hinted, through=server))
    await server.kill()
    assert await arena.nomination(pod) == hinted
    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted
