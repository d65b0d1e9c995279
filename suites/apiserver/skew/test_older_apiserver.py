"""An apiserver of the minor before beside the cluster's own, on one etcd: the middle of an upgrade."""

from hintbound.plugin import Arena, Capability, Pod, behaviour

CLEARS = "gate(apiserver, ClearingNominatedNodeNameAfterBinding)"
OLDER_KEEPS = f'{CLEARS} and version(apiserver, "<=1.35")'
OLDER_CLEARS = f'{CLEARS} and version(apiserver, ">=1.36")'
NEEDS = [Capability.MANY_APISERVERS, Capability.OLDER_MINOR]
MEASURED = "measured with 1.33.13 beside 1.34.0 and 1.34.4, and with 1.34.4 beside 1.35.4"


@behaviour(
    "NNN-UPGRADE-LATE-HINT-TAKEN",
    must="Up to the upgrade to 1.35 a pod that the newer apiserver has bound and cleared, and whose hints it "
    "refuses, takes a hint through an apiserver of the minor before, and shows it through both.",
    why="As long as one old apiserver serves, a nominator that comes late marks bound pods again.",
    level="extended",
    severity="hazard",
    applies=OLDER_KEEPS,
    needs=NEEDS,
    deadline=240,
    source=f"KEP-5278, Kubernetes version skew policy; {MEASURED}",
    affects=["nominator", "dashboard", "operator"],
    advice="Until the last old apiserver is gone ignore the field on bound pods, and let nominators write "
    "with a precondition (resourceVersion) that a binding breaks.",
)
async def test_older_apiserver_takes_a_late_hint(arena: Arena) -> None:
    """An apiserver of the minor before is started on the same etcd; a hinted pod is bound through the
    newer one, then hinted again through both."""
    older = await arena.own_apiserver(version=arena.extras.older)
    pod = await hinted_pod(arena)
    await arena.bind(pod, "some-node")
    assert await arena.nomination(pod) == ""

    await arena.refused(422, arena.hint(pod, "late-node"))
    await arena.accepted(arena.hint(pod, "late-node", through=older))

    assert await arena.nomination(pod) == "late-node"


@behaviour(
    "NNN-UPGRADE-BINDING-KEEPS",
    must="Up to the upgrade to 1.35 a binding through an apiserver of the minor before leaves the hint on "
    "the pod, and a later write of the pod through the newer one does not clear it.",
    why="Pods that were bound in the middle of the upgrade carry the hint for the rest of their lives.",
    level="extended",
    severity="hazard",
    applies=OLDER_KEEPS,
    needs=NEEDS,
    deadline=240,
    source=f"KEP-5278, Kubernetes version skew policy; {MEASURED}",
    affects=["autoscaler", "dashboard", "operator"],
    advice="After the upgrade clear the field on bound pods once, or count only pods without nodeName: "
    "nobody else takes those hints away.",
)
async def test_older_apiserver_binds_and_keeps(arena: Arena) -> None:
    """An apiserver of the minor before is started on the same etcd; a hinted pod is bound through it,
    then its status is written through the newer one."""
    older = await arena.own_apiserver(version=arena.extras.older)
    pod = await hinted_pod(arena)

    await arena.bind(pod, "some-node", through=older)
    await arena.accepted(arena.patch_status(pod, {"message": "written later"}))

    assert await arena.nomination(pod) == "some-node"


@behaviour(
    "NNN-UPGRADE-APISERVERS-AGREE",
    must="From the upgrade to 1.36 on a binding clears the hint, and a hint on a bound pod is refused, "
    "through an apiserver of the minor before as through the newer one.",
    why="A nominator need not know where in the upgrade the control plane stands.",
    level="extended",
    applies=OLDER_CLEARS,
    needs=NEEDS,
    deadline=240,
    source="KEP-5278, Kubernetes version skew policy; measured with 1.35.4 beside 1.36.3, and with 1.36.3 "
    "beside 1.37.2",
    affects=["nominator", "operator"],
    advice="Nothing is to be done, as long as neither minor has the gate turned off.",
)
async def test_both_apiservers_clear_and_refuse(arena: Arena) -> None:
    """An apiserver of the minor before is started on the same etcd; a hinted pod is bound through each of
    the two, then hinted again through both."""
    older = await arena.own_apiserver(version=arena.extras.older)

    for server in (older, None):
        pod = await hinted_pod(arena)
        await arena.bind(pod, "some-node", through=server)
        assert await arena.nomination(pod) == ""
        for other in (older, None):
            await arena.refused(422, arena.hint(pod, "late-node", through=other))


async def hinted_pod(arena: Arena) -> Pod:
    """An ungated pod with a hint that no scheduler serves."""
    pod = await arena.gated_pod(scheduler="hintbound-nobody")
    await arena.hint(pod, "some-node")
    await arena.ungate(pod)
    return pod
