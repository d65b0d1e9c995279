"""Bindings that the apiserver refuses, and what becomes of the hint."""

from hintbound.plugin import Arena, behaviour, nomination
from hintbound.plugin.pods import Pod


@behaviour(
    "NNN-BIND-TWICE",
    must="Binding a pod that is bound already is refused with 409, to another node and to its own alike.",
    why="Of two schedulers that follow the same hint one binds; the other must take 409 for an answer, also "
    "where both meant the same node.",
    source="kubernetes BindingREST; measured 1.33.13-1.37.2",
)
async def test_bound_pod_is_not_bound_again(arena: Arena) -> None:
    """A pod that was bound by hand is bound twice more, to another node and to its own."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.bind(pod, "node-a")

    for node in ("node-b", "node-a"):
        refusal = await arena.refused(409, arena.bind(pod, node))
        assert 'already assigned to node "node-a"' in refusal.message, str(refusal)

    assert (await arena.now(pod))["spec"]["nodeName"] == "node-a"


@behaviour(
    "NNN-BIND-WRONG-UID",
    must="A binding with another pod's uid is refused with 409 and leaves pod and hint as they were.",
    why="It is what keeps a decision about a deleted pod from landing on its successor of the same name.",
    source="kubernetes BindingREST, storage preconditions; measured 1.33.13-1.37.2",
)
async def test_wrong_uid_is_a_conflict(arena: Arena) -> None:
    """A hinted pod is bound with the uid of another pod, then compared with what it was."""
    pod, other = [await arena.pod(scheduler="hintbound-nobody") for _ in range(2)]
    hinted = await arena.hint(pod, "node-a")

    refusal = await arena.refused(409, arena.bind(pod, "node-a", uid=other.uid))

    assert "UID in precondition" in refusal.message, str(refusal)
    assert await arena.now(pod) == hinted, "the binding was refused and yet changed the pod"


@behaviour(
    "NNN-BIND-STALE-VERSION",
    must="A binding with a stale resourceVersion is refused with 409 and leaves pod and hint as they were, "
    "and one with the present version is accepted.",
    why="A binder that wants to honour the latest hint binds with the version in which it saw it.",
    source="kubernetes BindingREST, storage preconditions; measured 1.33.13-1.37.2",
)
async def test_stale_version_is_a_conflict(arena: Arena) -> None:
    """A pod is read, hinted, and bound with the resourceVersion from before the hint, then with the one from
    after it."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    stale = (await arena.now(pod))["metadata"]["resourceVersion"]
    hinted = await arena.hint(pod, "node-b")

    refusal = await arena.refused(409, arena.bind(pod, "node-a", resourceVersion=stale))

    assert "ResourceVersion in precondition" in refusal.message, str(refusal)
    assert await arena.now(pod) == hinted, "the binding was refused and yet changed the pod"
    await arena.accepted(arena.bind(pod, "node-b", resourceVersion=hinted["metadata"]["resourceVersion"]))


@behaviour(
    "NNN-BIND-GATED",
    must="A binding of a gated pod is refused with 409 and leaves its hint.",
    why="The gate holds against every binder, not only the scheduler: a hint can be prepared in peace.",
    source="KEP-3521, kubernetes BindingREST; measured 1.33.13-1.37.2",
)
async def test_gated_pod_is_not_bound(arena: Arena) -> None:
    """A gated, hinted pod is bound by hand, then compared with what it was."""
    pod = await arena.gated_pod(scheduler="hintbound-nobody")
    hinted = await arena.hint(pod, "node-a")

    refusal = await arena.refused(409, arena.bind(pod, "node-a"))

    assert "schedulingGates" in refusal.message, str(refusal)
    assert await arena.now(pod) == hinted, "the binding was refused and yet changed the pod"


@behaviour(
    "NNN-BIND-DELETING",
    must="A binding of a pod that is being deleted is refused with 409 and leaves its hint.",
    why="A pod that is about to go takes no place; its hint is void though it still stands there.",
    source="kubernetes BindingREST; measured 1.33.13-1.37.2",
)
async def test_deleted_pod_is_not_bound(arena: Arena) -> None:
    """A pod that a finalizer holds is deleted, hinted and then bound by hand."""
    pod = await arena.pod(scheduler="hintbound-nobody", finalizers=["hintbound.dev/held"])
    await arena.delete(pod)
    await arena.hint(pod, "node-a")

    refusal = await arena.refused(409, arena.bind(pod, "node-a"))

    assert "is being deleted" in refusal.message, str(refusal)
    now = await arena.now(pod)  # the pod garbage collector may have failed it meanwhile
    assert (now["spec"].get("nodeName"), nomination(now)) == (None, "node-a"), "the binding changed the pod"


@behaviour(
    "NNN-BIND-ABSENT",
    must="A binding of a pod that does not exist is answered with 404.",
    why="A binder tells a pod that is gone (404) from one that somebody else has placed (409).",
    source="kubernetes BindingREST; measured 1.33.13-1.37.2",
)
async def test_absent_pod_is_not_found(arena: Arena) -> None:
    """A binding is posted for a pod that was never created."""
    absent = Pod(arena.namespace, "no-such-pod", "")

    await arena.refused(404, arena.bind(absent, "node-a"))
