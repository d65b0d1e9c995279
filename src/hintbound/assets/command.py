"""Runs a long command on a leash: its output line by line, its whole process group gone with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hintbound.protocol import Seconds

_LEASH: Final = Path(__file__).with_name("leash.py")
_KEPT_LINES: Final = 200
_GONE_WITHIN: Final[Seconds] = 3


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `lines` are the last of its stdout and stderr."""

    code: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The kept output as one text."""
        return "\n".join(self.lines)


def run(
    command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], on_line: Callable[[str], None]
) -> Ended:
    """Run until it ends. An exception here (Ctrl-C too) kills the command and all its children first."""
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", _LEASH, *command],
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.rstrip())
                on_line(line.rstrip())
            return Ended(process.wait(), tuple(lines))
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the group and wait until it is gone: its folder is about to be removed."""
    deadline = time.monotonic() + _GONE_WITHIN
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        process.poll()
        time.sleep(0.02)
