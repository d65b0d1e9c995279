"""Hints written while the scheduler is busy with the pod."""

import asyncio

from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination, scheduled
from hintbound.plugin.extenders import extender
from hintbound.plugin.policies import refuse_bindings

OWN = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER]


@behaviour(
    "NNN-HINT-IN-FLIGHT-IGNORED",
    must="A hint that is written while its pod is being scheduled is accepted with 200, and the pod is bound "
    "to whatever node had been found.",
    why="200 does not mean honoured: a nominator must hold a pod by a scheduling gate until its hint is "
    "written.",
    severity="hazard",
    needs=[*OWN, Feature.HINTS, Feature.CONFIGURATION_FILE, Feature.UPSTREAM_DETAILS],
    affects=["nominator"],
    advice="Hint only pods that a scheduling gate holds, and remove the gate after the hint was accepted. "
    "Compare spec.nodeName with your hint afterwards: it is the only proof that it was followed.",
    source="kubernetes PriorityQueue.Update of pods in flight; measured 1.33.13-1.37.2; "
    "docs/findings/200-is-not-honoured.md",
)
async def test_hint_without_a_gate_comes_too_late(arena: Arena) -> None:
    """An extender that the test plays holds the attempt of a pod while the pod is hinted to another node."""
    async with extender() as held:
        await arena.own_scheduler(config=held.config)
        attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
        pod = await arena.gated_pod()
        release = held.held[pod.name] = asyncio.Event()
        await arena.ungate(pod)
        await held.arrived.wait()

        answer = await arena.accepted(arena.hint(pod, hinted))
        release.set()

        assert nomination(answer) == hinted
        assert await arena.bound(pod) == attractive


@behaviour(
    "NNN-HINT-MOVED-IN-FLIGHT-WIPED",
    must="A hint that is changed while its pod is being scheduled is cleared when that attempt fails, though "
    "another hint was tried.",
    why="The scheduler clears without looking at what it clears: the nominator's newer decision is gone, "
    "after a 200.",
    severity="hazard",
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE, Feature.UPSTREAM_DETAILS],
    affects=["nominator"],
    advice="After you change a hint, watch the pod until it is bound or your value stood through an "
    "attempt; if the value vanishes, hint again. On a gated pod nothing of this can happen: decide "
    "before the gate goes.",
    source="kubernetes handleSchedulingFailure, a PATCH without preconditions; measured 1.33.13-1.37.2; "
    "docs/findings/clears-what-it-did-not-try.md",
)
async def test_hint_changed_in_flight_is_wiped(arena: Arena) -> None:
    """An extender that the test plays holds the attempt of a hinted pod while the hint is moved, and then
    refuses every node."""
    async with extender() as held:
        await arena.own_scheduler(config=held.config)
        before, after = await arena.nodes(2)
        held.refused = {before, after}
        pod = await arena.gated_pod()
        await arena.hint(pod, before)
        release = held.held[pod.name] = asyncio.Event()
        await arena.ungate(pod)
        await held.arrived.wait()

        await arena.accepted(arena.hint(pod, after))
        release.set()

        assert nomination(await arena.unschedulable(pod)) == ""
        assert held.of(pod.name)[:2] == [[before], sorted([before, after])]


@behaviour(
    "NNN-HINT-IN-BACKOFF-TAKEN",
    must="A hint that is written while its pod is in backoff is used by the next attempt.",
    why="A failed attempt is a second chance for a nominator that came too late for the first.",
    needs=[*OWN, Feature.HINTS, Feature.CONDITIONS, Feature.CONFIGURATION_FILE],
    source="kubernetes PriorityQueue.Update of pods in backoff; measured 1.33.13-1.37.2",
)
async def test_hint_in_backoff_is_taken(arena: Arena) -> None:
    """A policy refuses the first binding; while the pod is in backoff it is hinted to another node."""
    await arena.own_scheduler(config={"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 2})
    attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    await refuse_bindings(arena, to=attractive)
    pod = await arena.pod()
    refused = "the binding to be refused"
    await arena.until(pod, lambda o: scheduled(o).get("reason") == "SchedulerError", refused)

    await arena.hint(pod, hinted)

    assert await arena.bound(pod) == hinted
