"""The field in writes to the pod itself."""

from hintbound.kube import resources
from hintbound.plugin import Arena, behaviour
from hintbound.plugin.arena import nomination
from hintbound.protocol import Actor


@behaviour(
    "NNN-FIELD-MAIN-RESOURCE-IGNORED",
    must="PATCH and PUT of the pod itself are accepted and leave `status.nominatedNodeName` as it was.",
    why="Only `pods/status` writes a hint. A client that patches the pod gets 200 and believes that it hinted.",
    source="Kubernetes API conventions, status subresource; measured 1.34.0-1.37.2",
)
async def test_main_resource_leaves_the_field_alone(arena: Arena) -> None:
    author = arena.client(Actor.AUTHOR)
    pod = await arena.pod(scheduler="hintbound-nobody")
    change = {"status": {"nominatedNodeName": "some-node"}}

    patched = await author.patch(resources.PODS, pod.name, change, namespace=pod.namespace)
    replaced = await author.replace(resources.PODS, {**patched, **change})

    assert (nomination(patched), nomination(replaced)) == ("", "")
    assert nomination(await arena.now(pod)) == ""
