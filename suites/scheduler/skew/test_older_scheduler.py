"""A scheduler of the minor before beside the cluster's apiserver, and the change from one to the other."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, waiting_claim

OLDER_HIDES = 'version(scheduler, ">=1.34") and version(scheduler, "<=1.35")'
OLDER_SHOWS = 'version(scheduler, ">=1.36")'
NEEDS: list[Capability | Feature] = [
    Capability.FAKE_NODES,
    Capability.OWN_SCHEDULER,
    Capability.OLDER_MINOR,
    Feature.UPSTREAM_DETAILS,
]
MEASURED = "measured with each of 1.33.13-1.36.3 beside the next minor"


@behaviour(
    "NNN-UPGRADE-OLDER-HONOURS",
    must="A kube-scheduler of the minor before takes hints that are written through the newer apiserver.",
    why="A nominator can be upgraded first: in no order of the upgrade are its hints lost.",
    level="extended",
    applies='version(scheduler, ">=1.34")',
    needs=NEEDS,
    source=f"Kubernetes version skew policy; {MEASURED}",
    affects=["nominator", "operator"],
    advice="Nothing is to be done: hints work in the middle of an upgrade as before and after it.",
)
async def test_older_scheduler_takes_the_hint(arena: Arena) -> None:
    """A scheduler of the minor before is started, and a gated pod hinted to the node that scores less."""
    await arena.own_scheduler(version=arena.extras.older)
    _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    await arena.hint(pod, hinted)
    await arena.ungate(pod)

    assert await arena.bound(pod) == hinted


@behaviour(
    "NNN-UPGRADE-OLDER-HIDES",
    must="Up to the upgrade to 1.35 the scheduler of the minor before, by its default gates, shows no node "
    "for a pod that waits in PreBind, though the apiservers are upgraded.",
    why="Half of the new behaviour comes with the apiserver and half with the scheduler.",
    level="extended",
    severity="hazard",
    applies=OLDER_HIDES,
    needs=[*NEEDS, Feature.VOLUMES],
    source=f"KEP-5278, Kubernetes version skew policy; {MEASURED} up to 1.35.4",
    affects=["autoscaler", "operator"],
    advice="Let an autoscaler rely on the field only when every scheduler is upgraded as well, not as soon "
    "as the apiserver says 1.35.",
)
async def test_older_scheduler_hides_the_node(arena: Arena) -> None:
    """A scheduler of the minor before takes a pod whose volume is not there yet; the pod's recorded
    versions are compared."""
    node, shown = await shown_before_binding(arena, arena.extras.older)
    assert shown == {""}, f"what the unbound versions showed on the way to {node}"


@behaviour(
    "NNN-UPGRADE-OLDER-SHOWS",
    must="From the upgrade to 1.36 on the scheduler of the minor before, by its default gates, shows the "
    "node of a pod that waits in PreBind.",
    why="Autoscalers that protect such nodes can rely on it all through the upgrade.",
    level="extended",
    applies=OLDER_SHOWS,
    needs=[*NEEDS, Feature.VOLUMES],
    source="KEP-5278, Kubernetes version skew policy; measured with 1.35.4 beside 1.36.3, and with 1.36.3 "
    "beside 1.37.2",
    affects=["autoscaler", "operator"],
    advice="Nothing is to be done, as long as neither scheduler has the gate turned off.",
)
async def test_older_scheduler_shows_the_node(arena: Arena) -> None:
    """A scheduler of the minor before takes a pod whose volume is not there yet; the pod's recorded
    versions are compared."""
    node, shown = await shown_before_binding(arena, arena.extras.older)
    assert node in shown, f"what the unbound versions showed: {shown}"


@behaviour(
    "NNN-UPGRADE-HANDOVER",
    must="A pod that the scheduler of the minor before has nominated, and for which it has preempted, is "
    "kept so by the newer one that takes over: nobody gets the room, and no further victim is taken.",
    why="Pods that wait for their victims outlive the upgrade of the scheduler.",
    level="extended",
    applies='version(scheduler, ">=1.34")',
    needs=[
        *NEEDS,
        Capability.RESTART_COMPONENT,
        Feature.CONDITIONS,
        Feature.PREEMPTION,
        Feature.RESERVATIONS,
    ],
    source=f"Kubernetes version skew policy, PriorityQueue.Add; {MEASURED}",
    affects=["operator"],
    advice="Upgrade schedulers while preemptions are under way without fear for the pods that wait.",
)
async def test_newer_scheduler_takes_over(arena: Arena) -> None:
    """The older scheduler preempts a victim that a finalizer holds; it is stopped, the newer one started
    in its place, and the victim let go."""
    await preemptor_outlives_the_change(arena, before=arena.extras.older, after=None)


@behaviour(
    "NNN-UPGRADE-ROLLED-BACK",
    must="A pod that a scheduler has nominated, and for which it has preempted, is kept so when the "
    "scheduler of the minor before takes over: nobody gets the room, and no further victim is taken.",
    why="A scheduler that is rolled back does not give away what its successor had paid for.",
    level="extended",
    applies='version(scheduler, ">=1.34")',
    needs=[
        *NEEDS,
        Capability.RESTART_COMPONENT,
        Feature.CONDITIONS,
        Feature.PREEMPTION,
        Feature.RESERVATIONS,
    ],
    source=f"Kubernetes version skew policy, PriorityQueue.Add; {MEASURED}",
    affects=["operator"],
    advice="Roll schedulers back while preemptions are under way without fear for the pods that wait.",
)
async def test_older_scheduler_takes_over(arena: Arena) -> None:
    """A scheduler preempts a victim that a finalizer holds; it is stopped, the older one started in its
    place, and the victim let go."""
    await preemptor_outlives_the_change(arena, before=None, after=arena.extras.older)


async def shown_before_binding(arena: Arena, version: str | None) -> tuple[str, set[str]]:
    """The node to which a scheduler bound a pod with a volume, and what the pod was nominated to
    before."""
    await arena.own_scheduler(version=version)
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)
    assert await claim.selected() == node
    await claim.provide(node)
    assert await arena.bound(pod) == node
    return node, {v.nominated_node_name for v in (await arena.life(pod)).versions if not v.node_name}


async def preemptor_outlives_the_change(arena: Arena, *, before: str | None, after: str | None) -> None:
    scheduler = await arena.own_scheduler(version=before)
    first, second = await arena.nodes(2, cpu="4")
    victims = [
        await arena.running_pod(
            node, cpu="4", priority=f"hintbound-{priority}", finalizers=["hintbound.dev/hold"]
        )
        for node, priority in ((first, "low"), (second, "mid"))
    ]
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == first
    await arena.until(victims[0], lambda o: "deletionTimestamp" in o["metadata"], "the victim to be deleted")

    await scheduler.stop()
    await arena.own_scheduler(version=after, successor=True)
    rival = await arena.pod("rival", cpu="4", priority="hintbound-low")
    await arena.unschedulable(rival)
    await arena.release(victims[0])

    assert await arena.bound(preemptor) == first
    life, spared = await arena.lives(preemptor, victims[1])
    shown = [version.nominated_node_name for version in life.versions if not version.node_name]
    assert set(shown[shown.index(first) :]) == {first}, f"what the unbound versions showed: {shown}"
    assert "deletionTimestamp" not in spared.last.object["metadata"], "the other victim was taken as well"
