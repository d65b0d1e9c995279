"""kubernetes#139417: a late PodScheduled=False lands on a pod that has been bound meanwhile."""

import contextlib

from hintbound.plugin import Arena, Capability, Feature, NotSeen, behaviour, regression, scheduled
from hintbound.plugin.pods import pod_manifest
from hintbound.plugin.webhooks import webhook

HOSTNAME = "kubernetes.io/hostname"


@behaviour(
    "BUG-KUBERNETES-139417",
    must="The failure of one attempt is not written on a pod that a later attempt has bound.",
    why="The pod runs and says that it could not be scheduled, until somebody writes the condition anew.",
    level="regression",
    needs=[Capability.FAKE_NODES, Capability.OWN_SCHEDULER, Capability.WEBHOOKS, Feature.CONDITIONS],
    source="kubernetes#139417; #139602 guarded it, #140177 took that back",
)
@regression(
    "kubernetes#139417",
    "PodScheduled=False, written late, stays on a pod that is bound",
    shows=["embedded:1.35.4", "embedded:1.33.13", "embedded:1.34.4", "embedded:1.37.2"],
    absent=["embedded:1.35.4,SchedulerAsyncAPICalls=true"],
    checks=["scheduled-stays-true"],
    means="a webhook refuses a pod's first binding, and holds what the scheduler says of that",
    note="No release is free of it; with SchedulerAsyncAPICalls the calls for one pod keep their order.",
)
async def test_late_failure_is_not_written(arena: Arena) -> None:
    """A webhook refuses a binding and holds the write that tells so; the pod is tried again. A scheduler that
    waits for its write binds only then."""
    async with webhook(arena) as slow:
        await arena.own_scheduler()
        (node,) = await arena.nodes(1)
        slow.refuse("binding", "late")
        told = slow.hold("status", "late")
        # Not a gated one: it says PodScheduled=False already, and the scheduler sends only what it changes.
        manifest = pod_manifest("late", scheduler=arena.scheduler_name, node_selector={HOSTNAME: node})
        pod = await arena.create(manifest)
        await told.first()

        with contextlib.suppress(NotSeen):
            await arena.until(
                pod, lambda o: bool(o["spec"].get("nodeName")), f"{pod} to be bound", patience=8
            )
        told.release()

        failed = await arena.until(
            pod, lambda o: scheduled(o).get("reason") == "SchedulerError", f"{pod} to tell of its failure"
        )
        assert failed["spec"].get("nodeName") is None, "the node of the pod that says SchedulerError"
        assert await arena.bound(pod) == node
