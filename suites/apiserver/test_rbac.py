"""What the right to patch `pods/status` gives, and what it does not."""

from hintbound.kube import resources
from hintbound.plugin import Arena, Capability, behaviour
from hintbound.protocol import Actor


@behaviour(
    "NNN-RBAC-STATUS-ONLY",
    must="Who may only `patch pods/status` is refused with 403 when it patches or deletes the pod, replaces "
    "its status or binds it, and the pod stays as it is.",
    why="It is the least right that a nominator needs; what it can still do is told by NNN-DAMAGE-...",
    needs=[Capability.ACTORS],
    source="Kubernetes RBAC, subresources; measured 1.33.13-1.37.2",
)
async def test_status_patcher_may_nothing_else(arena: Arena) -> None:
    """The nominator, whose role allows `patch pods/status` alone, tries to read, patch, replace, delete and
    bind its pod."""
    nominator = arena.client(Actor.NOMINATOR)
    pod = await arena.pod(scheduler="hintbound-nobody")
    await arena.accepted(arena.hint(pod, "node-a"))
    before = await arena.now(pod)
    binding = {"metadata": {"name": pod.name}, "target": {"kind": "Node", "name": "node-a"}}

    at, there = pod.namespace, resources.PODS
    for act in (
        nominator.get(there, pod.name, namespace=at),
        nominator.patch(there, pod.name, {"metadata": {"labels": {"a": "b"}}}, namespace=at),
        nominator.replace(there, before),
        nominator.replace(there, before, subresource="status"),
        nominator.delete(there, pod.name, namespace=at),
        nominator.create(there, binding, namespace=at, subresource="binding"),
    ):
        await arena.refused(403, act)

    assert await arena.now(pod) == before
