"""What was not seen because a component stood still is no failure: on a real control plane."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hintbound.clusters import spec
from hintbound.history.store import Store
from hintbound.plugin.arena import Arena
from hintbound.plugin.engine import SHARED, Engine
from hintbound.plugin.judgement import Judgement
from hintbound.plugin.stage import Stage
from hintbound.protocol import Verdict
from hintbound.report.folder import RunFolder
from tests.plugin.fakes import Play, scenario

SHORT = 1.5
"""Seconds of patience; a scheduler that lives binds in a fraction of one."""


@contextmanager
def on_a_control_plane(store: Store, folder: Path) -> Iterator[tuple[Engine, Stage]]:
    (folder / "logs").mkdir()
    stage, engine = Stage(SHARED, spec.parse("embedded:1.35"), store, RunFolder("r", folder)), Engine(jobs=1)
    try:
        engine.run(stage.start())
        yield engine, stage
    finally:
        engine.close([stage])


def judged(engine: Engine, stage: Stage, play: Play) -> Judgement:
    one = scenario(play, "T-LIFE")
    engine.queue([one])
    engine.run(engine.begin([stage]))
    return engine.run(engine.verdict(one))


async def until_bound(arena: Arena, **wanted: Any) -> None:
    pod = await arena.pod(**wanted)
    await arena.until(pod, lambda o: bool(o["spec"].get("nodeName")), "a binding", patience=SHORT)


def test_only_what_a_living_scheduler_does_not_do_is_a_failure(store: Store, tmp_path: Path) -> None:
    with on_a_control_plane(store, tmp_path) as (engine, stage):
        scheduler: Any = stage.cluster.component("kube-scheduler")

        async def fits_nowhere(arena: Arena) -> None:
            await arena.nodes(1, cpu="1")
            await until_bound(arena, cpu="2")

        async def stopped_from_outside(arena: Arena) -> None:
            await arena.nodes(1)
            os.kill(scheduler.pid, signal.SIGSTOP)
            await until_bound(arena)

        failed = judged(engine, stage, fits_nowhere)
        still = judged(engine, stage, stopped_from_outside)
        os.kill(scheduler.pid, signal.SIGCONT)

    assert failed.verdict is Verdict.FAIL, failed.reason
    assert still.verdict is Verdict.UNKNOWN, still.reason
    assert still.reason.endswith("; kube-scheduler stands still (SIGSTOP)")


def test_a_scheduler_that_does_not_answer_is_lifeless_whatever_the_system_says(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hintbound.clusters.embedded.component._ANSWERS_WITHIN", 0.5)
    with on_a_control_plane(store, tmp_path) as (engine, stage):
        scheduler: Any = stage.cluster.component("kube-scheduler")
        assert engine.run(stage.lifeless()) == []
        os.kill(scheduler.pid, signal.SIGSTOP)
        monkeypatch.setattr("hintbound.clusters.embedded.process._stands_still", lambda _pid: False)
        (told,) = engine.run(stage.lifeless())
        os.kill(scheduler.pid, signal.SIGCONT)
        engine.run(scheduler.kill())
        ended = engine.run(stage.lifeless())

    assert told.startswith("kube-scheduler does not answer: ")
    assert ended == [], "who was ended is no riddle"
