"""The hint as a JSON patch, with `test` operations as its preconditions."""

from hintbound.kube.client import PatchType
from hintbound.plugin import Arena, behaviour, nomination

FIELD = "/status/nominatedNodeName"


def only_if(path: str, value: str | None, node: str) -> list[dict[str, str | None]]:
    """A hint that holds only while this path has this value."""
    return [{"op": "test", "path": path, "value": value}, {"op": "add", "path": FIELD, "value": node}]


@behaviour(
    "NNN-JSON-PATCH-TEST-FAILS",
    must="A JSON patch whose `test` of uid, resourceVersion or old hint fails is refused with 422 that names "
    "no cause, so that it looks like a malformed patch.",
    why="A nominator that must tell `too late` from `my own bug` needs a merge patch with a resourceVersion "
    "instead.",
    source="kubernetes apiserver patch handler; measured 1.33.13-1.37.2",
)
async def test_failed_test_is_invalid_without_cause(arena: Arena) -> None:
    """JSON patches whose `test` fails, and one with a path that does not exist, are refused; the refusals are
    compared."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.hint(pod, "node-a")

    malformed = [{"op": "replace", "path": "/status/no/such/path", "value": "node-b"}]
    as_bug = await arena.refused(422, arena.write_status(pod, malformed, PatchType.JSON))
    for path in ("/metadata/uid", "/metadata/resourceVersion", FIELD):
        patch = only_if(path, "0", "node-b")
        refusal = await arena.refused(422, arena.write_status(pod, patch, PatchType.JSON))
        told = (refusal.reason, refusal.message, refusal.details.get("causes"))
        assert told == (as_bug.reason, as_bug.message, None), f"a failed test of {path} can be told apart"

    assert await arena.nomination(pod) == "node-a", "a patch was refused and yet stored"


@behaviour(
    "NNN-JSON-PATCH-STALE-VERSION",
    must="A JSON patch that writes a stale `/metadata/resourceVersion` is refused with 409, and one that "
    "writes the present version is accepted.",
    why="Unlike a `test` of the version, which fails with a bare 422, this says `too late` in a way that a "
    "client can tell.",
    source="kubernetes apiserver patch handler; measured 1.33.13-1.37.2",
)
async def test_stale_version_is_a_conflict(arena: Arena) -> None:
    """A JSON patch replaces metadata.resourceVersion by a stale one, then by the present one."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    stale = (await arena.now(pod))["metadata"]["resourceVersion"]
    present = (await arena.hint(pod, "node-a"))["metadata"]["resourceVersion"]

    def hint_at(version: str) -> list[dict[str, str]]:
        at = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        return [at, {"op": "replace", "path": FIELD, "value": "node-b"}]

    refusal = await arena.refused(409, arena.write_status(pod, hint_at(stale), PatchType.JSON))
    accepted = await arena.accepted(arena.write_status(pod, hint_at(present), PatchType.JSON))

    assert refusal.reason == "Conflict", str(refusal)
    assert nomination(accepted) == "node-b"


@behaviour(
    "NNN-JSON-PATCH-ONLY-IF-EMPTY",
    must="A JSON patch that tests `/status/nominatedNodeName` for null hints a pod that has no nomination, "
    "and is refused with 422 once it has one.",
    why="So a nominator hints without ever overwriting the scheduler's nomination, in one request and "
    "without reading first.",
    source="RFC 6902 test, kubernetes apiserver patch handler; measured 1.33.13-1.37.2",
)
async def test_hint_only_if_empty(arena: Arena) -> None:
    """Two JSON patches hint on condition that there is no hint yet."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    first = await arena.accepted(arena.write_status(pod, only_if(FIELD, None, "node-a"), PatchType.JSON))
    await arena.refused(422, arena.write_status(pod, only_if(FIELD, None, "node-b"), PatchType.JSON))

    assert [nomination(first), await arena.nomination(pod)] == ["node-a", "node-a"]


@behaviour(
    "NNN-JSON-PATCH-ONLY-IF-UNBOUND",
    must="A JSON patch of `pods/status` that tests `/spec/nodeName` for null hints an unbound pod, and is "
    "refused with 422 once the pod is bound.",
    why="Where the apiserver takes hints for bound pods (no clearing gate) this is how a nominator avoids a "
    "hint that comes too late and stays.",
    source="RFC 6902 test, kubernetes apiserver patch handler; measured 1.33.13-1.37.2",
)
async def test_hint_only_if_unbound(arena: Arena) -> None:
    """One JSON patch, on condition that there is no spec.nodeName, is sent to an unbound and a bound pod."""
    unbound = await arena.pod(scheduler="hintbound-nobody")
    bound = await arena.pod(node="node-a")
    patch = only_if("/spec/nodeName", None, "node-b")

    taken = await arena.accepted(arena.write_status(unbound, patch, PatchType.JSON))
    await arena.refused(422, arena.write_status(bound, patch, PatchType.JSON))

    assert [nomination(taken), await arena.nomination(bound)] == ["node-b", ""]
