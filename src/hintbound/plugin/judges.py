"""Runs of the suites in processes of their own, some side by side; none of them outlives us."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from hintbound.clusters.embedded.guard import Guard
from hintbound.errors import CannotStart
from hintbound.protocol import ExitCode

if TYPE_CHECKING:
    from hintbound.report.model import Run


@dataclass(frozen=True, slots=True)
class Judged:
    """A run that has ended."""

    run: Run
    folder: Path


class Judges:
    """Judge clusters by all behaviours, at most so many at once."""

    def __init__(self, scratch: Path, at_once: int) -> None:
        """`scratch`: where the folders of the runs are made."""
        self._scratch = scratch
        self._pool = ThreadPoolExecutor(at_once)
        self._guard = Guard()
        self._running: set[subprocess.Popen[str]] = set()
        self._ended = False
        self._lock = threading.Lock()
        """Of the two: no run begins once all have been asked to end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """After an error or an interrupt the runs are asked to end, which removes their clusters."""
        try:
            if kind is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                with self._lock:
                    self._ended = True
                    for run in self._running:
                        run.send_signal(signal.SIGINT)
            self._pool.shutdown()
        finally:
            self._guard.release()

    def begin(self, name: str, options: Iterable[str]) -> Future[Judged]:
        """A run with these options of `hintbound run`, called `name` in what is told of it. Its result raises
        CannotStart where it cannot begin."""
        return self._pool.submit(self._judge, name, list(options))

    def _judge(self, name: str, options: list[str]) -> Judged:
        from hintbound.report import run_json

        reports = self._scratch / name.replace(" ", "-")
        command = [sys.executable, "-m", "hintbound", "run", "--profile", "all", *options]
        with self._lock:
            if self._ended:
                raise CannotStart(f"{name} was not judged: the others have been ended.")
            run = subprocess.Popen(
                [*command, "--reports", str(reports)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                process_group=self._guard.group,
            )
            self._running.add(run)
        with run:
            out, err = run.communicate()
        with self._lock:
            self._running.discard(run)
        if run.returncode not in (ExitCode.PASS, ExitCode.FAIL, ExitCode.UNKNOWN):
            said = (err.strip() or out.strip() or f"exit code {run.returncode}").splitlines()[-1]
            raise CannotStart(f"{name} could not be judged: {said.removeprefix('hintbound: ')}")
        folder = (reports / "latest").resolve()
        result = run_json.read(folder / run_json.FILE)
        click.echo(f"{name}: {result.verdict} in {result.duration_seconds:.0f} s", err=True)
        return Judged(result, folder)
