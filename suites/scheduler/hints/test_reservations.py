"""What a hint reserves, against whom, and for how long."""

from hintbound.plugin import Arena, Capability, Feature, behaviour

SOURCE = "kubernetes RunFilterPluginsWithNominatedPods; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-HINT-LOWER-YIELDS",
    must="A pod of lower priority does not take the room that a hinted pod holds.",
    why="The smallest pod of a batch job could otherwise undo what was planned for a service.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS],
    source=SOURCE,
)
async def test_lower_priority_yields(arena: Arena) -> None:
    """A hint of a pod of middle priority fills the only node; a low pod arrives."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4", priority="hintbound-mid")
    await arena.hint(holder, node)

    rival = await arena.pod("rival", cpu="4", priority="hintbound-low")

    await arena.unschedulable(rival)
    assert await arena.nomination(holder) == node


@behaviour(
    "NNN-HINT-RESERVES-REQUESTS",
    must="A hint holds as much of a node as its pod requests: what fits beside it is bound, what does not is "
    "not.",
    why="A hint for a small pod must not block a large node.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS],
    source=SOURCE,
)
async def test_hint_reserves_what_its_pod_requests(arena: Arena) -> None:
    """A hint takes three of four CPUs; a pod of two must be refused and a pod of one be bound."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="3")
    await arena.hint(holder, node)

    large = await arena.pod("large", cpu="2")
    await arena.unschedulable(large)

    small = await arena.pod("small", cpu="1")
    assert await arena.bound(small) == node


@behaviour(
    "NNN-HINT-RESERVES-PORT",
    must="A hint holds its pod's host port on the node, too.",
    why="A reservation counts all that a placed pod would take, not only CPU and memory.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS, Feature.HOST_PORTS],
    source=SOURCE,
)
async def test_hint_reserves_the_host_port(arena: Arena) -> None:
    """A hint of a pod with a host port stands at the only node; a pod with that port must be refused, one
    with another port be bound."""
    (node,) = await arena.nodes(1)
    holder = await arena.gated_pod("holder", cpu="0", host_port=8080)
    await arena.hint(holder, node)

    rival = await arena.pod("rival", cpu="0", host_port=8080)
    await arena.unschedulable(rival)

    other = await arena.pod("other", cpu="0", host_port=8081)
    assert await arena.bound(other) == node


@behaviour(
    "NNN-HINT-RELEASED-ON-DELETE",
    must="When a hinted pod is deleted its reservation ends, and who waited for the room is bound.",
    why="A nominator need not clear the hints of pods that are gone.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS],
    source=SOURCE,
)
async def test_deleting_the_holder_frees_the_room(arena: Arena) -> None:
    """A hint keeps a rival from the only node; the hinted pod is deleted, and the rival must be bound."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, node)
    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)

    await arena.delete(holder)

    assert await arena.bound(rival) == node


@behaviour(
    "NNN-HINT-GHOST-APPEARS",
    must="A hint at a node that does not exist yet reserves there from the moment the node appears.",
    why="An autoscaler can give out a node's room before the node has joined.",
    needs=[Capability.FAKE_NODES, Feature.RESERVATIONS, Feature.CONDITIONS],
    source=SOURCE,
)
async def test_ghost_node_appears(arena: Arena) -> None:
    """A pod is hinted to a node that is made afterwards; a rival must be refused there until the hint is
    cleared."""
    ghost = arena.nodes.future()
    holder = await arena.gated_pod("holder", cpu="4")
    await arena.hint(holder, ghost)

    await arena.nodes(1, cpu="4", names=[ghost])
    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)

    await arena.hint(holder, None)
    assert await arena.bound(rival) == ghost


@behaviour(
    "NNN-HINT-OTHER-PROFILE",
    must="A hint on a pod of one profile of a kube-scheduler reserves against the pods of its other "
    "profiles.",
    why="Profiles share one cache and one queue; a hint is a promise of the scheduler, not of a profile.",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.RESERVATIONS,
        Feature.CONDITIONS,
        Feature.CONFIGURATION_FILE,
    ],
    source=SOURCE,
)
async def test_other_profile_of_the_same_scheduler(arena: Arena) -> None:
    """One scheduler has two profiles; a hint of a pod of the one must keep out a pod of the other."""
    other = f"other-{arena.namespace}"
    await arena.own_scheduler(config={"profiles": [{}, {"schedulerName": other}]})
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.gated_pod("holder", cpu="4", scheduler=other)
    await arena.hint(holder, node)

    rival = await arena.pod("rival", cpu="4")
    await arena.unschedulable(rival)

    await arena.hint(holder, None)
    assert await arena.bound(rival) == node


@behaviour(
    "NNN-HINT-UNSERVED-SCHEDULER",
    must="A hint on a pod whose `schedulerName` a scheduler does not serve reserves nothing there, and is "
    "left alone.",
    why="With two schedulers each gives out the room that the other has promised; nobody clears such a hint.",
    needs=[Capability.FAKE_NODES, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "scheduler", "operator"],
    advice="Hint only pods whose schedulerName is served. Give schedulers nodes of their own, by labels or "
    "taints, where both must keep room. Clear hints of pods that nobody serves: no scheduler does.",
    source="kubernetes eventhandlers responsibleForPod; measured 1.33.13-1.37.2",
    severity="hazard",
)
async def test_unserved_scheduler_name(arena: Arena) -> None:
    """A hint of a pod that no scheduler serves fills the only node; a pod of a real scheduler must be bound
    there."""
    (node,) = await arena.nodes(1, cpu="4")
    holder = await arena.pod("holder", cpu="4", scheduler="hintbound-nobody")
    await arena.hint(holder, node)

    rival = await arena.pod("rival", cpu="4")

    assert await arena.bound(rival) == node
    assert await arena.nomination(holder) == node


@behaviour(
    "NNN-BOUND-RESERVES-NOTHING",
    must="Without the clearing gate a hint on a bound pod, though it stays, reserves nothing on the node "
    "that it names.",
    why="Dashboards and autoscalers that add nominations up count room as taken that anyone can have.",
    applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    needs=[Capability.FAKE_NODES, Feature.POD_AFFINITY],
    affects=["autoscaler", "dashboard"],
    advice="When you add up what nominations promise on a node, leave out pods that have a spec.nodeName: "
    "their requests count where they run, and nowhere else.",
    source="kubernetes nominator; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_hint_on_a_bound_pod_reserves_nothing(arena: Arena) -> None:
    """A bound pod is hinted to another node; a pod that fills that node must be bound there."""
    home, named = await arena.nodes(2, cpu="4")
    pod = await arena.pod(cpu="4", node_selector={"kubernetes.io/hostname": home})
    await arena.bound(pod)
    await arena.hint(pod, named)
    await arena.nodes.caught_up(home)

    rival = await arena.pod("rival", cpu="4")

    assert await arena.bound(rival) == named
    assert await arena.nomination(pod) == named
