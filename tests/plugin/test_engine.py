"""How scenarios are played: how many at once, in which order verdicts come, what always happens at the
end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hintbound.clusters.protocol import Capability
from hintbound.history.events import Kind
from hintbound.history.store import Store, read
from hintbound.plugin import engine as engine_module
from hintbound.plugin.arena import Arena
from hintbound.plugin.engine import EXCLUSIVE, SHARED, Engine, Scenario
from hintbound.plugin.judgement import Judgement
from hintbound.protocol import ComponentKind, Verdict
from tests.plugin.fakes import FakeStage, scenario

Play = Callable[[Arena], Awaitable[None]]


@contextmanager
def playing(
    store: Store, scenarios: Iterable[Scenario], *, jobs: int = 8, stages: Iterable[str] = (SHARED,)
) -> Iterator[tuple[Engine, dict[str, FakeStage]]]:
    """An engine at work; closed at the end as a session does it."""
    engine = Engine(jobs=jobs)
    engine.queue(scenarios)
    made = {name: FakeStage(name, None, store, None) for name in stages}
    engine.run(engine.begin(list(made.values())))  # type: ignore[arg-type]
    closed = False

    def close() -> None:
        nonlocal closed
        if not closed:
            closed = True
            engine.close(list(made.values()))  # type: ignore[arg-type]

    engine.finish = close  # type: ignore[attr-defined]
    try:
        yield engine, made
    finally:
        close()


def verdict(engine: Engine, scenario: Scenario) -> Judgement:
    return engine.run(engine.verdict(scenario))


async def nothing(_arena: Arena) -> None:
    pass


async def forever(_arena: Arena) -> None:
    await asyncio.Event().wait()


def numbered(play: Play, count: int, **more: Any) -> list[Scenario]:
    return [scenario(play, f"T-{number}", **more) for number in range(count)]


def test_no_more_scenarios_than_jobs_are_played_at_once(store: Store) -> None:
    now, most = 0, 0

    async def play(_arena: Arena) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.02)
        now -= 1

    scenarios = numbered(play, 9)
    with playing(store, scenarios, jobs=3) as (engine, _):
        verdicts = [verdict(engine, one).verdict for one in scenarios]
    assert (verdicts, most) == ([Verdict.PASS] * 9, 3)


def test_a_verdict_belongs_to_its_scenario_whichever_ends_first(store: Store) -> None:
    ended: list[str] = []

    async def first(_arena: Arena) -> None:
        await asyncio.sleep(0.1)
        ended.append("first")
        raise AssertionError("the first")

    async def second(_arena: Arena) -> None:
        ended.append("second")

    scenarios = [scenario(first, "T-FIRST"), scenario(second, "T-SECOND")]
    with playing(store, scenarios) as (engine, _):
        found = [verdict(engine, one) for one in scenarios]
    assert ended == ["second", "first"]
    assert [(one.verdict, one.reason) for one in found] == [(Verdict.FAIL, "the first"), (Verdict.PASS, "")]


def test_exclusive_scenarios_are_played_one_by_one_on_their_stage_while_others_go_on(store: Store) -> None:
    alone, beside = 0, 0
    shared_may_end = asyncio.Event()

    async def exclusive(arena: Arena) -> None:
        nonlocal alone, beside
        assert arena.cluster == EXCLUSIVE
        alone += 1
        assert alone == 1, "two exclusive scenarios at once"
        beside += not shared_may_end.is_set()
        await asyncio.sleep(0.02)
        alone -= 1

    async def shared(arena: Arena) -> None:
        assert arena.cluster == SHARED
        await shared_may_end.wait()

    exclusives = numbered(exclusive, 3, exclusive=True)
    other = scenario(shared, "T-SHARED")
    with playing(store, [*exclusives, other], stages=(SHARED, EXCLUSIVE)) as (engine, _):
        assert [verdict(engine, one).verdict for one in exclusives] == [Verdict.PASS] * 3
        shared_may_end.set()
        assert verdict(engine, other).verdict is Verdict.PASS
    assert beside == 3


def test_a_deadline_makes_unknown_names_what_was_awaited_and_cleans_up(store: Store) -> None:
    async def play(arena: Arena) -> None:
        pod = await arena.pod()
        await arena.bound(pod)

    one = scenario(play, deadline=0.2)
    with playing(store, [one]) as (engine, stages):
        found = verdict(engine, one)
        assert found.verdict is Verdict.UNKNOWN
        assert found.reason == (
            "its deadline of 0.2 s passed while it was awaiting: pod-1 to be bound (so far: phase=Pending, "
            "resourceVersion=103)"
        )
        assert stages[SHARED].namespaces("delete") == [found.namespace]


CRASHES: dict[str, tuple[BaseException, Verdict]] = {
    "an error": (RuntimeError("a bug"), Verdict.UNKNOWN),
    "pytest.fail": (pytest.fail.Exception("said the test"), Verdict.FAIL),
    "pytest.skip": (pytest.skip.Exception("not here"), Verdict.SKIP),
    "SystemExit": (SystemExit(1), Verdict.UNKNOWN),
    "a cancellation of its own": (asyncio.CancelledError(), Verdict.UNKNOWN),
    "the fence": (pytest.fail.Exception("Timeout (>1.0s) from pytest-timeout."), Verdict.UNKNOWN),
}


@pytest.mark.parametrize("crash", CRASHES)
def test_no_crash_of_a_scenario_leaves_its_item_waiting_or_its_namespace_behind(
    store: Store, crash: str
) -> None:
    raised, expected = CRASHES[crash]

    async def play(_arena: Arena) -> None:
        raise raised

    one, next_one = scenario(play, "T-ONE"), scenario(nothing, "T-NEXT")
    with playing(store, [one, next_one], jobs=1) as (engine, stages):
        found = verdict(engine, one)
        assert verdict(engine, next_one).verdict is Verdict.PASS
        assert stages[SHARED].namespaces("delete")[0] == found.namespace
    assert found.verdict is expected


def test_a_bug_in_the_engine_itself_leaves_no_item_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(engine_module, "judge", broken)
    one = scenario(nothing)
    with playing(store, [one]) as (engine, stages):
        found = verdict(engine, one)
        assert stages[SHARED].namespaces("delete"), "and it was not cleaned up"
    assert (found.verdict, found.reason) == (
        Verdict.UNKNOWN,
        "hintbound broke off: ZeroDivisionError('ours')",
    )


def test_a_failed_cleanup_is_a_note_and_changes_no_verdict(store: Store) -> None:
    one = scenario(nothing)
    with playing(store, [one]) as (engine, stages):
        stages[SHARED].refuse = lambda verb, what, _: (
            OSError("no way") if (verb, what) == ("delete", "namespaces") else None
        )
        found = verdict(engine, one)
    assert found.verdict is Verdict.PASS
    assert engine.notes == [f"cleaning up {found.namespace} failed: no way"]


def test_a_cleanup_that_never_ends_is_a_note_and_changes_no_verdict(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "UNDO_WITHIN", 0.1)
    monkeypatch.setattr(Arena, "close", lambda _self: asyncio.Event().wait())
    one = scenario(nothing)
    with playing(store, [one]) as (engine, _):
        found = verdict(engine, one)
    assert found.verdict is Verdict.PASS
    assert engine.notes == [f"cleaning up {found.namespace} took longer than 0.1 s"]


def test_closing_in_the_middle_cleans_up_what_plays_and_leaves_the_rest_alone(store: Store) -> None:
    scenarios = numbered(forever, 5)
    with playing(store, scenarios, jobs=2) as (engine, stages):
        engine.run(asyncio.sleep(0.05))
        engine.finish()  # type: ignore[attr-defined]
        stage = stages[SHARED]
    assert len(stage.namespaces("create")) == 2
    assert sorted(stage.namespaces("delete")) == sorted(stage.namespaces("create"))
    assert stage.closed == 1
    judged = [one.judged for one in scenarios[:2]]
    assert [(one.verdict, one.reason) for one in judged if one] == [(Verdict.UNKNOWN, "interrupted")] * 2


def test_a_stage_that_does_not_close_holds_up_nobody(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "CLOSE_WITHIN", 0.1)
    monkeypatch.setattr(FakeStage, "close", lambda _self: asyncio.Event().wait())
    with playing(store, []) as (engine, _):
        pass
    assert engine.notes == ["closing shared took longer than 0.1 s"]


def test_an_incomplete_record_makes_a_pass_unknown(store: Store) -> None:
    async def play(arena: Arena) -> None:
        store.append(
            Kind.GAP, source="watch", cluster=arena.cluster, data={"reason": "the watch was cut for 3 s"}
        )

    one = scenario(play)
    with playing(store, [one]) as (engine, _):
        found = verdict(engine, one)
    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, "the watch was cut for 3 s")


def test_a_component_that_died_makes_unseen_events_unknown_not_failed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hintbound.plugin.arena.PATIENCE", 0.1)

    async def play(arena: Arena) -> None:
        await arena.until(await arena.pod(), lambda _: False, "anything", patience=0.1)

    one = scenario(play)
    with playing(store, [one]) as (engine, stages):
        stages[SHARED].died = ["kube-scheduler died by itself (SIGKILL)"]
        found = verdict(engine, one)
    assert found.verdict is Verdict.UNKNOWN
    assert found.reason.endswith("; kube-scheduler died by itself (SIGKILL)")


def test_a_failure_carries_the_lives_of_its_pods(store: Store) -> None:
    async def play(arena: Arena) -> None:
        await arena.pod()
        raise AssertionError("broken")

    one = scenario(play)
    with playing(store, [one]) as (engine, _):
        found = verdict(engine, one)
    assert found.evidence[0].startswith("pod pod-1 (uid u")
    assert isinstance(found.error, AssertionError)


def test_the_record_tells_when_a_scenario_began_and_what_it_came_to(store: Store) -> None:
    one = scenario(nothing)
    with playing(store, [one]) as (engine, _):
        namespace = verdict(engine, one).namespace
    events = [event for event in read(store.path) if event.namespace == namespace]
    assert events[0].kind == Kind.SCENARIO_STARTED
    assert [e.data for e in events if e.kind == Kind.SCENARIO_FINISHED] == [{"verdict": "pass", "reason": ""}]
    assert {e.test for e in events} == {"T-ONE"}


@pytest.mark.parametrize(
    ("capabilities", "gates", "more", "expected"),
    [
        (
            {Capability.FAKE_NODES},
            {},
            {"needs": [Capability.AUDIT, Capability.FAKE_NODES]},
            (Verdict.SKIP, "the embedded cluster does not offer AUDIT"),
        ),
        (
            {Capability.FAKE_NODES},
            {},
            {"needs": [Capability.AUDIT, Capability.FAULTY_SCHEDULER]},
            (Verdict.SKIP, "faulty-scheduler cannot be built"),
        ),
        (
            {Capability.FAKE_NODES},
            {ComponentKind.APISERVER: {"X": False}},
            {"needs": [Capability.AUDIT], "applies": "gate(apiserver, X)"},
            (Verdict.NOT_SUPPORTED, "applies only if gate(apiserver, X)"),
        ),
        (
            {Capability.FAKE_NODES},
            {},
            {"exclusive": True},
            (
                Verdict.SKIP,
                "it needs a control plane of its own, and the embedded cluster is shared",
            ),
        ),
        (
            set(Capability),
            {ComponentKind.SCHEDULER: {}},
            {"applies": "gate(apiserver, X)"},
            (
                Verdict.SKIP,
                "applies only if gate(apiserver, X), but the gates of kube-apiserver cannot be read",
            ),
        ),
        (
            set(Capability),
            {ComponentKind.APISERVER: {"Y": True}},
            {"applies": "gate(apiserver, X)"},
            (Verdict.NOT_SUPPORTED, "applies only if gate(apiserver, X)"),
        ),
        (
            set(Capability),
            {ComponentKind.APISERVER: {"X": True}},
            {"applies": "gate(apiserver, X)"},
            (Verdict.PASS, ""),
        ),
    ],
)
def test_what_is_not_played_says_why(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capabilities: set[Capability],
    gates: dict[ComponentKind, dict[str, bool]],
    more: dict[str, Any],
    expected: tuple[Verdict, str],
) -> None:
    monkeypatch.setattr(FakeStage, "capabilities", frozenset(capabilities))
    monkeypatch.setattr(FakeStage, "gates", gates)
    one = scenario(nothing, **more)
    with playing(store, [one]) as (engine, stages):
        found = verdict(engine, one)
        played = bool(stages[SHARED].asked)
    assert (found.verdict, found.reason) == expected
    assert played is (found.verdict is Verdict.PASS)


@pytest.mark.parametrize(("lacks", "elsewhere"), [(Capability.REAL_NODES, True), (Capability.AUDIT, False)])
def test_what_is_about_kubelets_is_judged_where_there_are_some(
    store: Store, monkeypatch: pytest.MonkeyPatch, lacks: Capability, elsewhere: bool
) -> None:
    monkeypatch.setattr(FakeStage, "capabilities", frozenset(set(Capability) - {lacks}))
    one = scenario(nothing, needs=[lacks])
    with playing(store, [one]) as (engine, _):
        found = verdict(engine, one)
    assert (found.verdict, found.elsewhere) == (Verdict.SKIP, elsewhere)


def test_a_test_that_swallows_its_cancellation_is_late_all_the_same(store: Store) -> None:
    async def deaf(_arena: Arena) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    one = scenario(deaf, deadline=0.2)
    with playing(store, [one]) as (engine, _):
        judged = verdict(engine, one)
    assert judged.verdict is Verdict.UNKNOWN
    assert "its deadline of 0.2 s passed" in judged.reason


def test_a_test_that_cancels_its_own_task_takes_nobody_along(store: Store) -> None:
    async def gives_up(_arena: Arena) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)

    one, other = scenario(gives_up), scenario(nothing, id="T-TWO")
    with playing(store, [one, other], jobs=1) as (engine, _):
        judged = [verdict(engine, one), verdict(engine, other)]
    assert [judgement.verdict for judgement in judged] == [Verdict.UNKNOWN, Verdict.PASS]


def test_a_task_that_would_not_end_does_not_hang_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hintbound.plugin.engine.DEAF_AFTER", 0.1)
    kept: list[asyncio.Task[None]] = []
    over: list[bool] = []

    async def never_ends() -> None:
        while not over:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def leaks(_arena: Arena) -> None:
        kept.append(asyncio.create_task(never_ends(), name="a leak"))
        await asyncio.sleep(0)

    one = scenario(leaks)
    with playing(store, [one]) as (engine, _):
        verdict(engine, one)
    assert "a task would not end: a leak" in engine.notes

    (leak,) = kept
    over.append(True)
    leak.cancel()
    loop = leak.get_loop()
    loop.run_until_complete(asyncio.wait([leak]))
    loop.close()
