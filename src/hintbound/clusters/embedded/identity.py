"""Which process it is: a pid alone may be somebody else's by now."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_STATE, _START = 0, 19
"""Where in /proc/PID/stat, counted after the command's name."""
_GONE = ("Z", "X")


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that can be told from any later one with the same pid."""

    pid: int
    birth: str
    """When it began, on a clock that nobody sets: a wall clock may be corrected while a cluster is up."""

    @classmethod
    def of(cls, pid: int) -> Self:
        """Take down a process that runs now. Raises ProcessLookupError."""
        birth = _birth(pid)
        if birth is None:
            raise ProcessLookupError(f"no process {pid} runs")
        return cls(pid, birth)

    @property
    def runs(self) -> bool:
        """Whether that very process still runs (or is stopped); a zombie does not."""
        return _birth(self.pid) == self.birth

    def kill(self) -> None:
        """SIGKILL, if it still runs. Raises PermissionError."""
        with contextlib.suppress(ProcessLookupError):
            handle = _handle(self.pid)
            try:
                # What runs now is what the handle stands for, and the handle never turns to another process.
                if self.runs:
                    _kill(self.pid, handle)
            finally:
                if handle is not None:
                    os.close(handle)


def _birth(pid: int) -> str | None:
    """None when no such process runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _birth_elsewhere(pid)
    # The name of the command comes before, in parentheses, and may hold anything.
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in _GONE else f"{_boot()}/{fields[_START]}"


def _boot() -> str:
    """Clock ticks since boot tell processes apart only within one boot."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _birth_elsewhere(pid: int) -> str | None:
    """Where there is no /proc."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return f"{process.create_time():.2f}"
    return None


def _handle(pid: int) -> int | None:
    """A file descriptor that stands for the process. Raises ProcessLookupError; None where there are none."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):
        return None


def _kill(pid: int, handle: int | None) -> None:
    if handle is None:
        os.kill(pid, signal.SIGKILL)
    else:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
