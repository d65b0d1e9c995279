"""Hints and scheduler extenders."""

from hintbound.plugin import Arena, Capability, Feature, behaviour
from hintbound.plugin.extenders import extender

OWN = [Capability.FAKE_NODES, Capability.OWN_SCHEDULER]
SOURCE = "kubernetes evaluateNominatedNode; measured 1.33.13-1.37.2"


@behaviour(
    "NNN-HINT-EXTENDER-ASKED-FOR-ONE",
    must="An extender is asked about the hinted node alone, and not again when it lets the node pass.",
    why="An extender sees all nodes of a pod only when its hint failed: it must not take the list for the "
    "cluster.",
    needs=[*OWN, Feature.HINTS, Feature.CONFIGURATION_FILE],
    source=SOURCE,
)
async def test_extender_is_asked_for_the_hinted_node(arena: Arena) -> None:
    """An extender that the test plays notes about which nodes it is asked, while a hinted pod is placed."""
    async with extender() as asked:
        await arena.own_scheduler(config=asked.config)
        _attractive, hinted = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
        pod = await arena.gated_pod()

        await arena.hint(pod, hinted)
        await arena.ungate(pod)

        assert await arena.bound(pod) == hinted
        assert asked.of(pod.name) == [[hinted]]


@behaviour(
    "NNN-HINT-EXTENDER-REFUSES",
    must="When an extender refuses the hinted node it is asked about all that fit, and the pod is bound to "
    "one that it lets pass.",
    why="A veto of an extender is as good as one of a filter: the hint falls through.",
    needs=[*OWN, Feature.HINTS, Feature.CONFIGURATION_FILE],
    source=SOURCE,
)
async def test_extender_refuses_the_hinted_node(arena: Arena) -> None:
    """An extender that the test plays refuses the hinted node and notes about which nodes it is asked."""
    async with extender() as asked:
        await arena.own_scheduler(config=asked.config)
        hinted, other = await arena.nodes(2)
        asked.refused.add(hinted)
        pod = await arena.gated_pod()

        await arena.hint(pod, hinted)
        await arena.ungate(pod)

        assert await arena.bound(pod) == other
        assert asked.of(pod.name) == [[hinted], sorted([hinted, other])]
