"""A hint when an attempt fails for another reason than that nothing fits."""

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, scheduled
from hintbound.plugin.extenders import extender
from hintbound.plugin.policies import refuse_bindings

KEEPS = 'version(scheduler, "==1.34") and gate(scheduler, NominatedNodeNameForExpectation)'
OWN = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER]
CLEARED = "kubernetes#135007; measured 1.33.13-1.37.2"
KEPT = "kubernetes#133276; measured 1.34.0 and 1.34.4 with the gate on"


@behaviour(
    "NNN-CLEAR-ERROR",
    must="An attempt that fails with an error, say of an extender, clears the hint.",
    why="One failure of somebody else's service costs the pod its planned place; the nominator must hint "
    "again.",
    applies=f"not ({KEEPS})",
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE],
    affects=["nominator", "scheduler"],
    advice="Watch for your hint to vanish from a pod that is not bound, and hint again, with a limit on "
    "how often. Let an extender answer `does not fit` rather than an error, or mark it ignorable.",
    source=f"KEP-5278, {CLEARED}",
)
async def test_error_clears_the_hint(arena: Arena) -> None:
    """An extender that the test plays answers with an error while a gated, hinted pod is released."""
    hinted, after = await hint_after_an_error(arena)
    assert after == "", f"the hint at {hinted} was kept"


@behaviour(
    "NNN-KEPT-ERROR",
    must="In 1.34 with NominatedNodeNameForExpectation an attempt that fails with an error keeps the hint.",
    why="1.34 promised external writers that the scheduler keeps their value; 1.35 took it back.",
    applies=KEEPS,
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE],
    affects=["nominator", "autoscaler"],
    advice="Clear your hint yourself when the pod does not get its place within your time limit. Do not "
    "build on its being kept: from 1.35 on the scheduler clears it after an error, and the "
    "nominator must hint again.",
    source=f"KEP-5278, {KEPT}; docs/findings/release-1-34-promises-to-keep-hints.md",
)
async def test_error_keeps_the_hint(arena: Arena) -> None:
    """An extender that the test plays answers with an error while a gated, hinted pod is released."""
    hinted, after = await hint_after_an_error(arena)
    assert after == hinted


@behaviour(
    "NNN-CLEAR-BINDING-REFUSED",
    must="When the binding of a hinted pod is refused the hint is cleared.",
    why="A webhook or policy that says no once sends the pod back to the full scan.",
    applies=f"not ({KEEPS})",
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS],
    affects=["nominator", "operator"],
    advice="Watch for your hint to vanish from a pod that is not bound, and decide anew. Whoever guards "
    "pods/binding by a webhook or policy costs a plan with each refusal: refuse at the pod's "
    "creation where that is possible.",
    source=f"KEP-5278, {CLEARED}",
)
async def test_refused_binding_clears_the_hint(arena: Arena) -> None:
    """An admission policy refuses bindings while a gated, hinted pod is released."""
    hinted, after = await hint_after_a_refused_binding(arena)
    assert after == "", f"the hint at {hinted} was kept"


@behaviour(
    "NNN-KEPT-BINDING-REFUSED",
    must="In 1.34 with NominatedNodeNameForExpectation the hint stays when the binding of its pod is "
    "refused.",
    why="1.34 promised external writers that the scheduler keeps their value; 1.35 took it back.",
    applies=KEEPS,
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS],
    affects=["nominator", "autoscaler"],
    advice="Clear your hint yourself when the pod does not get its place within your time limit. Do not "
    "build on its being kept: from 1.35 on the scheduler clears it, and the nominator must hint "
    "again.",
    source=f"KEP-5278, {KEPT}; docs/findings/release-1-34-promises-to-keep-hints.md",
)
async def test_refused_binding_keeps_the_hint(arena: Arena) -> None:
    """An admission policy refuses bindings while a gated, hinted pod is released."""
    hinted, after = await hint_after_a_refused_binding(arena)
    assert after == hinted


async def hint_after_an_error(arena: Arena) -> tuple[str, str]:
    async with extender() as failing:
        await arena.own_scheduler(config=failing.config)
        (node,) = await arena.nodes(1)
        failing.error = "out of order"
        return node, await hint_after_a_failed_attempt(arena, node)


async def hint_after_a_refused_binding(arena: Arena) -> tuple[str, str]:
    (node,) = await arena.nodes(1)
    await refuse_bindings(arena)
    return node, await hint_after_a_failed_attempt(arena, node)


async def hint_after_a_failed_attempt(arena: Arena, node: str) -> str:
    pod = await arena.gated_pod()
    await arena.hint(pod, node)
    await arena.ungate(pod)
    failed = f"{pod} to fail with SchedulerError"
    return nomination(
        await arena.until(pod, lambda o: scheduled(o).get("reason") == "SchedulerError", failed)
    )
