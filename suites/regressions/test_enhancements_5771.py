"""enhancements#5771: the first failed binding keeps the nomination, and only the second clears it."""

from typing import Any

from hintbound.plugin import (
    Arena,
    Capability,
    Feature,
    behaviour,
    nomination,
    regression,
    scheduled,
    waiting_claim,
)

ARGS: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "VolumeBindingArgs",
    "bindTimeoutSeconds": 1,
}
IMPATIENT = {"profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": ARGS}]}]}


@behaviour(
    "BUG-ENHANCEMENTS-5771",
    must="The write that says that PreBind failed also takes the nomination that PreBind began with.",
    why="The room stays reserved, and the node looks needed, while the pod waits in backoff.",
    level="regression",
    applies="gate(scheduler, NominatedNodeNameForExpectation)",
    affects=["autoscaler", "dashboard"],
    advice="Take SchedulerError with a nomination, on 1.35, for no nomination, or go on to 1.36.",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.VOLUMES,
        Feature.CONDITIONS,
        Feature.CONFIGURATION_FILE,
    ],
    source="kubernetes/enhancements#5771, kubernetes#135007",
)
@regression(
    "enhancements#5771",
    "the first failed binding keeps the nomination, and only the second clears it",
    shows=["embedded:1.35.4"],
    absent=["embedded:1.37.2"],
    means="VolumeBinding waits a second for a volume that nobody makes",
    note="See docs/findings/first-failed-binding-keeps-the-nomination.md.",
)
async def test_first_failure_clears(arena: Arena) -> None:
    """A scheduler that gives PreBind little time gets a pod whose volume never comes."""
    await arena.own_scheduler(config=IMPATIENT)
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)

    assert await arena.nominated(pod) == node
    failed = await arena.until(
        pod, lambda o: scheduled(o).get("reason") == "SchedulerError", f"PreBind of {pod} to fail"
    )

    assert nomination(failed) == ""
