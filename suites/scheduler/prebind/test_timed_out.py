"""A PreBind that gives up: VolumeBinding waits for `bindTimeoutSeconds`, then the pod starts over."""

from typing import Any

from hintbound.kube.exchange import Json
from hintbound.plugin import Arena, Capability, Feature, Pod, behaviour, nomination, scheduled, waiting_claim

EXPECTS = "gate(scheduler, NominatedNodeNameForExpectation)"
ARGS: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "VolumeBindingArgs",
    "bindTimeoutSeconds": 1,
}
IMPATIENT = {"profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": ARGS}]}]}


@behaviour(
    "NNN-PREBIND-FAILED-CLEARED",
    must="From 1.36 on a PreBind that fails clears the nomination before the pod is tried again.",
    why="A pod whose node could not be prepared must not keep that room from others.",
    applies=f'{EXPECTS} and version(scheduler, ">=1.36")',
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.VOLUMES,
        Feature.CONDITIONS,
        Feature.CONFIGURATION_FILE,
    ],
    affects=["autoscaler", "dashboard"],
    advice="An autoscaler must not remove the node at once when the nomination goes: the pod's volume may "
    "be pinned to it, and the next attempt nominates it again. Releases before 1.36 clear later or "
    "not at all.",
    source="KEP-5278, kubernetes#135007; measured 1.36.3 and 1.37.2 with the gate on",
)
async def test_failure_clears(arena: Arena) -> None:
    """A scheduler that gives PreBind little time gets a pod whose volume never comes."""
    await arena.own_scheduler(config=IMPATIENT)
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)
    assert await arena.nominated(pod) == node

    failed = await arena.until(pod, has_failed, f"PreBind of {pod} to fail")

    assert nomination(failed) == ""


@behaviour(
    "NNN-PREBIND-FAILED-SECOND-CLEARED",
    must="In 1.35 the first PreBind that fails keeps the nomination, and the second clears it.",
    why="1.35 compares with a copy of the pod from before the nomination, so the first clearing is lost.",
    applies=f'{EXPECTS} and version(scheduler, "==1.35")',
    severity="hazard",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.VOLUMES,
        Feature.CONDITIONS,
        Feature.CONFIGURATION_FILE,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["autoscaler", "dashboard", "operator"],
    advice="A nomination that outlives a FailedScheduling event with reason SchedulerError is not to be "
    "relied on. Where it matters, go on to 1.36, which clears it each time.",
    source="KEP-5278, kubernetes#135007; measured 1.35.4 with the gate on",
)
async def test_second_failure_clears(arena: Arena) -> None:
    """A scheduler that gives PreBind little time gets a pod whose volume never comes, and fails it twice."""
    await arena.own_scheduler(config=IMPATIENT)
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)
    assert await arena.nominated(pod) == node

    failed = await arena.until(pod, has_failed, f"PreBind of {pod} to fail")

    assert nomination(failed) == node, "the first failure cleared the nomination"
    await shown_after(arena, failed, pod, "")


@behaviour(
    "NNN-PREBIND-FAILED-KEPT",
    must="In 1.34 a PreBind that fails keeps the nomination, however often.",
    why="1.34 never took back what it or a nominator had written; the room stays reserved between attempts.",
    applies=f'{EXPECTS} and version(scheduler, "==1.34")',
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.VOLUMES,
        Feature.METRICS,
        Feature.CONFIGURATION_FILE,
    ],
    affects=["autoscaler", "nominator"],
    advice="Do not take a nomination for a sign of progress: look for FailedScheduling events as well. "
    "From 1.35 on the nomination goes when PreBind fails; a plan that relies on it must then be "
    "made anew.",
    source="KEP-5278, kubernetes#133276; measured 1.34.0 and 1.34.4 with the gate on",
)
async def test_failure_keeps(arena: Arena) -> None:
    """A scheduler that gives PreBind little time gets a pod whose volume never comes, and fails it three
    times."""
    scheduler = await arena.own_scheduler(config=IMPATIENT)
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    attempts = await arena.tally(scheduler, "scheduler_schedule_attempts_total", by="result")
    pod = await arena.pod(spec=claim.spec)
    assert await arena.nominated(pod) == node

    # What the second failure writes has been written when the third is counted.
    await attempts.until(lambda made: made["error"] >= 3, "three attempts to fail", patience=30)

    shown = [version.nominated_node_name for version in (await arena.life(pod)).versions]
    assert set(shown[shown.index(node) :]) == {node}, f"what the versions showed: {shown}"


@behaviour(
    "NNN-PREBIND-RETRY-FLAPS",
    must="From 1.35 on the nomination of a pod whose PreBind fails again and again goes with each failure "
    "and comes back with each retry.",
    why="Each flap is two writes and two events: whoever acts on the field must wait until it stands still.",
    applies=f'{EXPECTS} and version(scheduler, ">=1.35")',
    severity="hazard",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.VOLUMES,
        Feature.CONFIGURATION_FILE,
        Feature.UPSTREAM_DETAILS,
    ],
    affects=["autoscaler", "dashboard", "nominator"],
    advice="Act on a nomination, or on its end, only after it has stood still for a while (longer than the "
    "scheduler's backoff of up to 10 s). Alert on pods that are nominated again and again: their "
    "volume or device is never ready.",
    source="measured 1.35.4-1.37.2 with the gate on; docs/findings/nomination-flaps-with-prebind-retries.md",
)
async def test_nomination_flaps(arena: Arena) -> None:
    """A scheduler that gives PreBind little time gets a pod whose volume never comes; its nomination must
    come, go, come and go."""
    await arena.own_scheduler(config=IMPATIENT)
    claim = await waiting_claim(arena)
    (node,) = await arena.nodes(1)
    pod = await arena.pod(spec=claim.spec)

    seen = await arena.until(pod, lambda o: nomination(o) == node, f"{pod} to be nominated")
    for value in ("", node, ""):
        seen = await shown_after(arena, seen, pod, value)

    assert "nodeName" not in seen["spec"]


def has_failed(pod: Json) -> bool:
    return scheduled(pod).get("reason") == "SchedulerError"


async def shown_after(arena: Arena, earlier: Json, pod: Pod, value: str) -> Json:
    """The first version after another in which a pod's nomination is this."""
    since = int(earlier["metadata"]["resourceVersion"])
    return await arena.until(
        pod,
        lambda o: int(o["metadata"]["resourceVersion"]) > since and nomination(o) == value,
        f"the nomination of {pod} to become {value!r}",
    )
