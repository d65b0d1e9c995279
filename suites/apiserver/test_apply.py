"""The hint by server-side apply: who owns it, who conflicts, who brings it back."""

from hintbound.kube import resources
from hintbound.kube.exchange import Json
from hintbound.plugin import Arena, Capability, Feature, behaviour, nomination
from hintbound.plugin.pods import Pod
from hintbound.protocol import Actor

GRACE = 600
"""Longer than any scenario: the victim is still there at its end."""


def owners(pod: Json) -> set[tuple[str, str, str]]:
    """Who owns the field: manager, operation, subresource."""
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in pod["metadata"]["managedFields"]
        if "f:nominatedNodeName" in entry["fieldsV1"].get("f:status", {})
    }


def told(pod: Json) -> str:
    """The hint and its owners, for a message."""
    return f"hint and owners: {nomination(pod)!r}, {owners(pod)}"


async def waiting_preemptor(arena: Arena) -> tuple[Pod, str]:
    """A pod that the scheduler nominated to a node whose victim does not leave."""
    (node,) = await arena.nodes(1, cpu="4")
    await arena.running_pod(node, cpu="4", priority="hintbound-low", grace=GRACE)
    preemptor = await arena.pod("preemptor", cpu="4", priority="hintbound-high")
    assert await arena.nominated(preemptor) == node
    return preemptor, node


@behaviour(
    "NNN-SSA-OWNS",
    must="Who applies a hint owns it, as `Apply` of the subresource status, and applying without the field "
    "removes it.",
    why="Ownership is how an applier takes its hint back without knowing what else stands in the status.",
    source="KEP-555 server-side apply; measured 1.33.13-1.37.2",
)
async def test_applier_owns_the_hint(arena: Arena) -> None:
    """A hint is applied and applied away again by the same manager; `managedFields` are read each time."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    applied = await arena.accepted(arena.apply_hint(pod, "node-a", manager="one"))
    removed = await arena.accepted(arena.apply_hint(pod, None, manager="one"))

    assert (nomination(applied), owners(applied)) == ("node-a", {("one", "Apply", "status")}), told(applied)
    assert (nomination(removed), owners(removed)) == ("", set()), told(removed)


@behaviour(
    "NNN-SSA-MAIN-RESOURCE",
    must="Applying a hint to the pod itself, not to `pods/status`, is accepted and neither sets nor owns it.",
    why="The manifest that a GitOps tool applies may carry a hint: it gets 200 and does nothing.",
    source="KEP-555 server-side apply, reset fields; measured 1.33.13-1.37.2",
)
async def test_apply_to_the_pod_itself_is_ignored(arena: Arena) -> None:
    """The pod's author applies a label and a hint to the pod itself."""
    author = arena.client(Actor.AUTHOR)
    pod = await arena.pod(scheduler="hintbound-nobody")
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod.name, "labels": {"app": "web"}}}
    wish = {**body, "status": {"nominatedNodeName": "node-a"}}

    applying = author.apply(resources.PODS, wish, field_manager="one", namespace=pod.namespace)
    applied = await arena.accepted(applying)

    assert applied["metadata"]["labels"] == {"app": "web"}
    assert (nomination(applied), owners(applied)) == ("", set()), told(applied)


@behaviour(
    "NNN-SSA-CONFLICT",
    must="Applying another hint than the nomination that the scheduler made is refused with 409 that names "
    "kube-scheduler, and the nomination stays.",
    why="Server-side apply is the one write that does not silently overwrite a preemption in progress.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    source="KEP-555 server-side apply; measured 1.33.13-1.37.2",
)
async def test_apply_conflicts_with_the_scheduler(arena: Arena) -> None:
    """A victim with a long grace period keeps its preemptor nominated; another node is applied to the
    preemptor."""
    preemptor, node = await waiting_preemptor(arena)
    assert owners(await arena.now(preemptor)) == {("kube-scheduler", "Update", "status")}

    refusal = await arena.refused(409, arena.apply_hint(preemptor, "node-b"))

    assert 'conflict with "kube-scheduler"' in refusal.message, str(refusal)
    assert await arena.nomination(preemptor) == node


@behaviour(
    "NNN-SSA-SHARED",
    must="Applying the very nomination that the scheduler made shares its ownership, and letting go of it "
    "again leaves the nomination.",
    why="An applier that agrees with the scheduler does no harm, neither when it comes nor when it goes.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    source="KEP-555 server-side apply; measured 1.33.13-1.37.2",
)
async def test_same_value_is_shared(arena: Arena) -> None:
    """A victim with a long grace period keeps its preemptor nominated; the same node is applied to it and
    applied away."""
    preemptor, node = await waiting_preemptor(arena)

    shared = await arena.accepted(arena.apply_hint(preemptor, node, manager="one"))
    left = await arena.accepted(arena.apply_hint(preemptor, None, manager="one"))

    assert owners(shared) == {("kube-scheduler", "Update", "status"), ("one", "Apply", "status")}
    assert (nomination(left), owners(left)) == (node, {("kube-scheduler", "Update", "status")}), told(left)


@behaviour(
    "NNN-SSA-FORCE",
    must="A forced apply of another hint takes the nomination of a waiting preemptor from the scheduler, and "
    "the scheduler nominates it anew.",
    why="Force wins the request and not the argument: the pod has two writers until the applier gives in.",
    needs=[Capability.FAKE_NODES, Feature.PREEMPTION, Feature.UPSTREAM_DETAILS],
    source="KEP-555 server-side apply; measured 1.33.13-1.37.2",
)
async def test_forced_apply_is_undone_by_the_scheduler(arena: Arena) -> None:
    """A victim with a long grace period keeps its preemptor nominated; another node is applied to it by
    force."""
    preemptor, node = await waiting_preemptor(arena)

    forced = await arena.accepted(arena.apply_hint(preemptor, "node-b", manager="one", force=True))

    assert (nomination(forced), owners(forced)) == ("node-b", {("one", "Apply", "status")}), told(forced)
    at = int(forced["metadata"]["resourceVersion"])
    await arena.until(
        preemptor,
        lambda o: int(o["metadata"]["resourceVersion"]) > at and nomination(o) == node,
        f"{preemptor} to be nominated to {node} again",
    )


@behaviour(
    "NNN-SSA-PATCH-IS-ANOTHER",
    must="A merge patch by the same client, even under the applier's own manager name, owns the hint in the "
    "applier's place, and its next apply of another hint is refused with 409.",
    why="A nominator that mixes apply and patch conflicts with itself.",
    source="KEP-555 server-side apply; measured 1.33.13-1.37.2",
)
async def test_patch_by_the_same_client_is_another_manager(arena: Arena) -> None:
    """One client applies a hint, changes it by a merge patch under the same manager name, and applies a
    third."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.apply_hint(pod, "node-a", manager="one")

    wish = {"status": {"nominatedNodeName": "node-b"}}
    patched = await arena.accepted(arena.write_status(pod, wish, field_manager="one"))
    refusal = await arena.refused(409, arena.apply_hint(pod, "node-c", manager="one"))

    assert owners(patched) == {("one", "Update", "status")}
    assert 'conflict with "one"' in refusal.message, str(refusal)
    assert await arena.nomination(pod) == "node-b"


@behaviour(
    "NNN-SSA-RESURRECTS",
    must="After the scheduler has cleared an applied hint because nothing fits, its applier owns nothing any "
    "more, and applying the same configuration once more is accepted and brings the hint back.",
    why="A loop that applies for ever (as controllers do) holds room and hides the pod from autoscalers for "
    "ever: apply is unfit for hints.",
    severity="hazard",
    needs=[Capability.FAKE_NODES, Feature.HINTS, Feature.CONDITIONS, Feature.UPSTREAM_DETAILS],
    affects=["nominator", "operator"],
    advice="Hint by a merge or JSON patch with a resourceVersion, once per decision, and not by an apply "
    "that repeats itself. A loop that applies must stop when the value that it owned is gone.",
    source="KEP-555 server-side apply, KEP-5278; measured 1.33.13-1.37.2",
)
async def test_reapplying_brings_the_hint_back(arena: Arena) -> None:
    """A hint at a node that is too small is applied to a gated pod; once the scheduler has cleared it, it is
    applied again."""
    (small,) = await arena.nodes(1, cpu="1")
    pod = await arena.gated_pod(cpu="2")

    await arena.apply_hint(pod, small, manager="one")
    await arena.ungate(pod)
    cleared = await arena.unschedulable(pod)
    again = await arena.accepted(arena.apply_hint(pod, small, manager="one"))

    assert (nomination(cleared), owners(cleared)) == ("", set()), told(cleared)
    assert (nomination(again), owners(again)) == (small, {("one", "Apply", "status")}), told(again)


@behaviour(
    "NNN-SSA-BOUND-REFUSED",
    must="After a binding has cleared an applied hint, applying the same configuration once more is refused "
    "with 422.",
    why="A loop that applies for ever gets an error for every pod that it has helped to place.",
    applies="gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["nominator"],
    advice="Take 422 on a bound pod for the end of the work on it, and hint by PATCH instead of apply.",
    source="KEP-555 server-side apply, KEP-5278; measured 1.34.0-1.37.2 with the gate on",
)
async def test_reapplying_to_a_bound_pod_is_refused(arena: Arena) -> None:
    """A hint is applied, the pod is bound by hand, and the hint is applied again."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.apply_hint(pod, "node-a", manager="one")
    await arena.bind(pod, "node-a")

    await arena.refused(422, arena.apply_hint(pod, "node-a", manager="one"))

    assert await arena.nomination(pod) == "", "the hint was refused and yet stored"


@behaviour(
    "NNN-SSA-BOUND-OWNER-STAYS",
    must="After a binding has cleared an applied hint, `managedFields` still name its applier as the owner.",
    why="The binding bypasses the bookkeeping of server-side apply: whoever asks there who hints is told of "
    "a hint that is gone.",
    severity="hazard",
    applies="gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["nominator", "dashboard"],
    advice="Ask status.nominatedNodeName itself, not managedFields, whether a pod is hinted.",
    source="kubernetes BindingREST; measured 1.34.0-1.37.2 with the gate on",
)
async def test_binding_leaves_the_owner(arena: Arena) -> None:
    """A hint is applied and the pod bound by hand; then `managedFields` are read."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.apply_hint(pod, "node-a", manager="one")

    await arena.bind(pod, "node-a")

    bound = await arena.now(pod)
    assert (nomination(bound), owners(bound)) == ("", {("one", "Apply", "status")}), told(bound)


@behaviour(
    "NNN-SSA-BOUND-RESURRECTS",
    must="Without the clearing gate, applying the same configuration once more brings an applied hint back "
    "to a bound pod from which somebody had cleared it.",
    why="Who tidies stale hints off bound pods works in vain as long as the applier's loop runs.",
    severity="hazard",
    applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)",
    affects=["nominator", "operator"],
    advice="Stop applying once spec.nodeName is set, or hint by a JSON patch that tests it for null.",
    source="KEP-555 server-side apply; measured 1.33.13-1.37.2 with the gate off or absent",
)
async def test_reapplying_to_a_bound_pod_brings_the_hint_back(arena: Arena) -> None:
    """A hint is applied, the pod bound by hand elsewhere, the hint cleared by a patch and applied again."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.apply_hint(pod, "node-a", manager="one")
    await arena.bind(pod, "node-b")
    await arena.hint(pod, None)

    again = await arena.accepted(arena.apply_hint(pod, "node-a", manager="one"))

    assert (again["spec"]["nodeName"], nomination(again)) == ("node-b", "node-a")
