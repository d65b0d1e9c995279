"""Ctrl-C and SIGTERM, sent to a real process; stages are fakes whose files tell what was cleaned up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from hintbound.plugin.interrupts import Interrupts
from tests.plugin.sessions import write

PROGRAM = """
import asyncio, pathlib, signal, sys
from tests.plugin.fakes import FakeStage
from hintbound.plugin import session
from hintbound import cli

folder = pathlib.Path(sys.argv[1])

class Stage(FakeStage):
    async def start(self):
        (folder / "starting").touch()
        if "slow-start" in sys.argv:
            await asyncio.Event().wait()

    async def close(self):
        await asyncio.sleep({closing})
        (folder / f"closed-{{self.name}}").touch()

    def act(self, verb, what, name):
        super().act(verb, what, name)
        if what == "namespaces":
            (folder / f"{{verb}}-{{name}}").touch()

session.Stage = Stage
cli.main(
    ["run", str(folder / "suite"), "--reports", str(folder / "reports"), "--profile", "all", "--jobs", "2"]
)
"""
SUITE = """
@one("T-DONE")
async def test_done(arena):
    pass

@one("T-PLAYING")
async def test_playing(arena):
    open(os.environ["PLAYING"], "w").close()
    await asyncio.Event().wait()

@one("T-LATER")
async def test_later(arena):
    await asyncio.Event().wait()

@one("T-NEVER")
async def test_never(arena):
    await asyncio.Event().wait()
"""
HELD_UP = """
@one("T-PLAYING")
async def test_playing(arena):
    await asyncio.sleep(0.01)
    open(os.environ["PLAYING"], "w").close()
    time.sleep(60)
"""
PATIENCE = 30.0


@dataclass
class Process:
    """A run as a process."""

    folder: Path
    popen: subprocess.Popen[str]

    def wait_for(self, name: str) -> None:
        """Until this file is there."""
        deadline = time.monotonic() + PATIENCE
        while not list(self.folder.glob(name)):
            assert self.popen.poll() is None, self.popen.communicate()[0]
            assert time.monotonic() < deadline, f"{name} never came"
            time.sleep(0.01)

    def end(self) -> tuple[int, str]:
        """Exit code and all that it said."""
        out, _ = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, out

    @property
    def run(self) -> dict[str, Any]:
        """Its run.json."""
        (file,) = self.folder.glob("reports/2*/run.json")
        record: dict[str, Any] = orjson.loads(file.read_bytes())
        return record

    def names(self, what: str) -> set[str]:
        """What follows in the names of files that begin so."""
        return {path.name.removeprefix(what) for path in self.folder.glob(f"{what}*")}


def _ignore_int() -> None:
    """As a shell does for a job in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def running(
    folder: Path, *words: str, suite: str = SUITE, closing: float = 0.0, ignore_int: bool = False
) -> Iterator[Process]:
    """Start it; never leave it behind."""
    write(folder, suite)
    program = textwrap.dedent(PROGRAM).format(closing=closing)
    popen = subprocess.Popen(
        [sys.executable, "-c", program, str(folder), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PLAYING": str(folder / "playing"), "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=_ignore_int if ignore_int else None,
    )
    try:
        yield Process(folder, popen)
    finally:
        popen.kill()
        popen.communicate()


@pytest.mark.parametrize(
    ("number", "ignore_int"),
    [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True)],
    ids=["Ctrl-C", "SIGTERM", "SIGTERM to a background job"],
)
def test_a_broken_off_run_cleans_up_reports_and_exits_with_130(
    tmp_path: Path, number: signal.Signals, ignore_int: bool
) -> None:
    with running(tmp_path, ignore_int=ignore_int) as process:
        process.wait_for("create-hb-t-later-*")  # its place was free: the first has been judged
        process.popen.send_signal(number)
        code, out = process.end()

    assert code == 130, out
    assert "Traceback" not in out
    assert "interrupted: cleaning up" in out
    assert process.names("create-") == process.names("delete-")
    assert process.names("closed-") == {"shared"}
    assert (process.run["verdict"], process.run["reason"]) == ("unknown", "interrupted")
    outcomes = {o["behaviour"]: (o["verdict"], o["reason"]) for o in process.run["outcomes"]}
    assert outcomes == {
        "T-DONE": ("pass", ""),
        "T-PLAYING": ("unknown", "interrupted"),
        "T-LATER": ("unknown", "interrupted"),
        "T-NEVER": ("unknown", "interrupted"),
    }


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_break_off_the_cleaning_up(tmp_path: Path, second: signal.Signals) -> None:
    with running(tmp_path, closing=0.5) as process:
        process.wait_for("playing")
        process.popen.send_signal(signal.SIGINT)
        for _ in range(20):
            process.popen.send_signal(second)
            time.sleep(0.01)
        code, out = process.end()
    assert (code, process.names("closed-"), process.run["reason"]) == (130, {"shared"}, "interrupted"), out


def test_a_second_signal_does_not_overtake_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two items no loop runs, and the first is on its way up through pytest."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        interrupts._handle(signal.SIGINT, None)
    interrupts._handle(signal.SIGINT, None)
    now += 2
    with pytest.raises(KeyboardInterrupt):  # the first was swallowed
        interrupts._handle(signal.SIGTERM, None)
    interrupts.enough()
    now += 2
    interrupts._handle(signal.SIGINT, None)


def test_an_interrupt_gets_through_to_a_loop_that_is_held_up(tmp_path: Path) -> None:
    with running(tmp_path, suite=HELD_UP) as process:
        process.wait_for("playing")
        process.popen.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.popen.send_signal(signal.SIGINT)
        code, out = process.end()
    assert (code, process.run["reason"]) == (130, "interrupted"), out
    assert process.names("create-") == process.names("delete-")
    assert "Traceback" not in out


def test_an_interrupt_while_control_planes_start_closes_them(tmp_path: Path) -> None:
    with running(tmp_path, "slow-start") as process:
        process.wait_for("starting")
        process.popen.send_signal(signal.SIGINT)
        code, out = process.end()
    assert (code, process.names("closed-")) == (130, {"shared"}), out
    assert process.run["reason"] == "interrupted"
    assert "Traceback" not in out


def test_a_killed_run_leaves_a_record_that_says_unknown(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        process.wait_for("playing")
        process.popen.kill()
        process.end()
    assert process.run["verdict"] == "unknown"
    assert process.run["reason"].startswith("still running or killed")
