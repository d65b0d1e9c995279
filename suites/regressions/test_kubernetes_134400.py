"""kubernetes#134400: with asynchronous API calls nothing slows a preemptor down any more."""

import contextlib

from hintbound.plugin import Arena, Capability, Feature, NotSeen, behaviour, regression
from hintbound.plugin.webhooks import webhook


@behaviour(
    "BUG-KUBERNETES-134400",
    must="While the write that says why a preemptor waits is not answered yet, its victim is not deleted a "
    "second time.",
    why="That write is the last brake on a preemptor that is woken again and again behind a slow apiserver.",
    level="regression",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.WEBHOOKS, Feature.PREEMPTION],
    source="kubernetes#134400, #134401: SchedulerAsyncAPICalls is off from 1.34.2 on",
)
@regression(
    "kubernetes#134400",
    "SchedulerAsyncAPICalls takes away the brake on kubernetes#134249",
    shows=["embedded:1.34.0"],
    absent=["embedded:1.34.4", "embedded:1.35.4", "embedded:1.37.2"],
    means="a webhook holds the preemptor's status and the victim's DELETE; a neighbour that goes wakes it",
)
async def test_unanswered_write_holds_the_preemptor(arena: Arena) -> None:
    """A webhook holds the preemptor's status and its victim's DELETE; a neighbour goes, another pod comes,
    and the DELETEs are counted. A scheduler that waits for its write does not even bind that one."""
    async with webhook(arena) as slow:
        await arena.own_scheduler()
        (node,) = await arena.nodes(1, cpu="5")
        victim = await arena.running_pod(
            node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
        )
        neighbour = await arena.running_pod(node, "neighbour", cpu="500m", priority="hintbound-high")
        preemptor = await arena.gated_pod("preemptor", cpu="4", priority="hintbound-high")
        deletion, told = slow.hold("delete", victim.name), slow.hold("status", preemptor.name)
        await arena.ungate(preemptor)
        await told.first()
        await deletion.first()

        await arena.delete(neighbour)
        await arena.gone(neighbour)
        with contextlib.suppress(NotSeen):
            for _ in range(2):  # the first may be taken before the preemptor, which is in backoff
                barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
                await arena.until(
                    barrier, lambda o: bool(o["spec"].get("nodeName")), f"{barrier} to be bound", patience=6
                )
        sent = deletion.asked
        told.release()
        deletion.release()
        await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")
        await arena.release(victim)

        assert await arena.bound(preemptor) == node
        assert sent == 1, "DELETEs of the victim while the preemptor's status was not written"
