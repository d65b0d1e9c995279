"""Two apiservers on one etcd that do not agree: an upgrade or a roll-out of gates that is under way."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, behaviour, nomination
from hintbound.protocol import Actor

GATE = "ClearingNominatedNodeNameAfterBinding"
KNOWS = 'version(apiserver, ">=1.34")'


@behaviour(
    "NNN-SKEW-BINDING",
    must="Where only some apiservers have the clearing gate on, the one that gets the binding decides "
    "whether it clears the hint.",
    why="Until the last apiserver is rolled out, readers must expect bound pods with and without the field.",
    level="extended",
    applies=KNOWS,
    needs=[Capability.MANY_APISERVERS],
    deadline=240,
    affects=["operator", "autoscaler", "dashboard"],
    advice="During a rolling upgrade of kube-apiserver read the field only while spec.nodeName is empty: "
    "bound pods come with and without it. Hints that stayed then are not cleared later.",
    source="KEP-5278; measured 1.34.0-1.37.2",
)
async def test_server_of_the_binding_decides(arena: Arena) -> None:
    """Two apiservers, gate on and off, serve one etcd; a hinted pod is bound through each."""
    servers = {gate: await arena.own_apiserver(gates={GATE: gate}) for gate in (True, False)}

    left = {}
    for gate, server in servers.items():
        pod = await arena.gated_pod(scheduler="hintbound-nobody")
        await arena.hint(pod, "some-node")
        await arena.ungate(pod)
        await arena.bind(pod, "some-node", through=server)
        left[gate] = await arena.nomination(pod)

    assert left == {True: "", False: "some-node"}, "what the binding left of the hint, by the server's gate"


@behaviour(
    "NNN-SKEW-LATE-HINT",
    must="A bound pod takes a hint through an apiserver without the clearing gate; then one with the gate "
    "takes the same value again and an empty one, and refuses any other with 422.",
    why="A controller that resends what it read goes on working through either server; a nominator does not.",
    level="extended",
    applies=KNOWS,
    needs=[Capability.MANY_APISERVERS],
    deadline=240,
    affects=["operator", "nominator"],
    advice="During a rolling upgrade a late hint is answered 200 or 422 by chance: treat both as `too "
    "late` once spec.nodeName is set. Clearing works through every server.",
    source="KEP-5278, validation.ValidatePodStatusUpdate; measured 1.34.0-1.37.2",
)
async def test_late_hint_depends_on_the_server(arena: Arena) -> None:
    """Two apiservers, gate on and off, serve one etcd; a bound pod is hinted through one and the other in
    turn."""
    clearing = await arena.own_apiserver(gates={GATE: True})
    other = await arena.own_apiserver(gates={GATE: False})
    pod = await arena.pod(node="node-a")

    await arena.refused(422, arena.hint(pod, "node-b", through=clearing))
    await arena.accepted(arena.hint(pod, "node-b", through=other))
    kept = await arena.accepted(arena.hint(pod, "node-b", through=clearing))
    assert nomination(kept) == "node-b"
    await arena.refused(422, arena.hint(pod, "node-c", through=clearing))
    await arena.accepted(arena.hint(pod, None, through=clearing))
    assert await arena.nomination(pod) == ""


@behaviour(
    "NNN-SKEW-OLD-HINT-STAYS",
    must="A hint that a binding left behind stays on the pod when later writes go through an apiserver that "
    "has the clearing gate on.",
    why="After the upgrade old pods go on showing stale nominations, new ones do not.",
    severity="hazard",
    level="extended",
    applies=KNOWS,
    needs=[Capability.MANY_APISERVERS],
    deadline=240,
    affects=["operator", "autoscaler", "dashboard"],
    advice="Ignore the field where spec.nodeName is set, on every version, or clear it once on all bound "
    "pods after the upgrade.",
    source="kubernetes BindingREST, validation.ValidatePodStatusUpdate; measured 1.34.0-1.37.2; "
    "docs/findings/old-hints-survive-the-gate.md",
)
async def test_old_hint_stays(arena: Arena) -> None:
    """A hinted pod is bound through an apiserver without the gate; then a label is written to it through one
    that has it."""
    clearing = await arena.own_apiserver(gates={GATE: True})
    other = await arena.own_apiserver(gates={GATE: False})
    pod = await arena.gated_pod(scheduler="hintbound-nobody")
    await arena.hint(pod, "some-node")
    await arena.ungate(pod)
    await arena.bind(pod, "other-node", through=other)

    author = arena.client(Actor.AUTHOR, through=clearing)
    touch = {"metadata": {"labels": {"touched": "yes"}}}
    written = await author.patch(resources.PODS, pod.name, touch, namespace=pod.namespace)

    assert written["metadata"]["labels"]["touched"] == "yes"
    assert nomination(written) == "some-node"


@behaviour(
    "NNN-SKEW-EMULATED-APISERVER",
    must="An apiserver that emulates 1.34 leaves the hint at binding: the emulated version's gates count, "
    "not the binary's.",
    why="Who upgrades binaries first and versions later gets the new behaviour with the second step.",
    level="extended",
    applies='version(apiserver, ">=1.35") and version(apiserver, "<=1.37")',
    needs=[Capability.MANY_APISERVERS],
    deadline=240,
    affects=["operator", "nominator"],
    advice="Plan for the change on the day on which --emulated-version is raised, not on that of the new "
    "binary, and read the gates from kubernetes_feature_enabled on /metrics instead of inferring "
    "them from the version.",
    source="KEP-4330; measured 1.35.4-1.37.2",
)
async def test_emulating_apiserver_keeps_the_hint(arena: Arena) -> None:
    """A further apiserver is started with `--emulated-version=1.34`, and a hinted pod is bound through it."""
    server = await arena.own_apiserver(emulate="1.34")
    pod = await arena.gated_pod(scheduler="hintbound-nobody")

    await arena.hint(pod, "some-node")
    await arena.ungate(pod)
    await arena.bind(pod, "some-node", through=server)

    assert await arena.nomination(pod) == "some-node"
