"""Must fail, although its own assertion holds: proof that Acme's check can fail a behaviour."""

from hintbound.plugin import Arena, Capability, behaviour
from hintbound.protocol import Actor


@behaviour(
    "ACME-NEGATIVE-STRAY-WRITER",
    must="A hint can be written.",
    why="It is written by somebody who must not, which only the check on the record sees.",
    source="Acme's CI",
    needs=[Capability.FAKE_NODES, Capability.AUDIT, Capability.ACTORS],
)
async def test_admin_writes_a_hint(arena: Arena) -> None:
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()

    await arena.patch_status(pod, {"nominatedNodeName": node}, actor=Actor.ADMIN)

    assert await arena.nomination(pod) == node
