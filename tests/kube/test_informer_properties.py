"""The informer's promise, against any history: nothing lost, nothing told twice, gaps said."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hintbound.kube import Backoff, Change, ChangeType, Gap, Informer, Initial, Json, Key, Source, Timing
from hintbound.kube.resources import CONFIG_MAPS
from tests.kube.model import Model, cut_answer, refuse, reset
from tests.kube.scripted import ScriptedServer

NAMES = st.sampled_from("abcde")
UNWELL: Json = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcdserver: no leader"}
THROTTLED: Json = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "busy"}

Step = Callable[[Model], Any]


def step(name: str, *args: Any, **named: Any) -> Step:
    def do(model: Model) -> None:
        getattr(model, name)(*args, **named)

    do.__name__ = f"{name}{args or ''}{named or ''}"
    do.__qualname__ = do.__name__
    return do


def missed(deleted: str, written: str) -> Step:
    """What a watch that is cut has no chance to tell."""

    def do(model: Model) -> None:
        model.cut_watches(after=0)
        model.delete(deleted)
        model.write(written)
        model.compact()

    do.__qualname__ = f"missed({deleted!r}, {written!r})"
    return do


def refused_by(*how: Any) -> Step:
    def do(model: Model) -> None:
        model.refusals.extend(how)

    return do


STEPS = st.one_of(
    st.builds(lambda name: step("write", name), NAMES),
    st.builds(lambda name: step("write", name), NAMES),
    st.builds(lambda name: step("delete", name), NAMES),
    st.builds(missed, NAMES, NAMES),
    st.just(step("tick")),
    st.just(step("bookmark")),
    st.just(step("compact")),
    st.just(step("end_watches")),
    st.just(step("repeat_event")),
    st.builds(lambda back: step("resend", back), st.integers(1, 4)),
    st.just(step("tell_error", UNWELL)),
    st.just(step("tell_error", THROTTLED)),
    st.builds(lambda size: step("chop", size), st.integers(1, 30)),
    st.builds(lambda after: step("cut_watches", after=after), st.integers(0, 400)),
    st.builds(
        refused_by,
        st.sampled_from([reset, cut_answer, refuse(429, Retry_After="1"), refuse(500), refuse(503)]),
    ),
)
"""Between them the informer may catch up, or not: see PAUSES."""
PAUSES = st.sampled_from([0, 0, 5, 40, 150])
"""How many turns the event loop takes after a step; a request and its answer take about ten."""


@dataclass(slots=True)
class Run:
    model: Model
    changes: list[Change[Json]]
    state: dict[Key, Json]
    gaps: tuple[Gap, ...]
    duplicates: int
    begun: int
    """The version of the first list (or somewhat later)."""


async def run(
    steps: list[tuple[Step, int]], *, page: int, initial: Initial, gone_as_event: bool, seed: int
) -> Run:
    model = Model(gone_as_event=gone_as_event, streams_initial_events=seed % 2 == 0)
    model.write("a")
    model.write("b")
    changes: list[Change[Json]] = []

    async def no_wait(pause: float) -> None:
        await asyncio.sleep(0)

    timing = Timing(sleep=no_wait, backoff=Backoff(random=random.Random(seed)))
    async with ScriptedServer(model.handle) as server, server.client() as client:
        informer = Informer(
            client, CONFIG_MAPS, namespace="a", page=page, initial=initial, inactivity=0.5, timing=timing
        )
        informer.on_change(changes.append)

        async def first_version() -> int:
            await informer.synced()
            return int(informer.resource_version)

        async with informer, asyncio.timeout(20):
            begun = asyncio.create_task(first_version())
            follower = informer.subscribe()
            for do, pauses in steps:
                do(model)
                for _ in range(pauses):
                    await asyncio.sleep(0)
            model.refusals.clear()
            model.write("last")
            async for change in follower:
                if change.key.name == "last":
                    break
    return Run(model, changes, dict(informer.state), informer.gaps, informer.duplicates, await begun)


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(st.tuples(STEPS, PAUSES), min_size=12, max_size=40),
    page=st.integers(1, 6),
    initial=st.sampled_from(Initial),
    gone_as_event=st.booleans(),
    seed=st.integers(0, 9),
)
async def test_nothing_is_lost_nothing_told_twice_and_gaps_are_said(
    steps: list[tuple[Step, int]], page: int, initial: Initial, gone_as_event: bool, seed: int
) -> None:
    seen = await run(steps, page=page, initial=initial, gone_as_event=gone_as_event, seed=seed)

    assert seen.state == seen.model.objects
    assert replayed(seen.changes) == seen.model.objects
    assert_versions_grow(seen.changes)
    assert_told_once(seen.changes)
    assert_all_told_but_for_gaps(seen)


def replayed(changes: list[Change[Json]]) -> dict[Key, Json]:
    """The state that the changes lead to; each must fit the state before it."""
    state: dict[Key, Json] = {}
    for change in changes:
        known = state.get(change.key)
        if change.type is ChangeType.ADDED:
            assert known is None, f"added twice: {change}"
        else:
            assert known is not None, f"not there before: {change}"
        if change.type is ChangeType.DELETED:
            del state[change.key]
        else:
            assert change.object is not None
            same_uid = known is None or known["metadata"]["uid"] == change.object["metadata"]["uid"]
            assert same_uid, f"another object of the same name: {change}"
            state[change.key] = change.object
    return state


def assert_versions_grow(changes: list[Change[Json]]) -> None:
    last: dict[Key, int] = {}
    for change in changes:
        version = int(change.resource_version)
        before = last.get(change.key, -1)
        # A deletion that a relist showed has the version of the list, or of what replaced the object.
        replaced = change.type is ChangeType.ADDED and change.relisted
        grows = version >= before if replaced else version > before
        assert grows, f"{change.key} went from {before} to {version}: {change}"
        last[change.key] = version


def assert_told_once(changes: list[Change[Json]]) -> None:
    told = Counter((c.type, c.key, c.resource_version) for c in changes if not c.relisted)
    assert max(told.values(), default=1) == 1, told.most_common(1)


def assert_all_told_but_for_gaps(seen: Run) -> None:
    """Every write after the first list was told by the watch, unless a gap names its version."""
    watched = {c.resource_version for c in seen.changes if c.source is Source.WATCH}
    listed = [int(c.resource_version) for c in seen.changes if c.source is Source.LIST]
    assert max(listed, default=0) <= seen.begun, "what a later list showed is marked as such"
    gaps = [(int(gap.from_version), int(gap.to_version)) for gap in seen.gaps]
    for entry in seen.model.log:
        if entry.version <= seen.begun or any(low < entry.version <= high for low, high in gaps):
            continue
        assert str(entry.version) in watched, f"version {entry.version} is neither told nor in {gaps}"
