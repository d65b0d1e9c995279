"""The hint and the binding in one version of a pod."""

from hintbound.plugin import Arena, Capability, behaviour


@behaviour(
    "NNN-BIND-CLEARS",
    must="No version of a pod carries both `spec.nodeName` and `status.nominatedNodeName`: the write that "
    "binds clears.",
    why="Whoever sees both cannot tell a promise from a fact; autoscalers count such a pod twice.",
    applies="gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    needs=[Capability.FAKE_NODES],
    affects=["autoscaler", "dashboard", "nominator"],
    advice="Look for a pod's place in spec.nodeName alone. A nominator keeps a note of what it hinted and "
    "compares that with spec.nodeName: from the bound pod it can no longer read whether its hint "
    "was followed.",
    source="KEP-5278; measured 1.34.0-1.37.2 with the gate on",
)
async def test_binding_clears_the_hint(arena: Arena) -> None:
    """A gated pod is hinted and released; no recorded version of it may carry both, and the last one before
    the binding must carry the hint."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()

    await arena.hint(pod, node)
    await arena.ungate(pod)
    await arena.bound(pod)

    versions = (await arena.life(pod)).versions
    both = [version.rv for version in versions if version.node_name and version.nominated_node_name]
    assert both == [], "versions that carry both"
    unbound = [version for version in versions if not version.node_name]
    assert unbound[-1].nominated_node_name == node, "something else had cleared the hint before the binding"


@behaviour(
    "NNN-BIND-KEEPS",
    must="Without the clearing gate binding leaves `status.nominatedNodeName` as it is.",
    why="The hint stays on the pod for its whole life: it must not be read as a nomination once "
    "`spec.nodeName` is set.",
    applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    needs=[Capability.FAKE_NODES],
    affects=["autoscaler", "dashboard", "nominator"],
    advice="Read the field only while spec.nodeName is empty, or select with "
    "fieldSelector=spec.nodeName=,status.nominatedNodeName!=. Do not build on finding old hints on "
    "bound pods: from 1.35 on they are cleared by default.",
    source="KEP-5278; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_binding_keeps_the_hint(arena: Arena) -> None:
    """A gated pod is hinted and released; all its recorded versions after the binding must carry the hint."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()

    await arena.hint(pod, node)
    await arena.ungate(pod)
    await arena.bound(pod)

    versions = (await arena.life(pod)).versions
    assert {version.nominated_node_name for version in versions if version.node_name} == {node}
