"""Metadata that one who may only patch `pods/status` can change."""

from hintbound.kube import resources
from hintbound.plugin import Arena, behaviour
from hintbound.plugin.pods import pod_manifest
from hintbound.protocol import Actor


@behaviour(
    "NNN-DAMAGE-FINALIZER",
    must="A finalizer written through `pods/status` replaces those that were there and holds the pod when it "
    "is deleted.",
    why="The right to hint is enough to keep any pod, and with it its namespace, from going away, and to "
    "undo the protection of others.",
    severity="hazard",
    affects=["operator", "nominator"],
    advice="Refuse, by a ValidatingAdmissionPolicy on pods/status, any change of metadata.finalizers by "
    "whoever only hints. A pod or namespace that does not go away: look in managedFields for who "
    "wrote its finalizer through the subresource status.",
    source="kubernetes pod status strategy; measured 1.33.13-1.37.2",
)
async def test_finalizer_holds_the_pod(arena: Arena) -> None:
    """The nominator writes a finalizer to a pod that has one of its own, then the author deletes the pod."""
    pod = await arena.pod(scheduler="hintbound-nobody", finalizers=["hintbound.dev/own"])

    await arena.accepted(arena.write_status(pod, {"metadata": {"finalizers": ["hintbound.dev/foreign"]}}))
    await arena.delete(pod)

    metadata = (await arena.now(pod))["metadata"]
    assert metadata["finalizers"] == ["hintbound.dev/foreign"]
    assert metadata.get("deletionTimestamp"), "the pod is not being deleted"


@behaviour(
    "NNN-DAMAGE-LABELS",
    must="Labels changed through `pods/status` take the pod out of every selector that named them.",
    why="The pod leaves its Service, its budget and its ReplicaSet, which makes another one: who may hint "
    "may orphan.",
    severity="hazard",
    affects=["operator", "nominator"],
    advice="Refuse, by a ValidatingAdmissionPolicy on pods/status, any change of labels by whoever only "
    "hints. A nominator marks its hints by annotations: nothing selects pods by them.",
    source="kubernetes pod status strategy; measured 1.33.13-1.37.2",
)
async def test_labels_can_be_changed(arena: Arena) -> None:
    """The nominator changes the label of a pod, which is then looked for by the old and the new value."""
    observer = arena.client(Actor.OBSERVER)
    manifest = pod_manifest("pod", scheduler="hintbound-nobody")
    manifest["metadata"]["labels"] = {"app": "web"}
    pod = await arena.create(manifest)

    await arena.accepted(arena.write_status(pod, {"metadata": {"labels": {"app": "other"}}}))

    for app, found in (("web", []), ("other", [pod.name])):
        listed = await observer.list(resources.PODS, namespace=arena.namespace, label_selector=f"app={app}")
        assert [item["metadata"]["name"] for item in listed["items"]] == found, f"selected by app={app}"
