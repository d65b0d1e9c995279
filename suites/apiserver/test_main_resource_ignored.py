"""The field in writes to the pod itself."""

from hintbound.kube import resources
from hintbound.plugin import Arena, behaviour, nomination
from hintbound.protocol import Actor


@behaviour(
    "NNN-FIELD-MAIN-RESOURCE-IGNORED",
    must="PATCH and PUT of the pod itself are accepted and leave `status.nominatedNodeName` as it was, set "
    "or unset.",
    why="Only `pods/status` writes a hint. A client that patches the pod gets 200 and believes that it "
    "hinted.",
    source="Kubernetes API conventions, status subresource; measured 1.33.13-1.37.2",
)
async def test_main_resource_leaves_the_field_alone(arena: Arena) -> None:
    """PATCH and PUT of the pod, not of its status, try to set and to clear the field, with and without a hint
    there."""
    author = arena.client(Actor.AUTHOR)
    pod = await arena.pod(scheduler="hintbound-nobody")

    for before in ("", "kept-node"):
        await arena.hint(pod, before or None)
        for value in ("other-node", None):
            change = {"status": {"nominatedNodeName": value}}
            patching = author.patch(resources.PODS, pod.name, change, namespace=pod.namespace)
            patched = await arena.accepted(patching)
            replaced = await arena.accepted(author.replace(resources.PODS, {**patched, **change}))
            now = await arena.nomination(pod)
            assert [nomination(patched), nomination(replaced), now] == [before] * 3, (
                f"after a write of {value!r}"
            )
