"""A hint on a pod that is refused before any node is looked at."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

DRA = "gate(scheduler, DynamicResourceAllocation)"
MISSING = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "no-such-claim"}}]}
PREEMPTIONS = "scheduler_preemption_attempts_total"
SOURCE = "kubernetes DynamicResources.PostFilter"


@behaviour(
    "NNN-KEPT-PREFILTER",
    must="With DynamicResourceAllocation a pod that is refused before filtering, say for a claim that does "
    "not exist, keeps its hint.",
    why="The hint holds room for a pod that cannot run, and hides it from autoscalers; the plain rule says "
    "that it is cleared.",
    severity="hazard",
    applies=DRA,
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "autoscaler", "operator"],
    advice="Hint pods only once their claims exist. Give each hint a time limit, after which its nominator "
    "clears it. Alert on pods that have both a nomination and `not found` or a claim in their "
    "PodScheduled message.",
    source=f"{SOURCE}; measured 1.34.0-1.37.2; docs/findings/prefilter-keeps-the-hint.md",
)
async def test_hint_is_kept_before_filtering(arena: Arena) -> None:
    """A gated pod that mounts a claim that does not exist is hinted and released."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod(spec=MISSING)

    await arena.hint(pod, node)
    await arena.ungate(pod)

    assert nomination(await arena.unschedulable(pod)) == node


@behaviour(
    "NNN-CLEAR-PREFILTER",
    must="Without DynamicResourceAllocation a pod that is refused before filtering loses its hint like any "
    "other that fits nowhere.",
    why="It is what releases up to 1.33 do; the upgrade to 1.34 ends it without a word.",
    applies=f"not {DRA}",
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "operator"],
    advice="Before the upgrade to 1.34 give each hint a time limit, after which its nominator clears it "
    "from a pod that is still not bound: from then on the scheduler does not do so for pods that "
    "wait for a claim.",
    source=f"{SOURCE}; measured 1.33.13, and 1.34.4 with the gate off",
)
async def test_hint_is_cleared_before_filtering(arena: Arena) -> None:
    """A gated pod that mounts a claim that does not exist is hinted and released."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod(spec=MISSING)

    await arena.hint(pod, node)
    await arena.ungate(pod)

    assert nomination(await arena.unschedulable(pod)) == ""


@behaviour(
    "NNN-PREFILTER-NEVER-PREEMPTS",
    must="With DynamicResourceAllocation a pod that is refused before filtering does not get as far as "
    "preemption.",
    why="Preemption is also what clears a hint: a step that is skipped here leaves the hint in place.",
    applies=DRA,
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.PREEMPTION,
        Feature.CONDITIONS,
        Feature.METRICS,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["operator", "nominator"],
    advice="When an urgent pod preempts nobody, look at its PodScheduled message: one that ends in `not "
    "found. not found` means that it was refused before filtering. Mend what it names (claim, "
    "affinity); priority does not help.",
    source=f"{SOURCE}; measured 1.34.0-1.37.2; docs/findings/prefilter-keeps-the-hint.md",
)
async def test_preemption_is_not_tried(arena: Arena) -> None:
    """A pod of high priority that mounts a claim that does not exist is refused; its scheduler's count of
    preemptions must not move."""
    scheduler = await arena.own_scheduler()
    await arena.nodes(1)
    preemptions = await arena.tally(scheduler, PREEMPTIONS, by="")
    pod = await arena.pod(spec=MISSING, priority="hintbound-high")

    await arena.unschedulable(pod)

    assert sum((await preemptions.so_far()).values()) == 0, "preemption was tried"
