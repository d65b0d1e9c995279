"""A nomination that somebody else overwrites."""

from hintbound.kube.exchange import Json
from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination


@behaviour(
    "NNN-PREEMPT-REPAIRED",
    must="A waiting preemptor whose nomination an outsider clears or changes is nominated to its node again.",
    why="The scheduler answers such a write with a new attempt: whoever fights it over the field writes for "
    "ever.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    source="kubernetes#129058 (requeue on a changed nomination); measured 1.33.13-1.37.2",
)
async def test_nomination_is_repaired(arena: Arena) -> None:
    """A finalizer holds the victim while the nominator clears, and then changes, the nomination of the
    waiting preemptor."""
    (node,) = await arena.nodes(1, cpu="4")
    victim = await arena.running_pod(
        node, cpu="4", priority="hintbound-low", finalizers=["hintbound.dev/hold"]
    )
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    await arena.until(victim, lambda o: "deletionTimestamp" in o["metadata"], f"{victim} to be deleted")

    for value in (None, "another-node"):
        written = await arena.hint(preemptor, value)

        def repaired(pod: Json, since: int = int(written["metadata"]["resourceVersion"])) -> bool:
            return int(pod["metadata"]["resourceVersion"]) > since and nomination(pod) == node

        await arena.until(preemptor, repaired, f"{preemptor} to be nominated again instead of {value!r}")
