"""Writes of the field that leave less behind than one may think."""

from hintbound.kube.client import PatchType
from hintbound.plugin import Arena, behaviour, nomination
from hintbound.plugin.pods import Pod, pod_manifest


@behaviour(
    "NNN-FIELD-SAME-VALUE",
    must="Writing the hint that the pod has already is accepted and makes no new version of the pod.",
    why="Repeating a hint is free, but nobody sees it: no event wakes a scheduler or shows that the "
    "nominator is alive.",
    source="kubernetes etcd3 store, no-op updates; measured 1.33.13-1.37.2",
)
async def test_same_value_makes_no_version(arena: Arena) -> None:
    """The same hint is written twice; answers and recorded versions are compared."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    first = await arena.hint(pod, "node-a")

    again = await arena.accepted(arena.hint(pod, "node-a"))

    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], "resourceVersion"
    versions = [version.nominated_node_name for version in (await arena.life(pod)).versions]
    assert versions == ["", "node-a"], "the hints of the versions that the watch showed"


@behaviour(
    "NNN-FIELD-GENERATION",
    must="Setting, changing and clearing the hint leave `metadata.generation` as it is.",
    why="A controller that compares generations does not see hints: it must compare the field itself.",
    source="Kubernetes API conventions, metadata.generation; measured 1.33.13-1.37.2",
)
async def test_generation_does_not_move(arena: Arena) -> None:
    """A hint is set, changed and cleared; the generation is read from each answer."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    before = (await arena.now(pod))["metadata"].get("generation")

    answers = [await arena.accepted(arena.hint(pod, node)) for node in ("node-a", "node-b", None)]

    assert [nomination(answer) for answer in answers] == ["node-a", "node-b", ""]
    assert {answer["metadata"].get("generation") for answer in answers} == {before}, "metadata.generation"


@behaviour(
    "NNN-FIELD-DRY-RUN",
    must="A dry-run hint is answered as if it were stored and is not.",
    why="A nominator can ask whether a hint would be accepted (bound already, malformed, forbidden) without "
    "hinting.",
    source="Kubernetes API concepts, dry run; measured 1.33.13-1.37.2",
)
async def test_dry_run_stores_nothing(arena: Arena) -> None:
    """A hint is written with `dryRun=All`; the answer, the pod and its recorded versions are compared."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    wish = {"status": {"nominatedNodeName": "node-a"}}
    answer = await arena.accepted(arena.write_status(pod, wish, dry_run=True))

    assert [nomination(answer), await arena.nomination(pod)] == ["node-a", ""], "answered and stored"
    assert len((await arena.life(pod)).versions) == 1, "the dry run made a version of the pod"


@behaviour(
    "NNN-FIELD-ABSENT-POD",
    must="A hint for a pod that does not exist is answered with 404, as merge, strategic merge, JSON or "
    "apply patch alike, and creates no pod.",
    why="Server-side apply creates what is absent, but not through a subresource: an applied hint needs no "
    "check for existence.",
    source="kubernetes apiserver patch handler; measured 1.33.13-1.37.2",
)
async def test_absent_pod_is_not_found(arena: Arena) -> None:
    """A hint is sent in each type of patch for a pod that was never created."""
    absent = Pod(arena.namespace, "no-such-pod", "")
    hint = {"status": {"nominatedNodeName": "node-a"}}
    partial = {**pod_manifest(absent.name, scheduler="hintbound-nobody"), **hint}
    operations = [{"op": "add", "path": "/status/nominatedNodeName", "value": "node-a"}]

    for patch_type in PatchType:
        body = operations if patch_type == PatchType.JSON else partial
        await arena.refused(404, arena.write_status(absent, body, patch_type, field_manager="one"))

    await arena.refused(404, arena.now(absent))


@behaviour(
    "NNN-FIELD-TERMINATING",
    must="A pending pod that is being deleted still takes a hint.",
    why="200 does not mean that the pod will ever be scheduled: a nominator must look at deletionTimestamp "
    "itself.",
    source="kubernetes validation.ValidatePodStatusUpdate; measured 1.33.13-1.37.2",
)
async def test_terminating_pod_takes_a_hint(arena: Arena) -> None:
    """A pod that a finalizer holds is deleted and then hinted."""
    pod = await arena.pod(scheduler="hintbound-nobody", finalizers=["hintbound.dev/held"])
    await arena.delete(pod)

    answer = await arena.accepted(arena.hint(pod, "node-a"))

    assert answer["metadata"].get("deletionTimestamp"), "the pod is not being deleted"
    assert await arena.nomination(pod) == "node-a"
