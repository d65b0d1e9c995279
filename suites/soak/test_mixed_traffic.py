"""Everything at once."""

from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.plugin.traffic import Traffic

NEEDS = [
    Capability.FAKE_NODES,
    Capability.OWN_SCHEDULER,
    Capability.RESTART_COMPONENT,
    Capability.PAUSE_COMPONENT,
]
ACTS = 120


@behaviour(
    "NNN-SOAK-MIXED",
    must="Whatever arrives, is hinted, preempts, leaves, is cordoned or restarted at the same time, no check "
    "finds a broken sentence, and what waits is bound once there is room.",
    why="Each sentence holds alone; a cluster does everything at once.",
    level="extended",
    needs=[*NEEDS, Feature.HINTS, Feature.PREEMPTION],
    deadline=240,
    judges_nominator=True,
    harms=["no-needless-victims"],  # room elsewhere comes at any moment, also as a victim is deleted
    source="KEP-5278; hintbound's checks",
)
async def test_mixed_traffic(arena: Arena) -> None:
    """Acts drawn by the run's seed, four at a time; then what is bound is removed until nothing waits."""
    scheduler = await arena.own_scheduler()
    traffic = Traffic(arena, await arena.nodes(4, cpu="4"), scheduler)

    await traffic.play(ACTS, arena.random)
    await traffic.drain()
