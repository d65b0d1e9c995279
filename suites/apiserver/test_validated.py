"""The values that the field takes."""

from hintbound.plugin import Arena, behaviour, nomination

REFUSED = ("Bad_Name", "UPPER", "-x", "a..b", "a/b", " ", "a" * 254, 5)
ACCEPTED = ("a" * 253, "n" * 64, "1.2.3.4", "node.example.com", "no-such-node", "", None)


@behaviour(
    "NNN-FIELD-VALIDATED",
    must="`status.nominatedNodeName` takes names that a node could have, and nothing else; whether that "
    "node exists "
    "is not asked.",
    why="A nominator must expect 422 for a malformed name, and no help against a name that is merely wrong.",
    source="kubernetes validation.ValidatePodStatusUpdate; measured 1.33.13-1.37.2",
)
async def test_only_node_names_are_accepted(arena: Arena) -> None:
    """Names that a node can have, and names, numbers and texts that none can, are written in turn."""
    pod = await arena.pod(scheduler="hintbound-nobody")

    for refused in REFUSED:
        await arena.refused(422, arena.patch_status(pod, {"nominatedNodeName": refused}))
        assert await arena.nomination(pod) == "", f"{refused!r} was refused and yet stored"

    for accepted in ACCEPTED:
        answer = await arena.accepted(arena.patch_status(pod, {"nominatedNodeName": accepted}))
        assert nomination(answer) == (accepted or ""), f"{accepted!r} was accepted and not stored"
