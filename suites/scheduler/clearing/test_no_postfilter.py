"""A hint where no plugin preempts."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination

NOTHING_PREEMPTS = {"profiles": [{"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}]}
SINCE = 'version(scheduler, ">=1.35")'
OWN = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER]


@behaviour(
    "NNN-CLEAR-NO-POSTFILTER",
    must="From 1.35 on a hint is cleared when nothing fits, also where no PostFilter plugin is configured.",
    why="Clusters that switch preemption off must not collect stale hints.",
    applies=SINCE,
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE],
    affects=["nominator", "operator"],
    advice="Where preemption is switched off: watch for your hint to vanish and decide anew. Jobs that "
    "removed stale hints from pods that fit nowhere are no longer needed from 1.35 on.",
    source="kubernetes#135007; measured 1.35.4-1.37.2",
)
async def test_hint_is_cleared_without_postfilter(arena: Arena) -> None:
    """A scheduler without PostFilter plugins gets a gated pod, hinted to a node that is too small."""
    _hinted, after = await hint_where_nothing_preempts(arena)
    assert after == ""


@behaviour(
    "NNN-KEPT-NO-POSTFILTER",
    must="Before 1.35 a hint stays when nothing fits and no PostFilter plugin is configured.",
    why="Only preemption cleared hints: with it switched off a stale hint reserves for ever.",
    severity="hazard",
    applies=f"not {SINCE}",
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "operator"],
    advice="Where preemption is switched off, clear hints of pods that are Unschedulable beyond your time "
    "limit yourself. From 1.35 on the scheduler does it: expect hints to vanish then.",
    source="kubernetes handleSchedulingFailure; measured 1.33.13-1.34.4",
)
async def test_hint_is_kept_without_postfilter(arena: Arena) -> None:
    """A scheduler without PostFilter plugins gets a gated pod, hinted to a node that is too small."""
    hinted, after = await hint_where_nothing_preempts(arena)
    assert after == hinted


@behaviour(
    "NNN-CLEAR-NO-POSTFILTER-NEVER",
    must="From 1.35 on, where no PostFilter plugin is configured, a pod that never preempts loses its hint, "
    "too.",
    why="The same pod keeps it in a default cluster: what happens to a hint depends on the scheduler's "
    "configuration.",
    applies=SINCE,
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE],
    affects=["nominator", "scheduler"],
    advice="Do not rely on `preemptionPolicy: Never` to keep a hint. Where hints must outlive a failed "
    "attempt, keep DefaultPreemption in the profile, and watch the field in any case.",
    source="kubernetes#135007; measured 1.35.4-1.37.2",
)
async def test_never_loses_the_hint_without_postfilter(arena: Arena) -> None:
    """A scheduler without PostFilter plugins gets a gated pod that never preempts, hinted to a node that is
    too small."""
    _hinted, after = await hint_where_nothing_preempts(arena, priority="hintbound-never")
    assert after == ""


async def hint_where_nothing_preempts(arena: Arena, priority: str | None = None) -> tuple[str, str]:
    await arena.own_scheduler(config=NOTHING_PREEMPTS)
    (small,) = await arena.nodes(1, cpu="1")
    pod = await arena.gated_pod(cpu="2", priority=priority)
    await arena.hint(pod, small)
    await arena.ungate(pod)
    return small, nomination(await arena.unschedulable(pod))
