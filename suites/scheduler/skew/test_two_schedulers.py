"""Two schedulers on one cluster that do not agree."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, waiting_claim

GATE = "NominatedNodeNameForExpectation"


@behaviour(
    "NNN-SKEW-SCHEDULER-GATE",
    must="Of two schedulers only the one with NominatedNodeNameForExpectation on shows the node of a pod "
    "that waits in PreBind.",
    why="What the field tells depends on whose pod it is: look at `schedulerName` before you rely on it.",
    level="extended",
    applies='version(scheduler, ">=1.34")',
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.VOLUMES, Feature.FEATURE_GATES],
    affects=["autoscaler", "operator"],
    advice="Set the gate alike on all schedulers of a cluster. Where they differ, an autoscaler can rely "
    "on nominations in PreBind only for pods whose schedulerName belongs to one that has it on.",
    source="KEP-5278; measured 1.34.0-1.37.2",
)
async def test_each_scheduler_follows_its_gate(arena: Arena) -> None:
    """Two schedulers, gate on and off, each place a pod that a claim without a volume holds in PreBind; its
    recorded versions are compared."""
    (node,) = await arena.nodes(1)
    shown = {}
    for gate in (True, False):
        await arena.own_scheduler(gates={GATE: gate})
        claim = await waiting_claim(arena, f"claim-{gate}".lower())
        pod = await arena.pod(spec=claim.spec)
        assert await claim.selected() == node
        await claim.provide(node)
        await arena.bound(pod)
        shown[gate] = {v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name}

    assert shown == {True: {"", node}, False: {""}}, "what the unbound pods showed, by their scheduler's gate"


@behaviour(
    "NNN-SKEW-FOREIGN-HINT",
    must="The hint of a pod of one scheduler reserves nothing against the pods of another scheduler.",
    why="Schedulers that share nodes take each other's room: hints hold only where one of them rules.",
    level="extended",
    severity="hazard",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.RESERVATIONS,
        Feature.CONDITIONS,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["nominator", "scheduler", "operator"],
    advice="Let each scheduler have nodes of its own where hints must hold. Hints of another scheduler's "
    "pods do not keep room: count the node as free for whoever comes first.",
    source="kubernetes eventhandlers.responsibleForPod; measured 1.33.13-1.37.2",
)
async def test_other_schedulers_hint_holds_nothing(arena: Arena) -> None:
    """A hint fills a node and keeps out a pod of the same scheduler; then a pod of a second scheduler wants
    that node."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, node)
    equal = await arena.pod("equal", cpu="4")
    await arena.unschedulable(equal)

    await arena.own_scheduler()
    foreign = await arena.pod("foreign", cpu="4")

    assert await arena.bound(foreign) == node
    assert await arena.nomination(holder) == node


@behaviour(
    "NNN-SKEW-EMULATED-SCHEDULER",
    must="A scheduler that emulates 1.34 shows no node for a pod that waits in PreBind: the emulated "
    "version's gates count, not the binary's.",
    why="Who upgrades binaries first and versions later gets the new behaviour with the second step.",
    level="extended",
    applies='version(scheduler, ">=1.35") and version(scheduler, "<=1.37")',
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.VOLUMES, Feature.FEATURE_GATES],
    affects=["operator", "autoscaler"],
    advice="Plan for nominations during PreBind on the day on which --emulated-version is raised, not on "
    "that of the new binary. Emulation changes gates, not code: what a release does without a gate "
    "comes with the binary.",
    source="KEP-4330; measured 1.35.4-1.37.2",
)
async def test_emulating_scheduler_shows_nothing(arena: Arena) -> None:
    """A scheduler is started with `--emulated-version=1.34` and places a pod that a claim without a volume
    holds in PreBind."""
    await arena.own_scheduler(emulate="1.34")
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)

    assert await claim.selected() == node
    await claim.provide(node)
    assert await arena.bound(pod) == node

    shown = {version.nominated_node_name for version in (await arena.life(pod)).versions}
    assert shown == {""}, "what the versions showed"
