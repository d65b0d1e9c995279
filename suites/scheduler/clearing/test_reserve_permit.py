"""A hint when a plugin of Reserve or Permit says no, or breaks."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, scheduled
from hintbound.plugin.faults import faulty_scheduler, ordered

KEEPS = 'version(scheduler, "==1.34") and gate(scheduler, NominatedNodeNameForExpectation)'
NEEDS: list[Capability | Feature] = [
    Capability.FAKE_NODES,
    Capability.OWN_SCHEDULER,
    Capability.FAULTY_SCHEDULER,
    Feature.CONDITIONS,
    Feature.UPSTREAM_DETAILS,
]
CLEARED = "KEP-5278, kubernetes#135007; measured 1.33.13-1.37.2"
KEPT = "KEP-5278, kubernetes#133276; measured 1.34.0 and 1.34.4 with the gate on"
HINT_AGAIN = "Watch PodScheduled of the pods that you hint: whenever it turns False write the hint anew."
RELY_NOT = "Do not build on it: from 1.35 on the hint is cleared."


@behaviour(
    "NNN-CLEAR-RESERVE",
    must="An attempt that a Reserve plugin rejects, or breaks off, clears the hint.",
    why="Plugins that book devices, quota or licences say no here: the pod then loses its planned place.",
    level="extended",
    applies=f"not ({KEEPS})",
    needs=NEEDS,
    source=CLEARED,
    affects=["nominator", "scheduler"],
    advice=HINT_AGAIN,
)
async def test_reserve_clears_the_hint(arena: Arena) -> None:
    """A scheduler with a plugin that fails on demand rejects and breaks off a gated, hinted pod in Reserve
    once it is released."""
    assert await after_failures_in(arena, "reserve") == {"Unschedulable": "", "SchedulerError": ""}


@behaviour(
    "NNN-KEPT-RESERVE",
    must="In 1.34 with NominatedNodeNameForExpectation an attempt that a Reserve plugin rejects, or breaks "
    "off, keeps the hint.",
    why="1.34 promised external writers that the scheduler keeps their value; 1.35 took it back.",
    level="extended",
    applies=KEEPS,
    needs=NEEDS,
    source=KEPT,
    affects=["nominator", "scheduler"],
    advice=RELY_NOT,
)
async def test_reserve_keeps_the_hint(arena: Arena) -> None:
    """A scheduler with a plugin that fails on demand rejects and breaks off a gated, hinted pod in Reserve
    once it is released."""
    left = await after_failures_in(arena, "reserve")
    assert all(left.values()), f"what the failures left of the hint: {left}"


@behaviour(
    "NNN-CLEAR-PERMIT",
    must="An attempt that a Permit plugin rejects, or breaks off, clears the hint.",
    why="Co-scheduling plugins say no here until a whole group fits: each time its pods lose their places.",
    level="extended",
    applies=f"not ({KEEPS})",
    needs=NEEDS,
    source=CLEARED,
    affects=["nominator", "scheduler"],
    advice=HINT_AGAIN,
)
async def test_permit_clears_the_hint(arena: Arena) -> None:
    """A scheduler with a plugin that fails on demand rejects and breaks off a gated, hinted pod in Permit
    once it is released."""
    assert await after_failures_in(arena, "permit") == {"Unschedulable": "", "SchedulerError": ""}


@behaviour(
    "NNN-KEPT-PERMIT",
    must="In 1.34 with NominatedNodeNameForExpectation an attempt that a Permit plugin rejects, or breaks "
    "off, keeps the hint.",
    why="1.34 promised external writers that the scheduler keeps their value; 1.35 took it back.",
    level="extended",
    applies=KEEPS,
    needs=NEEDS,
    source=KEPT,
    affects=["nominator", "scheduler"],
    advice=RELY_NOT,
)
async def test_permit_keeps_the_hint(arena: Arena) -> None:
    """A scheduler with a plugin that fails on demand rejects and breaks off a gated, hinted pod in Permit
    once it is released."""
    left = await after_failures_in(arena, "permit")
    assert all(left.values()), f"what the failures left of the hint: {left}"


async def after_failures_in(arena: Arena, point: str) -> dict[str, str]:
    """What a rejection and an error in this extension point left of the hint, by what the pod says of it."""
    await faulty_scheduler(arena)
    (node,) = await arena.nodes(1)
    left = {}
    for fault, reason in (("rejected", "Unschedulable"), ("error", "SchedulerError")):
        pod = await arena.gated_pod(**ordered(f"{point}-{fault}"))
        await arena.hint(pod, node)
        await arena.ungate(pod)
        told = await arena.until(
            pod, lambda o: scheduled(o).get("reason") not in (None, "SchedulingGated"), f"{pod} to fail"
        )
        assert f"in {point}, as ordered" in scheduled(told)["message"]
        left[scheduled(told)["reason"]] = nomination(told)
        assert reason in left, f"{fault} is shown as {', '.join(left)}"
    return left
