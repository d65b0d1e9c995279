"""Hints at nodes that do not take the pod, each for another reason."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.plugin.awaits import setting_the_stage

SOURCE = "KEP-5278, kubernetes evaluateNominatedNode; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-HINT-CORDONED",
    must="A pod whose hinted node is cordoned is bound to another node that fits.",
    why="Nodes are drained while hints are on their way; a drain must win over a hint.",
    needs=[Capability.FAKE_NODES],
    source=SOURCE,
)
async def test_cordoned_node(arena: Arena) -> None:
    """A gated pod is hinted to a cordoned node and released; another node fits."""
    hinted, other = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    await arena.nodes.cordon(hinted)
    pod = await arena.gated_pod()

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == other


@behaviour(
    "NNN-HINT-TAINTED",
    must="A pod whose hinted node has a NoSchedule taint that it does not tolerate is bound to another node "
    "that fits.",
    why="A taint keeps pods from a node; a hint is no toleration.",
    needs=[Capability.FAKE_NODES],
    source=SOURCE,
)
async def test_tainted_node(arena: Arena) -> None:
    """A gated pod is hinted to a tainted node and released; another node fits."""
    hinted, other = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    await arena.nodes.taint(hinted)
    pod = await arena.gated_pod()

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == other


@behaviour(
    "NNN-HINT-AFFINITY-MISMATCH",
    must="A pod whose required node affinity excludes the hinted node is bound to a node that it allows.",
    why="Who writes hints need not know every rule of a pod's author; the author's rules win.",
    needs=[Capability.FAKE_NODES],
    source=SOURCE,
)
async def test_affinity_excludes_the_node(arena: Arena) -> None:
    """A gated pod whose affinity allows one node is hinted to another, and released."""
    hinted, other = await arena.nodes(2)
    allowed = {"key": "kubernetes.io/hostname", "operator": "In", "values": [other]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [allowed]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    pod = await arena.gated_pod(spec={"affinity": affinity})

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == other


@behaviour(
    "NNN-HINT-SPREAD-VIOLATED",
    must="A pod whose hinted node would violate its hard topology spread constraint is bound to a node that "
    "does not.",
    why="A nominator that places many pods at once must not undo the spread that keeps them available.",
    needs=[Capability.FAKE_NODES, Feature.TOPOLOGY_SPREAD],
    source=SOURCE,
)
async def test_spread_is_violated(arena: Arena) -> None:
    """A gated pod is hinted, against its spread constraint, to the node where its sibling runs."""
    hinted, other = await arena.nodes(2)
    labels = {"app": "spread"}
    sibling = await arena.pod("sibling", labels=labels, node_selector={"kubernetes.io/hostname": hinted})
    await arena.bound(sibling)
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    constraints = [{**constraint, "labelSelector": {"matchLabels": labels}}]
    pod = await arena.gated_pod(labels=labels, spec={"topologySpreadConstraints": constraints})

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == other


@behaviour(
    "NNN-HINT-PORT-TAKEN",
    must="A pod whose host port is taken on the hinted node is bound to a node where it is free.",
    why="Two pods cannot share a host port; the kubelet would refuse the second for good.",
    needs=[Capability.FAKE_NODES, Feature.HOST_PORTS],
    source=SOURCE,
)
async def test_host_port_is_taken(arena: Arena) -> None:
    """A gated pod is hinted to a node where its host port is taken, and released."""
    hinted, other = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    owner = await arena.pod("owner", host_port=8080, node_selector={"kubernetes.io/hostname": hinted})
    await arena.bound(owner)
    pod = await arena.gated_pod(host_port=8080)

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == other


@behaviour(
    "NNN-HINT-VOLUME-ELSEWHERE",
    must="A pod whose volume can only be reached from another node than the hinted one is bound to that "
    "other node.",
    why="A volume does not move: a hint against it would leave the pod without its data.",
    needs=[Capability.FAKE_NODES, Feature.VOLUMES],
    source=SOURCE,
)
async def test_volume_is_elsewhere(arena: Arena) -> None:
    """A gated pod whose volume is on one node is hinted to another, and released."""
    hinted, other = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    name, reachable = f"{arena.namespace}-data", {"key": "kubernetes.io/hostname", "operator": "In"}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": name}
    volume = {
        **common,
        "capacity": {"storage": "1Gi"},
        "local": {"path": "/data"},
        "nodeAffinity": {
            "required": {"nodeSelectorTerms": [{"matchExpressions": [{**reachable, "values": [other]}]}]}
        },
    }
    metadata: dict[str, object] = {"name": name}
    await arena.make({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": volume})
    with setting_the_stage():
        await arena.shown(
            resources.PERSISTENT_VOLUMES,
            lambda o: o["status"].get("phase") == "Available",
            f"{name} to be available",
            field_selector=f"metadata.name={name}",
        )
    # Bound by hand: the controller may take a resync, 15 s, for it.
    metadata = {"name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim = {**common, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}
    await arena.make(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim}
    )
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pod = await arena.gated_pod(spec={"volumes": [mounted]})

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == other


@behaviour(
    "NNN-HINT-GHOST",
    must="A pod whose hinted node does not exist is bound to a node that fits.",
    why="The node may have been removed since, or not have joined yet; the pod must not wait for it.",
    needs=[Capability.FAKE_NODES],
    source=SOURCE,
)
async def test_node_does_not_exist(arena: Arena) -> None:
    """A gated pod is hinted to a node that does not exist, and released; another node fits."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()

    await arena.hint(pod, arena.nodes.future())
    await arena.ungate(pod)

    assert await arena.bound(pod) == node
