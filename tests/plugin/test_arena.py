"""What scenarios await, do and leave behind; pods are played by a dict."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from hintbound.history.events import Kind
from hintbound.history.store import Store
from hintbound.kube.errors import ApiError, Forbidden
from hintbound.plugin.arena import Arena
from hintbound.plugin.judgement import NotSeen, Unproven
from tests.plugin.fakes import FakeStage, a_behaviour, not_found

SOON = 0.2


@pytest.fixture
def stage(store: Store, monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    monkeypatch.setattr("hintbound.plugin.arena.PATIENCE", SOON)
    return FakeStage("shared", None, store, None)


@pytest.fixture
def arena(stage: FakeStage) -> Arena:
    return Arena(stage, a_behaviour("T-ONE"))  # type: ignore[arg-type]


async def test_an_await_also_sees_what_happened_before_it(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod()
    stage.change(pod, node="n1")
    assert await arena.bound(pod) == "n1"


async def test_an_await_sees_what_happens_later(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod()
    asyncio.get_running_loop().call_later(0.02, lambda: stage.change(pod, nominatedNodeName="n1"))
    assert await arena.nominated(pod) == "n1"


async def test_what_does_not_come_is_told_with_what_came_instead(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod()
    stage.change(pod, nominatedNodeName="n1")
    with pytest.raises(
        NotSeen, match=r"awaited for 0.2 s: pod-1 to be bound; came instead: nominatedNodeName=n1,"
    ):
        await arena.bound(pod)


async def test_a_pod_that_was_deleted_meanwhile_is_told_so(arena: Arena) -> None:
    pod = await arena.pod()
    await arena.delete(pod)
    await arena.gone(pod)
    with pytest.raises(NotSeen, match="came instead: deleted, phase=Pending"):
        await arena.bound(pod)


async def test_the_contrary_ends_an_await_at_once(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod()
    stage.change(pod, node="n1")
    with pytest.raises(NotSeen, match=r"^awaited: pod-1 to be Unschedulable; came instead: nodeName=n1,"):
        await arena.unschedulable(pod)


async def test_the_first_version_that_says_unschedulable_is_the_one_to_look_at(
    arena: Arena, stage: FakeStage
) -> None:
    pod = await arena.pod()
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    stage.change(pod, nominatedNodeName="n1", conditions=[condition])
    stage.change(pod, nominatedNodeName="", conditions=[condition])
    assert (await arena.unschedulable(pod))["status"]["nominatedNodeName"] == "n1"


async def test_an_accepted_write_that_had_to_be_refused_is_told(arena: Arena) -> None:
    pod = await arena.pod()
    with pytest.raises(AssertionError, match="awaited 422, but the write was accepted: nominatedNodeName=n1"):
        await arena.refused(422, arena.hint(pod, "n1"))


def refuse(stage: FakeStage, status: int) -> ApiError:
    refusal = ApiError(status=status, reason="", message="no", method="PATCH", path="/p")
    stage.refuse = lambda verb, _what, _name: refusal if verb == "patch" else None
    return refusal


async def test_another_answer_than_the_awaited_one_is_told(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod()
    refusal = refuse(stage, 403)
    assert await arena.refused(403, arena.hint(pod, "n1")) is refusal
    with pytest.raises(AssertionError, match="awaited a refusal with 422, got PATCH /p: 403: no"):
        await arena.refused(422, arena.hint(pod, "n1"))
    with pytest.raises(AssertionError, match="awaited that the write is accepted, got PATCH /p: 403: no"):
        await arena.accepted(arena.hint(pod, "n1"))


async def test_a_user_who_may_not_bind_proves_nothing(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod()
    refusal = Forbidden(status=403, reason="Forbidden", message="no", method="POST", path="/p")
    stage.refuse = lambda verb, _what, _name: refusal if verb == "create" else None
    with pytest.raises(Unproven, match="this user may not bind pods: POST /p: 403 Forbidden: no"):
        await arena.refused(409, arena.bind(pod, "n1"))


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_apiserver_in_trouble_proves_nothing(arena: Arena, stage: FakeStage, status: int) -> None:
    pod = await arena.pod()
    refuse(stage, status)
    with pytest.raises(Unproven, match=f"the apiserver was in trouble: PATCH /p: {status}"):
        await arena.refused(422, arena.hint(pod, "n1"))
    with pytest.raises(Unproven, match=f"the apiserver was in trouble: PATCH /p: {status}"):
        await arena.accepted(arena.hint(pod, "n1"))


async def test_nodes_that_the_scheduler_never_gets_to_know_prove_nothing(arena: Arena) -> None:
    with pytest.raises(Unproven, match=r"the stage could not be set: awaited for 0.2 s: scout-1 to be bound"):
        await arena.nodes(1)


async def test_nodes_are_there_once_a_scout_was_bound_to_each(arena: Arena, stage: FakeStage) -> None:
    async def scheduler() -> None:
        while len(bound) < 2:
            for _namespace, name in list(stage.pods):
                if name.startswith("scout") and name not in bound:
                    bound.add(name)
                    pod = stage.pods[arena.namespace, name]
                    selector = pod["spec"]["nodeSelector"]["kubernetes.io/hostname"]
                    stage.change(SimpleNamespace(namespace=arena.namespace, name=name), node=selector)
            await asyncio.sleep(0)

    bound: set[str] = set()
    task = asyncio.create_task(scheduler())
    names = await arena.nodes(2, soft_taint=[None, "PreferNoSchedule"])
    await task
    assert len(names) == len(set(names)) == 2
    assert not stage.pods, "scouts are still there"
    assert arena.evidence(None) == (), "scouts are no evidence"


async def test_a_cluster_with_nodes_is_not_taken_for_an_empty_one(arena: Arena, stage: FakeStage) -> None:
    await arena.nodes.none()
    stage.listed = [{"metadata": {"name": "stranger"}}]
    with pytest.raises(Unproven, match="not without nodes: stranger"):
        await arena.nodes.none()


async def test_cleaning_up_goes_on_after_a_step_that_fails(arena: Arena, stage: FakeStage) -> None:
    await arena.open()
    arena.nodes.made += ["n1", "n2"]
    stage.refuse = lambda verb, what, name: OSError("no way") if verb == "DELETE" or name == "n1" else None
    with pytest.raises(ExceptionGroup, match="cleaning up hb-t-one-") as failed:
        await arena.close()
    assert [str(error) for error in failed.value.exceptions] == ["no way", "no way"]
    done = [(verb, name) for verb, _, name in stage.asked]
    assert done[-3:] == [("delete", "n1"), ("delete", "n2"), ("delete", arena.namespace)]


async def test_what_is_gone_already_is_clean(arena: Arena, stage: FakeStage) -> None:
    stage.refuse = lambda _verb, _what, _name: not_found()
    await arena.close()


async def test_a_node_whose_creation_was_broken_off_is_removed_too(arena: Arena, stage: FakeStage) -> None:
    stage.refuse = lambda verb, what, _: (
        OSError("broken off") if (verb, what) == ("create", "nodes") else None
    )
    with pytest.raises(ExceptionGroup):
        await arena.nodes(1)
    stage.refuse = lambda _verb, _what, _name: None
    await arena.close()
    assert [what for verb, what, _ in stage.asked if verb == "delete"] == ["nodes", "namespaces"]


async def test_a_pod_that_a_finalizer_holds_is_let_go(arena: Arena, stage: FakeStage) -> None:
    pod = await arena.pod(finalizers=["hintbound.dev/hold"])
    await arena.close()
    assert ("patch", "pods", pod.name) in stage.asked


async def test_a_life_of_which_nothing_was_recorded_proves_nothing(arena: Arena) -> None:
    pod = await arena.pod()
    (life,) = await arena.lives(pod)
    assert [version.type for version in life.versions] == [Kind.ADDED]
    ghost = type(pod)(pod.namespace, "ghost", "u-ghost")
    with pytest.raises(Unproven, match="nothing was recorded of ghost"):
        await arena.life(ghost)


def test_names_of_namespaces_are_valid_however_long_the_id_is(stage: FakeStage) -> None:
    arena = Arena(stage, a_behaviour(f"NNN-{'LONG-' * 20}ID"))  # type: ignore[arg-type]
    assert len(arena.namespace) <= 63
    assert arena.namespace.replace("-", "").isalnum()
