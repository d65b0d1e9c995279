"""One component as a local process: start, wait until ready, stop, kill, pause, resume, restart; its log in a file.

A plain Popen that is polled, not asyncio's subprocess: that one kills its children when the loop is closed, and a
cluster that was brought up to stay must outlive us.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hintbound.protocol import ComponentKind, Seconds

_POLL: Seconds = 0.02
_REAP: Seconds = 0.005
_LOOK: Seconds = 0.1
_STOP_GRACE: Seconds = 3.0
_TAIL_BYTES = 8192

Ready = Callable[[], Awaitable[bool]]
"""Asks once whether the component is ready; must not raise for a component that is not there yet."""
Listener = Callable[[str, "Process", Mapping[str, object]], None]
"""Told of every turn in a component's life: started, ready, stopped, killed, paused, resumed, exited."""


class ComponentDied(Exception):
    """A component ended, or was not ready in time: with its exit code and its last log lines."""

    def __init__(self, name: str, version: str, what: str, lines: Sequence[str], log: Path) -> None:
        self.name = name
        self.version = version
        self.lines = tuple(lines)
        shown = "\n".join(f"  {line}" for line in lines) or "  (its log is empty)"
        super().__init__(f"{name} {what}. The last lines of {log}:\n{shown}")


@dataclass(slots=True)
class Process:
    """A component's command and, while it runs, its process.

    `group` is the process group to join (see guard.py), or None for a process that shall outlive us.
    """

    name: str
    kind: ComponentKind
    version: str
    command: Sequence[str]
    log: Path
    ready: Ready
    group: int | None
    env: Mapping[str, str] = field(default_factory=dict)
    listener: Listener = lambda _event, _process, _facts: None
    _process: subprocess.Popen[bytes] | None = None
    _expected_end: bool = False
    _watcher: asyncio.Task[None] | None = None
    _log_start: int = 0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def running(self) -> bool:
        """Whether the process exists, paused or not."""
        return self.pid is not None

    async def start(self) -> None:
        """Start the process; returns before it is ready."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._expected_end = False
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**_inherited(), **self.env},
                process_group=self.group,
                start_new_session=self.group is None,
            )
        self._watcher = asyncio.create_task(self._watch(self._process), name=f"watch {self.name}")
        self._tell("started", pid=self._process.pid)

    async def until_ready(self, timeout: Seconds) -> None:
        """Wait for readiness. Raises ComponentDied when it exits first or takes longer than `timeout`."""
        deadline = time.monotonic() + timeout
        while True:
            if not self.running:
                raise self.died()
            if await self.ready():
                self._tell("ready")
                return
            if time.monotonic() > deadline:
                raise self._report(f"was not ready within {timeout:g} s")
            await asyncio.sleep(_POLL)

    async def stop(self) -> None:
        """End it politely: SIGTERM, then SIGKILL after a grace of 3 s."""
        await self._end(signal.SIGTERM, "stopped")

    async def kill(self) -> None:
        """SIGKILL: no time to say goodbye."""
        await self._end(signal.SIGKILL, "killed")

    async def restart(self, timeout: Seconds) -> None:
        """Stop if it runs, start again on the same port with the same command, wait until ready."""
        await self.stop()
        await self.start()
        await self.until_ready(timeout)

    def pause(self) -> None:
        """SIGSTOP: it stands still and keeps its connections."""
        self._signal(signal.SIGSTOP)
        self._tell("paused")

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)
        self._tell("resumed")

    def tail(self, lines: int = 12) -> list[str]:
        """The last log lines of the current life."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            return log.read().decode(errors="replace").splitlines()[-lines:]
        return []

    def died(self) -> ComponentDied:
        """The report on a process that ended."""
        code = self._process.returncode if self._process else None
        how = f"was ended by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exited with {code}"
        return self._report(how)

    def _report(self, what: str) -> ComponentDied:
        return ComponentDied(self.name, self.version, what, self.tail(), self.log)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            raise self.died()
        self._process.send_signal(number)

    async def _end(self, number: signal.Signals, word: str) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        self._expected_end = True
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)  # a paused process acts on SIGTERM only once it runs again
        try:
            async with asyncio.timeout(_STOP_GRACE):
                await _ended(process, _REAP)
        except TimeoutError:
            process.kill()
            await _ended(process, _REAP)
        self._unwatch()
        self._tell(word)

    def let_go(self) -> None:
        """Forget the process without ending it."""
        self._unwatch()

    def _unwatch(self) -> None:
        if self._watcher:
            self._watcher.cancel()
            self._watcher = None

    async def _watch(self, process: subprocess.Popen[bytes]) -> None:
        code = await _ended(process, _LOOK)
        if not self._expected_end:
            self._tell("exited", code=code, log=self.tail())

    def _tell(self, event: str, **facts: object) -> None:
        self.listener(event, self, facts)


async def _ended(process: subprocess.Popen[bytes], every: Seconds) -> int:
    while (code := process.poll()) is None:
        await asyncio.sleep(every)
    return code


def _inherited() -> dict[str, str]:
    """Our environment without what would make a component talk to somewhere else."""
    unwanted = {"KUBECONFIG", "GOMAXPROCS", "GODEBUG"}
    unwanted |= {name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")}
    return {name: value for name, value in os.environ.items() if name not in unwanted}
