"""A component's life as a process: what is told, to whom, and in what words."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.process import ComponentDied, Process, Ready, hermetic
from hintbound.protocol import ComponentKind

Make = Callable[..., Process]


class Told:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.facts: dict[str, Mapping[str, object]] = {}

    def __call__(self, event: str, _process: Process, facts: Mapping[str, object]) -> None:
        self.events.append(event)
        self.facts[event] = facts


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def make(tmp_path: Path, told: Told) -> Iterator[Make]:
    guard = Guard()
    made: list[Process] = []

    def process(script: str, ready: Ready | None = None, **more: object) -> Process:
        async def at_once() -> bool:
            return True

        made.append(
            Process(
                name="kube-thing",
                kind=ComponentKind.SCHEDULER,
                version="1.2.3",
                command=["/bin/sh", "-c", script],
                log=tmp_path / "logs" / "kube-thing.log",
                ready=ready or at_once,
                group=guard.group,
                listener=told,
                **more,  # type: ignore[arg-type]
            )
        )
        return made[-1]

    yield process
    guard.release()
    for one in made:
        one.reap()


def _logged(process: Process, line: str) -> Ready:
    async def ask() -> bool:
        return line in process.tail()

    return ask


async def test_exit_code_and_last_log_lines_are_in_the_message(make: Make, tmp_path: Path) -> None:
    process = make("for i in $(seq 30); do echo line $i; done; echo cannot go on >&2; exit 7", _never)
    await process.start()

    with pytest.raises(ComponentDied) as died:
        await process.until_ready(5)

    lines = str(died.value).splitlines()
    log = tmp_path / "logs" / "kube-thing.log"
    assert lines[0] == f"kube-thing exited with 7. The last lines of {log}:"
    assert lines[-2:] == ["  line 30", "  cannot go on"]
    assert len(lines) == 13


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("seq 9; echo 'panic: oh'; seq 100", [*"456789", "panic: oh", *"12345"]),
        ("echo a; echo 'unknown flag: --x'; echo 'Usage:'; seq 100", ["a", "unknown flag: --x"]),
        ("echo 'Usage: more'; echo b", ["Usage: more", "b"]),
    ],
)
async def test_shown_lines_are_those_that_say_why(make: Make, script: str, shown: list[str]) -> None:
    process = make(script, _never)
    await process.start()

    with pytest.raises(ComponentDied) as died:
        await process.until_ready(5)

    assert list(died.value.lines) == shown


async def test_death_by_a_signal_names_the_signal(make: Make) -> None:
    process = make("kill -SEGV $$", _never)
    await process.start()

    with pytest.raises(
        ComponentDied, match=r"^kube-thing was ended by SIGSEGV\. .*\n  \(its log is empty\)$"
    ):
        await process.until_ready(5)


async def test_component_that_is_not_ready_in_time_is_reported_with_its_log(make: Make) -> None:
    process = make("echo still thinking; exec sleep 60", _never)
    await process.start()

    with pytest.raises(ComponentDied, match=r"was not ready within 0\.3 s\. .*\n  still thinking$"):
        await process.until_ready(0.3)


async def test_program_that_cannot_be_started_is_reported_like_one_that_died(
    make: Make, tmp_path: Path
) -> None:
    process = make("")
    process.command = [str(tmp_path / "absent")]

    with pytest.raises(ComponentDied, match=r"kube-thing cannot be started: .*No such file"):
        await process.start()


async def test_polite_end_is_heard(make: Make, told: Told) -> None:
    process = make("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done")
    await process.start()
    await process.until(5, _logged(process, "up"), "")
    await process.stop()

    assert process.tail()[-1] == "bye"
    assert told.events == ["started", "stopped"]


async def test_one_that_ignores_sigterm_is_killed_after_the_grace(
    make: Make, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hintbound.clusters.embedded.process._STOP_GRACE", 0.3)
    process = make("trap '' TERM; echo up; while :; do sleep 0.02; done")
    await process.start()
    await process.until(5, _logged(process, "up"), "")

    began = time.monotonic()
    await process.stop()

    assert time.monotonic() - began >= 0.3
    assert not process.running
    assert process.died().args[0].startswith("kube-thing was ended by SIGKILL.")


async def test_paused_one_stands_still_and_goes_on(make: Make, told: Told) -> None:
    process = make("while :; do echo tick; sleep 0.01; done")
    await process.start()
    await process.until(5, _logged(process, "tick"), "")
    assert process.pid is not None

    process.pause()
    assert psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    before = process.log.stat().st_size
    await asyncio.sleep(0.2)
    assert process.log.stat().st_size == before
    assert process.running

    process.resume()
    await process.until(5, lambda: _grown(process.log, before), "")
    assert told.events == ["started", "paused", "resumed"]


async def _grown(log: Path, before: int) -> bool:
    return log.stat().st_size > before  # noqa: ASYNC240


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_paused_one_can_be_ended(make: Make, how: str) -> None:
    process = make("exec sleep 60")
    await process.start()
    process.pause()

    async with asyncio.timeout(2):
        await getattr(process, how)()

    assert not process.running


async def test_pausing_a_dead_one_says_how_it_died(make: Make) -> None:
    process = make("exit 3")
    await process.start()
    while process.running:
        await asyncio.sleep(0.01)

    for act in (process.pause, process.resume):
        with pytest.raises(ComponentDied, match="exited with 3"):
            act()


async def test_unexpected_end_is_told_with_code_and_log(make: Make, told: Told) -> None:
    process = make("echo oh no; exit 4")
    await process.start()
    while "exited" not in told.events:
        await asyncio.sleep(0.01)

    assert told.events == ["started", "exited"]
    assert told.facts["exited"] == {"code": 4, "log": ["oh no"]}


@pytest.mark.parametrize("how", ["stop", "kill", "let_go"])
async def test_unexpected_end_is_told_even_when_we_end_it_a_moment_later(
    make: Make, told: Told, how: str
) -> None:
    process = make("exit 4")
    await process.start()
    while process.running:
        time.sleep(0.001)  # noqa: ASYNC251 - on purpose: the watcher gets no turn
    answer = getattr(process, how)()
    if answer is not None:
        await answer

    assert told.events == ["started", "exited"]
    await asyncio.sleep(0.15)
    assert told.events == ["started", "exited"]


async def test_end_by_the_guard_is_not_told_as_a_death(make: Make, told: Told) -> None:
    process = make("exec sleep 60")
    await process.start()
    process.let_go()
    os.killpg(process.group, signal.SIGKILL)
    process.reap()
    await asyncio.sleep(0.15)

    assert told.events == ["started"]


async def test_restart_runs_the_same_command_and_reports_only_its_own_life(make: Make, told: Told) -> None:
    process = make("echo life; exec sleep 60")
    process.ready = _logged(process, "life")
    await process.start()
    await process.until_ready(5)
    first = process.pid
    await process.restart(5)

    assert process.pid != first
    assert process.tail() == ["life"]
    assert process.log.read_text() == "life\nlife\n"
    assert told.events == ["started", "ready", "stopped", "started", "ready"]


async def test_component_sees_nothing_of_our_environment_that_could_steer_it() -> None:
    ours = {
        "PATH": "/bin",
        "HOME": "/root",
        "ETCD_NAME": "x",
        "KUBECONFIG": "x",
        "KUBE_FEATURE_WatchListClient": "true",
        "KWOK_X": "y",
        "https_proxy": "http://proxy",
        "GODEBUG": "x",
    }

    assert hermetic(ours) == {"PATH": "/bin", "HOME": "/root"}


async def _never() -> bool:
    return False
