"""kubernetes#135900: bindings wait behind what the scheduler has to say of other pods."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, regression

CROWD = 30
SLOW = {"clientConnection": {"qps": 4, "burst": 4}}
SCHEDULER = "system:kube-scheduler"


@behaviour(
    "BUG-KUBERNETES-135900",
    must="The binding of a pod does not wait until many pods that do not fit have been told so.",
    why="One limit on requests serves all: where many pods do not fit, those that do start minutes late.",
    level="regression",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Capability.PAUSE_COMPONENT,
        Capability.AUDIT,
        Feature.CONDITIONS,
        Feature.CONFIGURATION_FILE,
    ],
    source="kubernetes#135900; SchedulerAsyncAPICalls is off from 1.35.1 on by #135904",
)
@regression(
    "kubernetes#135900",
    "with SchedulerAsyncAPICalls bindings queue behind status patches in the scheduler's own rate limit",
    shows=["embedded:1.34.0", "embedded:1.35.4,SchedulerAsyncAPICalls=true"],
    absent=["embedded:1.34.4", "embedded:1.35.4", "embedded:1.37.2"],
    means="a scheduler of four requests a second meets thirty pods that do not fit, and then one that does",
    note="1.35.0, where it was reported, is not pinned: 1.34.0 has the gate on, too.",
)
async def test_binding_passes_the_crowd(arena: Arena) -> None:
    """Thirty pods that do not fit are there when a slowed scheduler goes on; once it has said so of the
    first, one comes that does. The audit log tells of how many more it said so before it bound this."""
    scheduler = await arena.own_scheduler(config=SLOW)
    (node,) = await arena.nodes(1, cpu="4")
    scheduler.pause()
    crowd = [await arena.pod("crowd", cpu="8", priority="hintbound-low") for _ in range(CROWD)]
    scheduler.resume()
    await arena.unschedulable(crowd[0])

    fits = await arena.pod("fits", priority="hintbound-high")
    assert await arena.bound(fits) == node

    bound, *lives = await arena.lives(fits, *crowd)
    assert bound.binding is not None
    told = [request for life in lives for request in life.requests if request.user == SCHEDULER]
    before = [request for request in told if request.event.index < bound.binding.event.index]
    assert len(before) < CROWD // 2, "pods that were told that they do not fit before the other was bound"
