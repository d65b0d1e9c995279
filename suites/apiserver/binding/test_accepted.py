"""Bindings that the apiserver accepts, and what they write besides the node."""

from hintbound.plugin import Arena, behaviour, nomination, scheduled


@behaviour(
    "NNN-BIND-GHOST-NODE",
    must="A binding to a node that does not exist is accepted, and the pod is bound there.",
    why="Nothing runs it, nothing tells: a binder that follows a hint must know the node itself.",
    severity="hazard",
    affects=["scheduler", "operator"],
    advice="Look the node up, and whether it is being deleted, right before you bind. Alert on bound pods "
    "whose node does not exist; the pod garbage collector deletes them only later.",
    source="kubernetes BindingREST; measured 1.33.13-1.37.2",
)
async def test_node_need_not_exist(arena: Arena) -> None:
    """A pod of a scheduler that does not exist is bound by hand to a node that does not exist."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    await arena.accepted(arena.bind(pod, "no-such-node"))

    bound = await arena.until(pod, lambda o: bool(o["spec"].get("nodeName")), f"{pod} to be bound")
    assert bound["spec"]["nodeName"] == "no-such-node"
    assert scheduled(bound).get("status") == "True"


@behaviour(
    "NNN-BIND-COPIES-ANNOTATIONS",
    must="The annotations of a binding are written to the pod in the version that binds it.",
    why="A binder can leave behind why it chose that node, say whose hint it followed, without a second "
    "write.",
    source="kubernetes BindingREST; measured 1.33.13-1.37.2",
)
async def test_annotations_are_copied(arena: Arena) -> None:
    """A pod is bound by hand, with an annotation in the binding; its first bound version must carry it."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    marks = {"hint.example.com/followed": "yes"}

    await arena.accepted(arena.bind(pod, "node-a", annotations=marks))

    bound = await arena.until(pod, lambda o: bool(o["spec"].get("nodeName")), f"{pod} to be bound")
    assert bound["metadata"].get("annotations") == marks


@behaviour(
    "NNN-BIND-COPIES-LABELS",
    must="The labels of a binding replace those of the same name on the pod, in the version that binds it.",
    why="Who may bind pods may also move them from one selector to another, without the right to patch them.",
    applies="gate(apiserver, PodTopologyLabelsAdmission)",
    affects=["scheduler", "operator"],
    advice="A binder may mark pods by the labels of its binding. Whoever may create pods/binding may "
    "relabel pods: grant it to schedulers only.",
    source="KEP-4742, kubernetes BindingREST; measured 1.33.13-1.37.2 with the gate on",
)
async def test_labels_are_copied(arena: Arena) -> None:
    """A labelled pod is bound by hand, with another value of that label in the binding."""
    assert await label_after_a_binding(arena) == "binding"


@behaviour(
    "NNN-BIND-DROPS-LABELS",
    must="Without PodTopologyLabelsAdmission the labels of a binding are dropped silently.",
    why="A binder that marks pods this way works on 1.35 and not on 1.34, and gets 201 on both.",
    applies="not gate(apiserver, PodTopologyLabelsAdmission)",
    affects=["scheduler"],
    advice="Mark pods by annotations of the binding, which every release copies, or patch them afterwards.",
    source="KEP-4742, kubernetes BindingREST; measured 1.33.13-1.37.2 with the gate off",
)
async def test_labels_are_dropped(arena: Arena) -> None:
    """A labelled pod is bound by hand, with another value of that label in the binding."""
    assert await label_after_a_binding(arena) == "pod"


async def label_after_a_binding(arena: Arena) -> str:
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.write_status(pod, {"metadata": {"labels": {"hint.example.com/mark": "pod"}}})

    await arena.accepted(arena.bind(pod, "node-a", labels={"hint.example.com/mark": "binding"}))

    bound = await arena.until(pod, lambda o: bool(o["spec"].get("nodeName")), f"{pod} to be bound")
    return str(bound["metadata"]["labels"]["hint.example.com/mark"])


@behaviour(
    "NNN-BIND-OUTSIDER-CLEARS",
    must="Whoever binds a pod, wherever it was hinted to and by either of the two binding endpoints, clears "
    "the hint in the same write.",
    why="The clearing is the apiserver's, not the scheduler's: it holds for custom schedulers too.",
    applies="gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["scheduler", "nominator"],
    advice="A custom scheduler need not clear the hint itself; look at spec.nodeName for where a pod is.",
    source="KEP-5278, kubernetes BindingREST; measured 1.34.0-1.37.2 with the gate on",
)
async def test_outsiders_binding_clears(arena: Arena) -> None:
    """A pod hinted to one node is bound by hand to another, once through `pods/binding` and once through
    `bindings`; its recorded versions are compared."""
    for legacy in (False, True):
        pod = await arena.pod(scheduler="hintbound-nobody")
        await arena.hint(pod, "node-a")

        await arena.accepted(arena.bind(pod, "node-b", legacy=legacy))

        versions = (await arena.life(pod)).versions
        seen = [(version.node_name, version.nominated_node_name) for version in versions]
        expected = [("", ""), ("", "node-a"), ("node-b", "")]
        assert seen[:3] == expected, f"node and hint per version: {seen} (legacy={legacy})"


@behaviour(
    "NNN-BIND-OUTSIDER-KEEPS",
    must="Without the clearing gate a hint stays on a pod that anybody binds, by either of the two binding "
    "endpoints, also where it names another node.",
    why="`status.nominatedNodeName` then contradicts `spec.nodeName` for the rest of the pod's life.",
    severity="hazard",
    applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["scheduler", "autoscaler", "dashboard"],
    advice="Read the hint only while spec.nodeName is empty; a custom scheduler should clear it after "
    "binding.",
    source="KEP-5278, kubernetes BindingREST; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_outsiders_binding_keeps(arena: Arena) -> None:
    """A pod hinted to one node is bound by hand to another, once through `pods/binding` and once through
    `bindings`."""
    for legacy in (False, True):
        pod = await arena.pod(scheduler="hintbound-nobody")
        await arena.hint(pod, "node-a")

        await arena.accepted(arena.bind(pod, "node-b", legacy=legacy))

        now = await arena.now(pod)
        assert (now["spec"]["nodeName"], nomination(now)) == ("node-b", "node-a"), f"legacy={legacy}"


@behaviour(
    "NNN-BIND-DRY-RUN",
    must="A dry-run binding is accepted and neither binds the pod nor clears its hint.",
    why="A binder can ask whether a pod may be bound (gates, preconditions) without losing the hint.",
    source="Kubernetes API concepts, dry run; measured 1.33.13-1.37.2",
)
async def test_dry_run_changes_nothing(arena: Arena) -> None:
    """A hinted pod is bound with `dryRun=All`, then read and compared with what it was."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    hinted = await arena.hint(pod, "node-a")

    await arena.accepted(arena.bind(pod, "node-a", dry_run=True))

    assert await arena.now(pod) == hinted, "the dry run changed the pod"
