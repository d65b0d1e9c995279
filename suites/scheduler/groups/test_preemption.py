"""A gang that preempts."""

from hintbound.plugin import Arena, Capability, Feature, Pod, behaviour, nomination, scheduled
from hintbound.plugin.gangs import gang

GROUPS = 'gate(scheduler, GenericWorkload) and version(scheduler, ">=1.37")'
NEEDS: list[Capability | Feature] = [
    Capability.FAKE_NODES,
    Feature.CONDITIONS,
    Feature.PREEMPTION,
    Feature.UPSTREAM_DETAILS,
]
SOURCE = "KEP-4671, kubernetes#138811; measured 1.37.2 with GenericWorkload on"


@behaviour(
    "NNN-GROUP-PREEMPT-ALL-NOMINATED",
    must="When a gang preempts, every member is nominated to a node of its own, in the same version of the "
    "pod that says it is Unschedulable, and is bound there when the victims are gone.",
    why="Autoscalers see at once that none of these pods needs a new node.",
    applies=GROUPS,
    needs=NEEDS,
    provisional=True,
    source=SOURCE,
    affects=["autoscaler", "dashboard"],
    advice="Treat each member as you treat a single preemptor: it waits for its victims, and has its place.",
)
async def test_every_member_is_nominated(arena: Arena) -> None:
    """A gang of two meets two nodes whose pods of less priority a finalizer holds; they are let go when both
    members are nominated."""
    nodes, victims = await occupied(arena)
    members = await gang(arena, 2, priority="hintbound-high")
    pods = [await arena.pod("member", cpu="4", priority="hintbound-high", spec=members) for _ in nodes]

    told = {
        pod: await arena.until(pod, lambda o: bool(nomination(o)), f"{pod} to be nominated") for pod in pods
    }
    assert sorted(map(nomination, told.values())) == sorted(nodes)
    assert {scheduled(seen).get("reason") for seen in told.values()} == {"Unschedulable"}
    for victim in victims:
        await arena.release(victim)

    assert {pod: await arena.bound(pod) for pod in pods} == {p: nomination(seen) for p, seen in told.items()}


@behaviour(
    "NNN-GROUP-PREEMPT-LOWER-KEPT",
    must="A gang that preempts leaves the hints of pods of lower priority at the nodes that it takes.",
    why="A single preemptor clears them: here those pods wait for room that is gone, and autoscalers with "
    "them.",
    applies=GROUPS,
    severity="hazard",
    needs=NEEDS,
    provisional=True,
    source=f"kubernetes getLowerPriorityNominatedPods of the candidate `cluster`; {SOURCE}; "
    "docs/findings/gang-preemption-leaves-lower-hints.md",
    affects=["nominator", "autoscaler"],
    advice="Look for Preempted events of pod groups, and hint again, or clear, what was planned for those "
    "nodes.",
)
async def test_lower_hints_are_kept(arena: Arena) -> None:
    """A gated pod is hinted to one of two nodes before a gang of higher priority preempts on both, and until
    the gang is bound there."""
    nodes, victims = await occupied(arena)
    holder = await arena.gated_pod("holder", cpu="4", priority="hintbound-mid")
    await arena.hint(holder, nodes[0])
    members = await gang(arena, 2, priority="hintbound-high")

    pods = [await arena.pod("member", cpu="4", priority="hintbound-high", spec=members) for _ in nodes]
    for pod in pods:
        await arena.nominated(pod)
    for victim in victims:
        await arena.release(victim)

    assert sorted([await arena.bound(pod) for pod in pods]) == sorted(nodes)
    shown = [version.nominated_node_name for version in (await arena.life(holder)).versions]
    assert set(shown[shown.index(nodes[0]) :]) == {nodes[0]}, f"what the hint became: {shown}"


async def occupied(arena: Arena) -> tuple[list[str], list[Pod]]:
    """Two nodes, and the pods of low priority that fill them and go only when they are let go."""
    nodes = await arena.nodes(2, cpu="4")
    held = ["hintbound.dev/hold"]
    return nodes, [
        await arena.running_pod(node, cpu="4", priority="hintbound-low", finalizers=held) for node in nodes
    ]
