"""Preemption and PodDisruptionBudgets."""

from http.client import TOO_MANY_REQUESTS
from typing import Any

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.protocol import Actor

GUARDED = {"hintbound.dev/guarded": "true"}
BUDGET: dict[str, Any] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "budget"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": GUARDED}},
}


@behaviour(
    "NNN-PREEMPT-BUDGET-AVOIDED",
    must="Preemption nominates the node whose victim no PodDisruptionBudget guards, although the guarded "
    "victim elsewhere has the lower priority.",
    why="Budgets weigh more than priorities in the choice among nodes.",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.PREEMPTION,
        Feature.POD_DISRUPTION_BUDGETS,
    ],
    source="kubernetes preemption.pickOneNodeForPreemption; measured 1.33.13-1.37.2",
)
async def test_guarded_victim_is_avoided(arena: Arena) -> None:
    """A low victim with a budget and a higher one without fill two nodes; a preemptor must be nominated to
    the second."""
    await arena.make(BUDGET)
    await arena.own_scheduler()  # started after the budget was made, so it knows it
    guarded, free = await arena.nodes(2, cpu="4")
    await arena.running_pod(guarded, "guarded", cpu="4", priority="hintbound-low", labels=GUARDED)
    await arena.running_pod(free, "free", cpu="4", priority="hintbound-mid")

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")

    assert await arena.nominated(preemptor) == free


@behaviour(
    "NNN-PREEMPT-BUDGET-BROKEN",
    must="Where no other node offers room, preemption takes a victim that an eviction is refused for by its "
    "PodDisruptionBudget.",
    why="To the scheduler a budget is a wish: who must not lose a pod needs a priority that nobody exceeds.",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    severity="hazard",
    affects=["operator"],
    advice="Do not rely on a PodDisruptionBudget against preemption: give pods that must stay a priority "
    "that nobody on their nodes exceeds, or give others `preemptionPolicy: Never`.",
    source="kubernetes docs, Pod Priority and Preemption; measured 1.33.13-1.37.2",
)
async def test_budget_is_no_shield(arena: Arena) -> None:
    """A victim that may not be evicted fills the only node; a preemptor must be bound there all the same."""
    await arena.make(BUDGET)
    await arena.own_scheduler()
    (node,) = await arena.nodes(1, cpu="4")
    guarded = await arena.running_pod(node, "guarded", cpu="4", priority="hintbound-low", labels=GUARDED)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": guarded.name}}
    admin = arena.client(Actor.ADMIN)
    evicting = admin.create(resources.PODS, eviction, namespace=arena.namespace, subresource="eviction")
    await arena.refused(TOO_MANY_REQUESTS, evicting)

    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")

    assert await arena.bound(preemptor) == node
