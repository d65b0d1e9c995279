"""One component as a local process: start, wait until ready, stop, kill, pause, resume, restart.

A plain Popen that is polled, not asyncio's subprocess: that one kills its children when the loop is closed,
and a cluster that was brought up to stay must outlive us.
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
from typing import Any

from hintbound.protocol import ComponentKind, Seconds

_POLL: Seconds = 0.02
_REAP: Seconds = 0.005
_LOOK: Seconds = 0.1
_STOP_GRACE: Seconds = 3.0
_STANDS_WITHIN: Seconds = 5.0
_REAP_WITHIN: Seconds = 2.0
_TAIL_BYTES = 65536

Ready = Callable[[], Awaitable[bool]]
"""Asks once whether the component is ready; must not raise for a component that is not there yet."""
Listener = Callable[[str, Any, Mapping[str, object]], None]
"""Told of every turn in the life of a component, which has a `name`: started, ready, stopped, killed, paused,
resumed, exited."""


class ComponentDied(Exception):
    """A component ended, or was not ready in time: with its exit code and its last log lines."""

    def __init__(
        self, name: str, version: str, what: str, lines: Sequence[str], log: Path, program: str
    ) -> None:
        self.name = name
        self.version = version
        self.program = program
        self.lines = tuple(lines)
        shown = "\n".join(f"  {line}" for line in lines) or "  (its log is empty)"
        super().__init__(f"{name} {what}. The last lines of {log}:\n{shown}")


@dataclass(slots=True)
class Process:
    """A component's command and, while it runs, its process.

    `group` is the process group to join, see guard.py.
    """

    name: str
    kind: ComponentKind
    version: str
    command: Sequence[str]
    log: Path
    ready: Ready
    group: int
    env: Mapping[str, str] = field(default_factory=lambda: hermetic(os.environ))
    """All of its environment."""
    listener: Listener = lambda _event, _process, _facts: None
    _process: subprocess.Popen[bytes] | None = None
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

    @property
    def ended(self) -> bool:
        """Whether it was started and the process no longer exists."""
        return self._process is not None and self._process.poll() is not None

    @property
    def stands_still(self) -> bool:
        """Whether it runs and somebody, we or another, has stopped it (SIGSTOP)."""
        return self.running and hasattr(os, "waitid") and _stands_still(self.pid or 0)

    async def start(self) -> None:
        """Start the process; returns before it is ready. Raises ComponentDied when even that fails."""
        if self.running:
            raise RuntimeError(f"{self.name} runs already")
        self._unwatch()
        try:
            self._process = self._popen()
        except (OSError, subprocess.SubprocessError) as error:
            raise self._report(f"cannot be started: {error}") from error
        self._watcher = asyncio.create_task(self._watch(self._process), name=f"watch {self.name}")
        self._tell("started", pid=self._process.pid)

    def _popen(self) -> subprocess.Popen[bytes]:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            return subprocess.Popen(
                [*self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(self.env),
                process_group=self.group,
            )

    async def until_ready(self, timeout: Seconds) -> None:
        """Wait for readiness. Raises ComponentDied when it exits first or takes longer than `timeout`."""
        await self.until(timeout, self.ready, "was not ready")
        self._tell("ready")

    async def until(self, timeout: Seconds, holds: Ready, otherwise: str) -> None:
        """Wait for something that the running process must bring about; `otherwise`: what to say if not."""
        deadline = time.monotonic() + timeout
        while self.running:
            if await holds():
                return
            if time.monotonic() > deadline:
                raise self._report(f"{otherwise} within {timeout:g} s")
            await asyncio.sleep(_POLL)
        raise self.died()

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
        """SIGSTOP: it stands still, all of its threads, and keeps its connections. Raises ComponentDied."""
        process = self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + _STANDS_WITHIN
        while not _stands_still(process.pid):
            if process.poll() is not None:
                raise self.died()
            if time.monotonic() > deadline:
                raise self._report(f"did not stand still within {_STANDS_WITHIN:g} s")
            time.sleep(_REAP)
        self._tell("paused")

    def resume(self) -> None:
        """SIGCONT. Raises ComponentDied."""
        self._signal(signal.SIGCONT)
        self._tell("resumed")

    def tail(self, lines: int = 12) -> list[str]:
        """The last log lines of the current life, or those that say why it ended if much follows them."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            return _telling(log.read().decode(errors="replace").splitlines(), lines)
        return []

    def died(self) -> ComponentDied:
        """The report on a process that ended."""
        code = self._process.returncode if self._process else None
        how = (
            f"was ended by {signal.Signals(-code).name}"
            if code is not None and code < 0
            else f"exited with {code}"
        )
        return self._report(how)

    def _report(self, what: str) -> ComponentDied:
        return ComponentDied(self.name, self.version, what, self.tail(), self.log, self.command[0])

    def _signal(self, number: signal.Signals) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise self.died()
        self._process.send_signal(number)
        return self._process

    async def _end(self, number: signal.Signals, word: str) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            self.let_go()
            return
        self._unwatch()  # from here on its end is ours
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)  # a paused process acts on SIGTERM only once it runs again
        try:
            async with asyncio.timeout(_STOP_GRACE):
                await _ended(process, _REAP)
        except TimeoutError:
            process.kill()
            await _ended(process, _REAP)
        self._tell(word)

    def let_go(self) -> None:
        """Watch the process no longer. If it has ended by itself and that is untold, it is told now."""
        if self._watcher and self._process and self._process.poll() is not None:
            self._exited(self._process.returncode)
        self._unwatch()

    def reap(self) -> None:
        """Wait for a process that was killed, at most a moment: no zombie is left."""
        if self._process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_REAP_WITHIN)

    def _unwatch(self) -> None:
        if self._watcher:
            self._watcher.cancel()
            self._watcher = None

    async def _watch(self, process: subprocess.Popen[bytes]) -> None:
        code = await _ended(process, _LOOK)
        self._watcher = None
        self._exited(code)

    def _exited(self, code: int) -> None:
        self._tell("exited", code=code, log=self.tail())

    def _tell(self, event: str, **facts: object) -> None:
        self.listener(event, self, facts)


def _stands_still(pid: int) -> bool:
    """Whether a child of ours is stopped: a signal reaches its many threads only after some moments."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return True
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    return False


def _telling(log: Sequence[str], lines: int) -> list[str]:
    """Go programs print the stacks of all goroutines after a panic, and all flags after a wrong one."""
    for index, line in enumerate(log):
        if line.startswith(("panic:", "fatal error:")):
            return list(log[max(0, index - lines // 2) : index + lines // 2])
        if line.startswith("Usage:") and index:
            return list(log[:index][-lines:])
    return list(log[-lines:])


async def _ended(process: subprocess.Popen[bytes], every: Seconds) -> int:
    while (code := process.poll()) is None:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(every)
    return code


_KEPT = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "GOTRACEBACK")


def hermetic(environ: Mapping[str, str]) -> dict[str, str]:
    """What a control plane's component needs of our environment, and nothing else.

    Any flag of etcd, many settings of KWOK and client-go's gates can be set by variables; proxies lead away.
    """
    return {name: environ[name] for name in _KEPT if name in environ}
