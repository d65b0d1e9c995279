"""kubernetes#134249: a preemption is begun again before it has ended."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, regression
from hintbound.plugin.webhooks import webhook


@behaviour(
    "BUG-KUBERNETES-134249",
    must="While the DELETE of a victim is not answered yet its preemptor sends no other, whatever wakes it.",
    why="Behind a slow apiserver each event sends one more DELETE for one victim, and slows it more.",
    level="regression",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Capability.WEBHOOKS,
        Feature.PREEMPTION,
        Feature.POD_AFFINITY,
    ],
    source="kubernetes#134249, fixed by #134730",
)
@regression(
    "kubernetes#134249",
    "an asynchronous preemption is begun again before it has ended: many DELETEs for one victim",
    shows=["embedded:1.34.4", "embedded:1.33.13"],
    absent=["embedded:1.35.4", "embedded:1.37.2"],
    checks=["victim-deleted-once"],
    means="a webhook holds the victim's DELETE while neighbours that go wake the preemptor three times",
)
async def test_victim_is_not_deleted_again(arena: Arena) -> None:
    """A webhook holds the DELETE of a victim that a finalizer keeps; three pods of its node are deleted, and
    pods are bound, before the DELETEs that came are counted."""
    async with webhook(arena) as slow:
        await arena.own_scheduler()
        (node,) = await arena.nodes(1, cpu="5")
        victim = await arena.running_pod(
            node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
        )
        neighbours = [
            await arena.running_pod(node, "neighbour", cpu="250m", priority="hintbound-high")
            for _ in range(3)
        ]
        deletion = slow.hold("delete", victim.name)
        preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
        await deletion.first()

        for neighbour in neighbours:
            await arena.delete(neighbour)
            await arena.gone(neighbour)
            await arena.nodes.caught_up(node)
            barrier = await arena.pod("barrier", cpu="0", priority="hintbound-low")
            assert await arena.bound(barrier) == node
        sent = deletion.asked
        deletion.release()
        await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")
        await arena.release(victim)

        assert await arena.bound(preemptor) == node
        assert sent == 1, "DELETEs of the victim that were under way at once"
