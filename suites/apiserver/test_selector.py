"""The field as a field selector."""

from collections.abc import Awaitable, Callable

from hintbound.kube import resources
from hintbound.plugin import Arena, behaviour, nomination
from hintbound.plugin.pods import Pod
from hintbound.protocol import Actor

FIELD = "status.nominatedNodeName"
Told = list[tuple[str, str]]
"""Events: their types and the hints of their pods."""


async def told_by_the_watch(arena: Arena, watched: str, *acts: Callable[[Pod], Awaitable[object]]) -> Told:
    """What a watch for pods nominated to a node tells of one pod on which these acts are done in turn."""
    pod, last = [await arena.pod(name, scheduler="hintbound-nobody") for name in ("pod", "last")]
    observer = arena.client(Actor.OBSERVER)
    selector = f"{FIELD}={watched}"
    watch = observer.watch(
        resources.PODS, namespace=arena.namespace, field_selector=selector, bookmarks=False
    )
    told: Told = []
    async with watch:
        for act in acts:
            await act(pod)
        await arena.hint(last, watched)  # comes after all that is told of the first
        async for event in watch:
            if event.object["metadata"]["uid"] == last.uid:
                break
            told.append((event.type, nomination(event.object)))
    return told


@behaviour(
    "NNN-SELECTOR-LIST",
    must="`fieldSelector=status.nominatedNodeName=NODE` lists exactly the pods nominated to that node, and "
    "`!=NODE` exactly the others.",
    why="Who takes a node out of service finds the hints that point to it without reading every pod.",
    source="kubernetes pod ToSelectableFields; measured 1.33.13-1.37.2",
)
async def test_list_by_nomination(arena: Arena) -> None:
    """Pods hinted to one node, to another and to none are listed by both selectors."""
    observer = arena.client(Actor.OBSERVER)
    to_a, to_b, to_none = [await arena.pod(scheduler="hintbound-nobody") for _ in range(3)]
    await arena.hint(to_a, "node-a")
    await arena.hint(to_b, "node-b")

    for selector, pods in ((f"{FIELD}=node-a", {to_a.name}), (f"{FIELD}!=node-a", {to_b.name, to_none.name})):
        listed = await observer.list(resources.PODS, namespace=arena.namespace, field_selector=selector)
        assert {item["metadata"]["name"] for item in listed["items"]} == pods, f"listed by {selector}"


@behaviour(
    "NNN-SELECTOR-WAITING",
    must="`fieldSelector=spec.nodeName=,status.nominatedNodeName!=` lists exactly the unbound pods that have "
    "a nomination.",
    why="It is the one question that tells promises from stale hints on bound pods, with and without the "
    "clearing gate.",
    source="kubernetes pod ToSelectableFields; measured 1.33.13-1.37.2",
)
async def test_list_of_waiting_nominations(arena: Arena) -> None:
    """A hinted pod, one that is hinted and bound, and one without a hint are listed by the selector."""
    observer = arena.client(Actor.OBSERVER)
    hinted, bound, _plain = [await arena.pod(scheduler="hintbound-nobody") for _ in range(3)]
    await arena.hint(hinted, "node-a")
    await arena.hint(bound, "node-a")
    await arena.bind(bound, "node-a")

    selector = f"spec.nodeName=,{FIELD}!="
    listed = await observer.list(resources.PODS, namespace=arena.namespace, field_selector=selector)

    assert [item["metadata"]["name"] for item in listed["items"]] == [hinted.name]


@behaviour(
    "NNN-SELECTOR-WATCH",
    must="A watch for pods nominated to a node tells ADDED when the hint is set, and DELETED with the old "
    "hint when it is changed or cleared, though the pod lives on.",
    why="A dispatcher that watches its node this way must not take DELETED for the end of the pod, nor read "
    "the present hint from it.",
    source="kubernetes watch cache, selector transitions; measured 1.33.13-1.37.2",
)
async def test_watch_by_nomination(arena: Arena) -> None:
    """Under a watch with the selector one pod is hinted, hinted elsewhere, hinted back and cleared."""
    told = await told_by_the_watch(
        arena,
        "node-a",
        lambda pod: arena.hint(pod, "node-a"),
        lambda pod: arena.hint(pod, "node-b"),
        lambda pod: arena.hint(pod, "node-a"),
        lambda pod: arena.hint(pod, None),
    )

    assert told == [("ADDED", "node-a"), ("DELETED", "node-a")] * 2, f"the watch told {told}"


@behaviour(
    "NNN-SELECTOR-WATCH-BOUND",
    must="A watch for pods nominated to a node tells DELETED with the old hint when the pod is bound.",
    why="The promise ends and the fact begins: who sums up promises and bound pods counts each pod once.",
    applies="gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["autoscaler", "dashboard"],
    advice="Take DELETED of such a watch for the end of the nomination, not of the pod.",
    source="KEP-5278, kubernetes watch cache; measured 1.34.0-1.37.2 with the gate on",
)
async def test_watch_by_nomination_ends_with_the_binding(arena: Arena) -> None:
    """Under a watch with the selector a pod is hinted and bound by hand."""
    told = await told_by_the_watch(
        arena, "node-a", lambda pod: arena.hint(pod, "node-a"), lambda pod: arena.bind(pod, "node-a")
    )

    assert told == [("ADDED", "node-a"), ("DELETED", "node-a")], f"the watch told {told}"


@behaviour(
    "NNN-SELECTOR-WATCH-BOUND-STAYS",
    must="Without the clearing gate a watch for pods nominated to a node tells MODIFIED when the pod is "
    "bound, and keeps it.",
    why="Who sums up promises and bound pods counts each pod twice, unless it looks at `spec.nodeName` too.",
    severity="hazard",
    applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["autoscaler", "dashboard"],
    advice="Add spec.nodeName= to the selector, so that bound pods leave the watch.",
    source="KEP-5278, kubernetes watch cache; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_watch_by_nomination_goes_on_after_the_binding(arena: Arena) -> None:
    """Under a watch with the selector a pod is hinted and bound by hand."""
    told = await told_by_the_watch(
        arena, "node-a", lambda pod: arena.hint(pod, "node-a"), lambda pod: arena.bind(pod, "node-a")
    )

    assert told == [("ADDED", "node-a"), ("MODIFIED", "node-a")], f"the watch told {told}"
