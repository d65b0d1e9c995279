"""A hint that API Priority and Fairness refuses."""

import asyncio

from hintbound.kube.errors import TooManyRequests
from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.plugin.fairness import squeezed
from hintbound.protocol import Actor


@behaviour(
    "NNN-FAIRNESS-HINT-REFUSED",
    must="A hint writer that API Priority and Fairness refuses gets 429 as plain text with Retry-After, and "
    "nothing is written, while the scheduler goes on binding; once it is let through, its hint is honoured.",
    why="A refusal is no loss if the nominator waits as long as it is told; but what reads only Status "
    "objects cannot read this one.",
    needs=[Capability.FAKE_NODES, Capability.ACTORS, Feature.HINTS],
    exclusive=True,
    source="kubernetes apiserver filters.WithPriorityAndFairness, tooManyRequests; measured 1.33.13-1.37.2",
)
async def test_refused_hint_is_written_later(arena: Arena) -> None:
    """A FlowSchema leads the nominator's status patches to a priority level without a seat; a gated pod is
    hinted within the squeeze and after it."""
    attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    async with squeezed(arena, Actor.NOMINATOR) as squeeze:
        refusal = await arena.refused(429, arena.hint(pod, hinted))
        assert await arena.bound(await arena.pod("other")) == attractive
        assert await arena.nomination(pod) == ""

    assert isinstance(refusal, TooManyRequests)
    assert squeeze.made(refusal.headers), f"it was refused by somebody else: {refusal.headers}"
    assert refusal.headers["content-type"].startswith("text/plain"), f"{refusal.headers}: {refusal.body}"
    assert refusal.retry_after, "it does not say when to come again"
    await asyncio.sleep(refusal.retry_after)  # as it was told
    await arena.accepted(arena.hint(pod, hinted))
    await arena.ungate(pod)
    assert await arena.bound(pod) == hinted
