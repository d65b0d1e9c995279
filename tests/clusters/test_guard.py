"""Whatever ends the owner ends its children, and a guard that was sent home ends nobody."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.identity import ProcessId

_OWNER = """
import os, signal, subprocess, sys, time
from hintbound.clusters.embedded.guard import Guard
guard = Guard()
print(guard.group, flush=True)
for _ in range(3):
    child = subprocess.Popen(["sleep", "60"], process_group=guard.group)
    print(child.pid, flush=True)
os.kill(child.pid, signal.SIGSTOP)
{then}
"""
_STARTS_TO_THE_LAST = """
while True:
    subprocess.Popen(["sleep", "61.{mark}"], process_group=guard.group)
"""


@pytest.fixture
def owner() -> Iterator[Callable[[str], tuple[subprocess.Popen[str], list[ProcessId]]]]:
    started: list[subprocess.Popen[str]] = []

    def start(then: str) -> tuple[subprocess.Popen[str], list[ProcessId]]:
        process = subprocess.Popen(
            [sys.executable, "-c", _OWNER.format(then=then)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, [ProcessId.of(int(process.stdout.readline())) for _ in range(4)]

    yield start
    for process in started:
        process.kill()
        if not process.stdout or not process.stdout.closed:
            process.communicate()


def _gone(processes: list[ProcessId], within: float = 10.0) -> bool:
    deadline = time.monotonic() + within
    while any(process.runs for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_killed_owner_leaves_no_child_not_even_a_stopped_one(
    owner: Callable[[str], tuple[subprocess.Popen[str], list[ProcessId]]], number: signal.Signals
) -> None:
    process, children = owner("time.sleep(60)")
    process.send_signal(number)
    process.wait()

    assert _gone(children), f"left: {[child.pid for child in children if child.runs]}"


def test_killed_owner_leaves_no_child_that_it_was_just_starting(
    owner: Callable[[str], tuple[subprocess.Popen[str], list[ProcessId]]],
) -> None:
    mark = str(os.getpid())
    for _ in range(5):
        process, children = owner(_STARTS_TO_THE_LAST.format(mark=mark))
        time.sleep(0.05)
        process.kill()
        process.wait()
        assert _gone(children)

        deadline = time.monotonic() + 10
        while left := _sleepers(f"61.{mark}"):
            assert time.monotonic() < deadline, f"left: {left}"
            time.sleep(0.01)


def _sleepers(argument: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if command[:2] == [b"sleep", argument.encode()]:
            found.append(int(folder.name))
    return found


def test_owner_that_raises_leaves_no_child(
    owner: Callable[[str], tuple[subprocess.Popen[str], list[ProcessId]]],
) -> None:
    process, children = owner("sys.stdin.readline(); sys.stderr.close(); raise RuntimeError")
    process.communicate("\n")

    assert process.returncode == 1
    assert _gone(children)


def test_release_ends_the_group_at_once() -> None:
    guard = Guard()
    with subprocess.Popen(["sleep", "60"], process_group=guard.group) as child:
        guard.release()
        guard.release()

        assert child.wait(2) == -signal.SIGKILL


def test_disarmed_guard_leaves_its_group_alone() -> None:
    guard = Guard()
    with subprocess.Popen(["sleep", "60"], process_group=guard.group) as child:
        guard.disarm()
        guard.release()
        time.sleep(0.1)

        assert child.poll() is None
        child.kill()


def test_child_that_joins_late_is_ended_too(
    owner: Callable[[str], tuple[subprocess.Popen[str], list[ProcessId]]],
) -> None:
    process, (leader, *children) = owner("time.sleep(60)")
    process.kill()
    process.wait()
    late = None
    # As one that was being started at that moment: it joins until the group is no more.
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        late = subprocess.Popen(["sleep", "60"], process_group=leader.pid)

    assert _gone(children)
    if late is not None:
        assert late.wait(5) == -signal.SIGKILL


def test_guard_that_died_is_released_and_disarmed_without_a_word() -> None:
    for end in (Guard.release, Guard.disarm):
        guard = Guard()
        for shell in (guard._watcher, guard._leader):
            shell.kill()
            shell.wait()
        end(guard)
