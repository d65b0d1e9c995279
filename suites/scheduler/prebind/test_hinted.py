"""Hints on pods whose volumes are not ready."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, waiting_claim

SCHEDULER = "system:kube-scheduler"
EXPECTS = "gate(scheduler, NominatedNodeNameForExpectation)"


@behaviour(
    "NNN-PREBIND-HINT-REWRITTEN",
    must="A pod whose hinted node does not fit is nominated to the node it will get, before PreBind waits "
    "for a volume there.",
    why="Until the volume is ready the field tells where the pod goes; the hint told where it was wanted.",
    applies=EXPECTS,
    needs=[Capability.FAKE_NODES, Feature.VOLUMES],
    affects=["nominator", "dashboard"],
    advice="Take a value that is not yours for the scheduler's decision: do not write your hint again, the "
    "pod is being bound elsewhere. Without the gate your own value stays, though it says nothing "
    "any more.",
    source="KEP-5278; measured 1.34.0-1.37.2 with the gate on",
)
async def test_unfit_hint_is_rewritten(arena: Arena) -> None:
    """A gated pod that a claim without a volume holds in PreBind is hinted to a node that is too small, and
    released."""
    claim = await waiting_claim(arena)
    (small,) = await arena.nodes(1, cpu="1")
    (roomy,) = await arena.nodes(1)
    pod = await arena.gated_pod(cpu="2", spec=claim.spec)

    await arena.hint(pod, small)
    await arena.ungate(pod)

    shown = await arena.until(pod, lambda o: nomination(o) not in ("", small), f"{pod} to be nominated anew")
    assert nomination(shown) == roomy
    assert await claim.selected() == roomy


@behaviour(
    "NNN-PREBIND-UNFIT-HINT-SHOWN",
    must="Without NominatedNodeNameForExpectation a hint that did not fit stays shown while PreBind waits "
    "for a volume on another node.",
    why="For as long as that takes the field names a node that the pod will not get.",
    applies=f"not {EXPECTS}",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.VOLUMES, Feature.UPSTREAM_DETAILS],
    affects=["autoscaler", "dashboard", "nominator"],
    advice="Do not take the field for the scheduler's word: without the gate it may be a hint that has "
    "failed already. For pods with volumes look at selected-node on their claims.",
    source="KEP-5278; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_unfit_hint_stays(arena: Arena) -> None:
    """A gated pod that a claim without a volume holds in PreBind is hinted to a node that is too small, and
    released; the volume comes later."""
    claim = await waiting_claim(arena)
    (small,) = await arena.nodes(1, cpu="1")
    (roomy,) = await arena.nodes(1)
    pod = await arena.gated_pod(cpu="2", spec=claim.spec)

    await arena.hint(pod, small)
    await arena.ungate(pod)
    assert await claim.selected() == roomy
    await claim.provide(roomy)
    assert await arena.bound(pod) == roomy

    shown = [v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name]
    assert set(shown[shown.index(small) :]) == {small}, f"what the unbound versions showed: {shown}"


@behaviour(
    "NNN-PREBIND-OUTSIDER-STAYS",
    must="A nomination that an outsider overwrites while PreBind waits is accepted, changes nothing, and is "
    "not repaired before the pod is bound.",
    why="200 does not mean honoured: the pod goes where it went, and until then the field lies.",
    applies=EXPECTS,
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.VOLUMES, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "autoscaler"],
    advice="Do not change the field of a pod that is being bound: hint gated pods, and test the old value "
    "in a JSON patch. An autoscaler that must be sure also looks at selected-node on the pod's "
    "claims.",
    source="KEP-5278; measured 1.34.0-1.37.2 with the gate on; "
    "docs/findings/overwritten-while-volumes-are-made.md",
)
async def test_outsiders_value_stays(arena: Arena) -> None:
    """A claim without a volume holds a pod in PreBind; the nominator overwrites its nomination before the
    volume comes."""
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)
    assert await arena.nominated(pod) == node
    assert await claim.selected() == node

    await arena.accepted(arena.hint(pod, "another-node"))
    await claim.provide(node)
    assert await arena.bound(pod) == node

    shown = [v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name]
    assert set(shown[shown.index("another-node") :]) == {"another-node"}, (
        f"what unbound versions showed: {shown}"
    )


@behaviour(
    "NNN-PREBIND-FITTING-HINT-SILENT",
    must="A pod that is hinted to the node that it gets is not nominated once more when PreBind waits: the "
    "scheduler writes nothing but the binding.",
    why="A nominator that hits saves the scheduler a write for each pod with volumes or devices.",
    applies=EXPECTS,
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Feature.HINTS, Feature.VOLUMES],
    affects=["nominator", "dashboard"],
    advice="Do not wait for the scheduler to confirm a hint: when it is right there is no write before the "
    "binding. Whoever wrote the field stays its manager in managedFields.",
    source="KEP-5278; measured 1.34.0-1.37.2 with the gate on",
)
async def test_fitting_hint_is_not_written_again(arena: Arena) -> None:
    """A gated pod that a claim without a volume holds in PreBind is hinted to its only node; the scheduler's
    writes are read from the audit log."""
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod(spec=claim.spec)

    await arena.hint(pod, node)
    await arena.ungate(pod)
    assert await claim.selected() == node
    await claim.provide(node)
    assert await arena.bound(pod) == node

    sent = [str(r) for r in (await arena.life(pod)).requests if r.user == SCHEDULER and not r.binds]
    assert sent == [], "what the scheduler wrote besides the binding"
