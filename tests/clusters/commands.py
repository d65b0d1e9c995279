"""hintbound as a person runs it: a process of its own, interrupted at a chosen moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.clusters.world import processes_of

PATIENCE = 90.0
"""Far more than needed: other work may keep all cores busy."""


class Command:
    """`hintbound ARGUMENTS`, or a script, in the background with a state folder of its own."""

    def __init__(
        self, state: Path, *arguments: str, script: str | None = None, cwd: Path | None = None
    ) -> None:
        self.state = state
        program = ["-c", script or "from hintbound.cli import main; main()"]
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HINTBOUND_STATE": str(state)},
            cwd=cwd,
            start_new_session=True,
        )

    def until(self, holds: Callable[[], object], what: str, within: float = PATIENCE) -> None:
        """Wait while it runs."""
        deadline = time.monotonic() + within
        while not holds():
            assert self.process.poll() is None, f"ended before {what}: {self.process.communicate()}"
            assert time.monotonic() < deadline, f"no {what} within {within:g} s"
            time.sleep(0.005)

    def runs(self, *programs: str, within: float = PATIENCE) -> None:
        """Wait until these programs of its cluster run."""

        def there() -> bool:
            running = {Path(program).name for program in processes_of(self.state).values()}
            return running >= set(programs)

        self.until(there, f"{programs} to run", within)

    def send(self, *signals: signal.Signals) -> None:
        """One after the other, as by an impatient person; once it has ended they reach nobody."""
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.02)

    def end(self, within: float = PATIENCE) -> tuple[int, str, str]:
        """Wait for its end: exit code, stdout, stderr. One that does not end in time is killed."""
        try:
            out, err = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, out, err


def run(state: Path, *arguments: str, within: float = PATIENCE) -> tuple[int, str, str]:
    """`hintbound ARGUMENTS` to its end."""
    return Command(state, *arguments).end(within)


def nothing_runs(state: Path, within: float) -> dict[int, str]:
    """What still runs of the clusters of a state folder after so many seconds; empty once nothing does."""
    deadline = time.monotonic() + within
    while (left := processes_of(state)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def folders(state: Path) -> list[str]:
    """The folders of clusters, drafts included."""
    root = state / "clusters"
    return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
