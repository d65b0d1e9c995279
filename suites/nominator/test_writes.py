"""What a nominator's writes say of the pod that they were decided on. Until a vendor's, or the reference one,
takes its place, a scripted writer plays it."""

from hintbound.kube.exchange import Json
from hintbound.plugin import Arena, Capability, behaviour, nomination
from hintbound.plugin.writer import ScriptedWriter

NEEDS = [Capability.FAKE_NODES, Capability.ACTORS]
WANTS = "example.com/wants"


@behaviour(
    "NNN-WRITER-DECIDES-ANEW",
    must="A nominator whose pod was changed after it was read is refused with 409, reads it again, and "
    "writes what it decides then.",
    why="What was decided on another state may be wrong by now, and a write that hides its basis wins.",
    level="extended",
    needs=NEEDS,
    judges_nominator=True,
    source="seed 001; Kubernetes API conventions, resourceVersion",
)
async def test_conflict_makes_it_decide_anew(arena: Arena) -> None:
    """Between the writer's first read and its write the workload says that it wants another node."""
    first, second = await arena.nodes(2)
    pod = await arena.gated_pod(annotations={WANTS: first})
    decided: list[str] = []

    async def wanted(seen: Json) -> str:
        decided.append(seen["metadata"]["annotations"][WANTS])
        await arena.annotate(pod, {WANTS: second})
        return decided[-1]

    hinted = await ScriptedWriter(arena).hint(pod, wanted)
    assert decided == [first, second]
    assert nomination(hinted) == second


@behaviour(
    "NNN-WRITER-TOO-LATE",
    must="A nominator whose pod was bound after it was read changes nothing on it and writes no more.",
    why="On a bound pod a hint means nothing, and where the clearing gate is off it stays for ever.",
    level="extended",
    needs=NEEDS,
    judges_nominator=True,
    source="seed 001; KEP-5278",
)
async def test_bound_pod_is_left_alone(arena: Arena) -> None:
    """Between read and write the gate goes, and the scheduler binds the pod."""
    attractive, other = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    pod = await arena.gated_pod()

    async def late(_seen: Json) -> str:
        await arena.ungate(pod)
        assert await arena.bound(pod) == attractive
        return other

    assert nomination(await ScriptedWriter(arena).hint(pod, late)) == ""
    assert other not in {version.nominated_node_name for version in (await arena.life(pod)).versions}


@behaviour(
    "NNN-WRITER-NAMESAKE",
    must="A hint that was decided on a pod is refused on a pod that has taken its name.",
    why="The successor may need another node; StatefulSets give names again within a second.",
    level="extended",
    needs=NEEDS,
    judges_nominator=True,
    source="seed 001; Kubernetes API conventions, uid; measured 1.34.0-1.37.2",
)
async def test_namesake_is_not_hinted(arena: Arena) -> None:
    """Between read and write the pod is deleted, and one of the same name is created."""
    (node,) = await arena.nodes(1)
    pod = await arena.gated_pod()
    manifest = await arena.now(pod)

    async def replaced(_seen: Json) -> str:
        await arena.delete(pod)
        await arena.gone(pod)
        await arena.create({**manifest, "metadata": {"name": pod.name}, "status": {}})
        return node

    namesake = await ScriptedWriter(arena).hint(pod, replaced)

    assert namesake["metadata"]["uid"] != pod.uid
    assert nomination(namesake) == ""
