"""What else a write of `pods/status` takes along, and what it leaves behind."""

from hintbound.plugin import Arena, behaviour, nomination


@behaviour(
    "NNN-FIELD-WITH-METADATA",
    must="Annotations and labels in a patch of `pods/status` are written together with the hint, so that no "
    "version of the pod carries one without the others.",
    why="A nominator can mark its hint (by whom, until when) without a second request and without the right "
    "to patch pods.",
    source="kubernetes pod status strategy; measured 1.33.13-1.37.2",
)
async def test_metadata_comes_with_the_hint(arena: Arena) -> None:
    """One merge patch carries a hint, an annotation and a label; the recorded versions of the pod are
    compared."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    before = (await arena.now(pod))["metadata"]
    mark = {"annotations": {"hint.example.com/by": "me"}, "labels": {"hint.example.com/hinted": "yes"}}
    expected = {"uid": pod.uid, "resourceVersion": before["resourceVersion"]}

    hint = {"metadata": {**expected, **mark}, "status": {"nominatedNodeName": "node-a"}}
    await arena.accepted(arena.write_status(pod, hint))

    versions = (await arena.life(pod)).versions
    carried = [
        (
            "hint.example.com/by" in version.object["metadata"].get("annotations", {}),
            "hint.example.com/hinted" in version.object["metadata"].get("labels", {}),
            bool(version.nominated_node_name),
        )
        for version in versions
    ]
    once = [(False, False, False), (True, True, True)]
    assert carried == once, f"annotation, label, hint per version: {carried}"


@behaviour(
    "NNN-FIELD-SPEC-IGNORED",
    must="A patch of `pods/status` that also changes spec, ownerReferences, generation, creationTimestamp or "
    "deletionTimestamp is accepted, and of it only the hint takes effect.",
    why="A nominator with a bug there gets 200 and no warning; and nobody can ungate, bind or delete a pod "
    "through its status.",
    source="kubernetes podStatusStrategy.PrepareForUpdate; measured 1.33.13-1.37.2",
)
async def test_other_fields_are_ignored(arena: Arena) -> None:
    """One merge patch carries a hint and fields that the status does not own; the pod is compared with what
    it was."""
    pod = await arena.gated_pod(scheduler="hintbound-nobody")
    before = await arena.now(pod)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "owner", "uid": "no-such-uid"}
    past = "2001-01-01T00:00:00Z"
    metadata = {"ownerReferences": [owner], "generation": 99, "creationTimestamp": past}

    wish = {
        "metadata": {**metadata, "deletionTimestamp": past},
        "spec": {"schedulingGates": None, "nodeName": "node-b"},
        "status": {"nominatedNodeName": "node-a"},
    }
    after = await arena.accepted(arena.write_status(pod, wish))

    assert nomination(after) == "node-a"
    assert after["spec"] == before["spec"], "the spec was changed"
    fields = (*metadata, "deletionTimestamp")
    assert {f: after["metadata"].get(f) for f in fields} == {f: before["metadata"].get(f) for f in fields}


@behaviour(
    "NNN-FIELD-QOS-IMMUTABLE",
    must="A patch of `pods/status` with another `qosClass` is refused with 422, and its hint is not stored.",
    why="A nominator that sends back a whole status computed by itself loses the hint with it.",
    source="kubernetes validation.ValidatePodStatusUpdate; measured 1.33.13-1.37.2",
)
async def test_qos_class_is_immutable(arena: Arena) -> None:
    """One patch carries a hint and another qosClass."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    wish = {"qosClass": "BestEffort", "nominatedNodeName": "node-a"}
    refusal = await arena.refused(422, arena.patch_status(pod, wish))

    assert "status.qosClass" in refusal.message
    assert await arena.nomination(pod) == "", "the patch was refused and yet stored"


@behaviour(
    "NNN-FIELD-GRACE-IMMUTABLE",
    must="A patch of `pods/status` with `metadata.deletionGracePeriodSeconds` is refused with 422, and its "
    "hint is not stored.",
    why="Unlike deletionTimestamp, which is dropped silently, this one costs the hint.",
    source="kubernetes ValidateObjectMetaUpdate; measured 1.33.13-1.37.2",
)
async def test_deletion_grace_period_is_immutable(arena: Arena) -> None:
    """One patch carries a hint and a deletionGracePeriodSeconds."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    wish = {"metadata": {"deletionGracePeriodSeconds": 1}, "status": {"nominatedNodeName": "node-a"}}
    refusal = await arena.refused(422, arena.write_status(pod, wish))

    assert "metadata.deletionGracePeriodSeconds" in refusal.message
    assert await arena.nomination(pod) == "", "the patch was refused and yet stored"


@behaviour(
    "NNN-FIELD-MISSPELT-DROPPED",
    must="A patch of `pods/status` with a misspelt field is accepted and changes nothing, unless it asks for "
    "`fieldValidation=Strict`: then it is refused with 422.",
    why="By default a nominator with a typo gets 200 for a hint that never existed; the warning is only in a "
    "header.",
    source="KEP-2885 server-side field validation; measured 1.33.13-1.37.2",
)
async def test_misspelt_field_is_dropped(arena: Arena) -> None:
    """`nominatedNode` is patched, with the usual and with strict field validation."""
    pod = await arena.pod(scheduler="hintbound-nobody")
    before = await arena.now(pod)
    typo = {"status": {"nominatedNode": "node-a"}}

    after = await arena.accepted(arena.write_status(pod, typo))
    await arena.refused(422, arena.write_status(pod, typo, params={"fieldValidation": "Strict"}))

    assert after == before, "the misspelt hint changed the pod"
