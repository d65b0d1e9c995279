"""kubernetes#138434: what befell a pod is written on its successor of the same name."""

import asyncio

from hintbound.plugin import Arena, Capability, Feature, behaviour, regression, scheduled
from hintbound.plugin.extenders import extender
from hintbound.plugin.pods import pod_manifest

HOSTNAME = "kubernetes.io/hostname"


@behaviour(
    "BUG-KUBERNETES-138434",
    must="What an attempt found of a pod that is gone by then is not written on a pod of the same name.",
    why="A StatefulSet's new pod says that it does not fit, before anybody tried it.",
    level="regression",
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Feature.METRICS,
        Feature.CONDITIONS,
        Feature.CONFIGURATION_FILE,
    ],
    source="kubernetes#138316, fixed by #138324; 1.34.8 by #138435 and 1.35.5 by #138434",
)
@regression(
    "kubernetes#138434",
    "a failed attempt is taken for one of the pod that was made anew under the same name meanwhile",
    shows=["embedded:1.35.4", "embedded:1.34.4", "embedded:1.33.13"],
    absent=["embedded:1.37.2"],
    means="an extender holds the attempt while the pod is deleted and made anew behind a scheduling gate",
)
async def test_successor_is_left_alone(arena: Arena) -> None:
    """An extender holds an attempt; the pod is deleted and made anew, gated. The attempt fails, a later pod
    is bound, and the new pod must say no more than that it is gated."""
    async with extender() as asked:
        scheduler = await arena.own_scheduler(config=asked.config)
        node, other = await arena.nodes(2)
        asked.refused.add(node)
        pod = await arena.gated_pod(node_selector={HOSTNAME: node})
        asked.held[pod.name] = asyncio.Event()
        await arena.ungate(pod)
        await asyncio.wait_for(asked.arrived.wait(), 20)

        await arena.delete(pod, grace=0)
        await arena.gone(pod)
        incoming = await arena.tally(scheduler, "scheduler_queue_incoming_pods_total", by="event")
        manifest = pod_manifest(
            pod.name, scheduler=arena.scheduler_name, gated=True, node_selector={HOSTNAME: node}
        )
        successor = await arena.create(manifest)
        await incoming.until(lambda counts: bool(+counts), f"the scheduler to know of the new {pod}")
        asked.held[pod.name].set()
        barrier = await arena.pod("barrier", node_selector={HOSTNAME: other})
        assert await arena.bound(barrier) == other

        assert scheduled(await arena.now(successor))["reason"] == "SchedulingGated"
