"""Preconditions of a hint: which pod, which version, which state before."""

from hintbound.kube import resources
from hintbound.kube.client import PatchType
from hintbound.plugin import Arena, behaviour, nomination
from hintbound.protocol import Actor

PARTIAL = (PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY)
"""Patch types that carry the object's own metadata."""


def hint_with(arena: Arena, pod_name: str, node: str, **metadata: str) -> dict[str, object]:
    """A partial pod that hints and states what it expects of the metadata."""
    named = {"name": pod_name, "namespace": arena.namespace, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "status": {"nominatedNodeName": node}}


@behaviour(
    "NNN-PRECONDITION-STALE-VERSION",
    must="A hint that carries a stale `metadata.resourceVersion` is refused with 409, as merge, strategic "
    "merge or apply patch alike, and one that carries the present version is accepted.",
    why="This is the only way to say `only if nothing has happened since I looked`, and its code can be told "
    "from a malformed hint.",
    source="kubernetes apiserver patch handler; measured 1.33.13-1.37.2",
)
async def test_stale_version_is_a_conflict(arena: Arena) -> None:
    """A pod is read, hinted, and hinted anew with the resourceVersion from before, in each type of patch;
    then with the present one."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    stale = (await arena.now(pod))["metadata"]["resourceVersion"]
    await arena.hint(pod, "node-a")

    for patch_type in PARTIAL:
        late = hint_with(arena, pod.name, "node-b", resourceVersion=stale)
        refusal = await arena.refused(409, arena.write_status(pod, late, patch_type, field_manager="one"))
        assert refusal.reason == "Conflict", f"{patch_type}: {refusal}"
        assert await arena.nomination(pod) == "node-a", f"{patch_type} was refused and yet stored"

    present = (await arena.now(pod))["metadata"]["resourceVersion"]
    await arena.accepted(
        arena.write_status(pod, hint_with(arena, pod.name, "node-b", resourceVersion=present))
    )
    assert await arena.nomination(pod) == "node-b"


@behaviour(
    "NNN-PRECONDITION-STALE-PUT",
    must="A PUT of `pods/status` with a stale `metadata.resourceVersion` is refused with 409.",
    why="A controller that updates from its cache does not overwrite a hint that it has not seen.",
    source="Kubernetes API conventions, concurrency control; measured 1.33.13-1.37.2",
)
async def test_stale_put_is_a_conflict(arena: Arena) -> None:
    """A pod is read, hinted by somebody else, and put back as it was read."""
    admin = arena.client(Actor.ADMIN)
    pod = await arena.pod(scheduler="hintbound-nobody")
    seen = await arena.now(pod)
    await arena.hint(pod, "node-a")

    await arena.refused(409, admin.replace(resources.PODS, seen, subresource="status"))

    assert await arena.nomination(pod) == "node-a", "the PUT was refused and yet stored"


@behaviour(
    "NNN-PRECONDITION-NONE-LAST-WINS",
    must="A write of `pods/status` without resourceVersion overwrites a hint that it has not seen, a PATCH "
    "that names the field and a PUT that omits it alike.",
    why="Two nominators, or a nominator and the scheduler, undo each other without any error: the last "
    "writer wins.",
    severity="hazard",
    affects=["nominator"],
    advice="Send the resourceVersion that you saw, or a JSON patch that tests the old value of "
    "status.nominatedNodeName, and take 409 or 422 for `look again`. Do not PUT a status from a "
    "cache.",
    source="kubernetes pod strategy AllowUnconditionalUpdate; measured 1.33.13-1.37.2",
)
async def test_without_version_the_last_writer_wins(arena: Arena) -> None:
    """Writers that have not seen the hint overwrite it, by a PATCH and by a PUT without resourceVersion."""
    admin = arena.client(Actor.ADMIN)
    pod = await arena.pod(scheduler="hintbound-nobody")
    unaware = await arena.now(pod)
    del unaware["metadata"]["resourceVersion"]

    await arena.hint(pod, "node-a")
    patched = await arena.accepted(arena.hint(pod, "node-b"))
    replaced = await arena.accepted(admin.replace(resources.PODS, unaware, subresource="status"))

    assert [nomination(patched), nomination(replaced)] == ["node-b", ""]


@behaviour(
    "NNN-PRECONDITION-UID-PATCH",
    must="A patch of `pods/status` with another pod's `metadata.uid` is refused with 422, not 409, whatever "
    "its patch type, and one with the right uid is accepted.",
    why="Without the uid a hint lands on a new pod of the same name; with it a nominator must read 422 as "
    "`that pod is gone`.",
    source="kubernetes ValidateObjectMetaUpdate; measured 1.33.13-1.37.2",
)
async def test_wrong_uid_in_a_patch_is_invalid(arena: Arena) -> None:
    """A hint is sent with the uid of another pod, in each type of patch; then with the right one."""
    pod, other = [await arena.pod(scheduler="hintbound-nobody") for _ in range(2)]

    for patch_type in PARTIAL:
        astray = hint_with(arena, pod.name, "node-a", uid=other.uid)
        refusal = await arena.refused(422, arena.write_status(pod, astray, patch_type, field_manager="one"))
        assert "metadata.uid" in refusal.message, f"{patch_type}: {refusal}"
        assert await arena.nomination(pod) == "", f"{patch_type} was refused and yet stored"

    await arena.accepted(arena.write_status(pod, hint_with(arena, pod.name, "node-a", uid=pod.uid)))
    assert await arena.nomination(pod) == "node-a"


@behaviour(
    "NNN-PRECONDITION-UID-PUT",
    must="A PUT of `pods/status` with another pod's `metadata.uid` is refused with 409, with and without a "
    "resourceVersion.",
    why="The same mistake has another code than in a patch: a client that tells errors apart needs both.",
    source="kubernetes generic registry store, storage preconditions; measured 1.33.13-1.37.2",
)
async def test_wrong_uid_in_a_put_is_a_conflict(arena: Arena) -> None:
    """A status is put with the uid of another pod, with and without a resourceVersion."""
    admin = arena.client(Actor.ADMIN)
    pod, other = [await arena.pod(scheduler="hintbound-nobody") for _ in range(2)]
    astray = await arena.now(pod)
    astray["metadata"]["uid"] = other.uid
    astray["status"]["nominatedNodeName"] = "node-a"

    await arena.refused(409, admin.replace(resources.PODS, astray, subresource="status"))
    del astray["metadata"]["resourceVersion"]
    await arena.refused(409, admin.replace(resources.PODS, astray, subresource="status"))

    assert await arena.nomination(pod) == "", "the PUT was refused and yet stored"
