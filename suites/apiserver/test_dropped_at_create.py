"""The field at creation."""

from hintbound.plugin import Arena, behaviour
from hintbound.plugin.pods import pod_manifest


@behaviour(
    "NNN-FIELD-DROPPED-AT-CREATE",
    must="A pod created with `status.nominatedNodeName` starts without it.",
    why="A client that puts the hint into its manifest gets no error and no hint: it must write the status "
    "afterwards.",
    source="kubernetes#133181; measured 1.33.13-1.37.2",
)
async def test_field_is_dropped_at_create(arena: Arena) -> None:
    """A pod is created from a manifest with the field in its status, then read."""
    manifest = pod_manifest("pod", scheduler="hintbound-nobody")

    pod = await arena.create({**manifest, "status": {"nominatedNodeName": "some-node"}})

    assert await arena.nomination(pod) == ""
