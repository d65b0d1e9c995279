"""What a pod shows while its node is chosen and its volumes are not ready."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, waiting_claim

EXPECTS = "gate(scheduler, NominatedNodeNameForExpectation)"


@behaviour(
    "NNN-PREBIND-SHOWN",
    must="While PreBind waits for a volume the pod is nominated to its node, in every version until it is "
    "bound there.",
    why="Without it an autoscaler may remove the empty node that the volume is just being made for.",
    applies=EXPECTS,
    needs=[Capability.FAKE_NODES, Feature.VOLUMES],
    affects=["autoscaler", "dashboard", "nominator"],
    advice="An autoscaler must take the nominated node for used and not remove it. Dashboards show such a "
    "pod as `being placed`; a nominator must not take the value, which it did not write, for a "
    "foreign hint to fight.",
    source="KEP-5278, kubernetes#125491; measured 1.34.0-1.37.2 with the gate on",
)
async def test_node_is_shown_during_prebind(arena: Arena) -> None:
    """A claim without a volume holds a pod in PreBind until the test makes the volume; all recorded versions
    of the pod are compared."""
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)

    assert await arena.nominated(pod) == node
    assert await claim.selected() == node
    await claim.provide(node)
    assert await arena.bound(pod) == node

    shown = [v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name]
    assert set(shown[shown.index(node) :]) == {node}, f"what the unbound versions showed: {shown}"


@behaviour(
    "NNN-PREBIND-SHOWN-ASYNC",
    must="With SchedulerAsyncAPICalls too a pod whose PreBind waits for a volume is nominated to its node.",
    why="That gate may drop writes that a later one overtakes, but not one that nothing overtakes.",
    applies=EXPECTS,
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.VOLUMES, Feature.FEATURE_GATES],
    affects=["autoscaler", "operator"],
    advice="SchedulerAsyncAPICalls may be switched on without losing sight of pods in PreBind that wait "
    "for long. Do not require to see each value: one that is overtaken at once may never be "
    "written.",
    source="KEP-5278, KEP-5229; measured 1.34.0-1.37.2 with both gates on",
)
async def test_node_is_shown_by_asynchronous_calls(arena: Arena) -> None:
    """A scheduler with asynchronous API calls gets a pod that a claim without a volume holds in PreBind."""
    await arena.own_scheduler(gates={"SchedulerAsyncAPICalls": True})
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)

    pod = await arena.pod(spec=claim.spec)

    assert await arena.nominated(pod) == node
    assert "nodeName" not in (await arena.now(pod))["spec"]


@behaviour(
    "NNN-PREBIND-HIDDEN",
    must="Without NominatedNodeNameForExpectation a pod shows no nomination while PreBind waits for a "
    "volume.",
    why="Its node is chosen, and nobody but the scheduler knows: whoever removes empty nodes may take it.",
    applies=f"not {EXPECTS}",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.VOLUMES, Feature.UPSTREAM_DETAILS],
    affects=["autoscaler", "operator"],
    advice="An autoscaler that removes empty nodes should spare those that a claim names in its annotation "
    "volume.kubernetes.io/selected-node. NominatedNodeNameForExpectation (on by default from 1.35) "
    "makes the node visible.",
    source="kubernetes#125491; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_node_is_hidden_during_prebind(arena: Arena) -> None:
    """A claim without a volume holds a pod in PreBind until the test makes the volume; all recorded versions
    of the pod are compared."""
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)

    assert await claim.selected() == node
    await claim.provide(node)
    assert await arena.bound(pod) == node

    shown = {version.nominated_node_name for version in (await arena.life(pod)).versions}
    assert shown == {""}, "what the versions showed"


@behaviour(
    "NNN-PREBIND-PLAIN-NONE",
    must="A pod that nothing has to be made ready for is bound without ever being nominated.",
    why="A nomination costs a write: it is worth one only where the binding has to wait.",
    needs=[Capability.FAKE_NODES],
    source="KEP-5278, PreBindPreFlight; measured 1.33.13-1.37.2, all gates",
)
async def test_plain_pod_is_never_nominated(arena: Arena) -> None:
    """A plain pod is placed on the only node; all its recorded versions are compared."""
    (node,) = await arena.nodes(1)

    pod = await arena.pod()
    assert await arena.bound(pod) == node

    shown = [nomination(version.object) for version in (await arena.life(pod)).versions]
    assert not any(shown), f"what the versions showed: {shown}"
