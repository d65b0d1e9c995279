"""kubernetes#141694: a preemptor whose victim is gone already is not tried again."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from hintbound.history.events import timestamp
from hintbound.kube.client import PatchType
from hintbound.plugin import Arena, Capability, Feature, behaviour, regression
from hintbound.plugin.extenders import extender
from hintbound.plugin.webhooks import webhook
from hintbound.protocol import Actor


@behaviour(
    "BUG-KUBERNETES-141694",
    must="A preemptor whose victim is gone before it is deleted is tried again at once.",
    why="The room is there, and kept from others by the nomination: five minutes pass until a flush ends it.",
    level="regression",
    exclusive=True,
    needs=[
        Capability.FAKE_NODES,
        Capability.OWN_SCHEDULER,
        Capability.WEBHOOKS,
        Feature.PREEMPTION,
        Feature.CONDITIONS,
        Feature.METRICS,
        Feature.CONFIGURATION_FILE,
    ],
    source="kubernetes#141694, #142294",
)
@regression(
    "kubernetes#141694",
    "an asynchronous preemption that finds its victim gone leaves the preemptor asleep for five minutes",
    shows=["embedded:1.35.4", "embedded:1.33.13", "embedded:1.34.4", "embedded:1.37.2"],
    absent=["embedded:1.34.0"],
    means="an extender holds the attempt while the victim goes, and a webhook the preemption until its "
    "preemptor is parked",
    note="1.34.0 is free of it by #133213, which 1.34.2 took back because of kubernetes#134217.",
)
async def test_preemptor_is_woken(arena: Arena) -> None:
    """An extender holds an attempt, and the pod that it is to preempt, marked by an earlier preemption, is
    deleted meanwhile. A webhook holds what takes a lower hint away first, until the preemptor waits."""
    async with webhook(arena) as slow, extender() as asked:
        scheduler = await arena.own_scheduler(config=asked.config)
        node, refused = await arena.nodes(2, cpu="4")
        asked.refused.add(refused)
        victim = await arena.running_pod(node, cpu="4", priority="hintbound-low")
        await arena.write_status(victim, marked(arena), PatchType.STRATEGIC, actor=Actor.ADMIN)
        lower = await arena.gated_pod("lower", cpu="0", priority="hintbound-low")
        await arena.hint(lower, node)
        clearing = slow.hold("status", lower.name)
        canary = await arena.pod("canary", cpu="4", priority="hintbound-low")
        await arena.unschedulable(canary)
        preemptor = await arena.gated_pod("preemptor", cpu="4", priority="hintbound-high")
        asked.held[preemptor.name] = asyncio.Event()
        await arena.ungate(preemptor)
        await asyncio.wait_for(asked.arrived.wait(), 20)

        woken = await arena.tally(scheduler, "scheduler_queue_incoming_pods_total", by="event")
        await arena.delete(victim, grace=0)
        await woken.until(lambda counts: bool(+counts), f"the scheduler to know that {victim} is gone")
        asked.held[preemptor.name].set()
        assert await arena.nominated(preemptor) == node
        await clearing.first()
        # The scheduler's own write must have come back: it would wake the preemptor later. So would any pod
        # that is bound, on releases that ask no plugin for an extender's refusal.
        large = await arena.pod("large", cpu="64", priority="hintbound-low")
        await arena.unschedulable(large)
        clearing.release()

        bound = await arena.until(
            preemptor, lambda o: bool(o["spec"].get("nodeName")), f"{preemptor} to be bound", patience=8
        )
        assert bound["spec"]["nodeName"] == node


def marked(arena: Arena) -> dict[str, Any]:
    """What the scheduler writes on a victim before it deletes it: who finds it does not write it again, which
    would fail and wake the preemptor."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{arena.scheduler_name}: preempting to accommodate a higher priority pod",
        "lastTransitionTime": timestamp(datetime.now(UTC)),
    }
    return {"status": {"conditions": [condition]}}
