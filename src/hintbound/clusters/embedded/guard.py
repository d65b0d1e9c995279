"""No orphans, whatever happens to us: a process group, and a guard outside that ends it when we are gone.

The guard is a shell that reads from a pipe which only we hold. Every component is started inside the group.
When we end in any way, SIGKILL included, the kernel closes the pipe, the guard's `read` returns and it
kills the group, again and again until the group is empty: a child that was just being started may join it
late, or finds no group to join and gives up.

A cluster that shall outlive us is guarded too, until it is complete: then `disarm` sends the guard home.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Final

_LEAD: Final = "read -r _"
_WATCH: Final = """
read -r word
[ "$word" = disarm ] && exit
left=100
while kill -s KILL -- -{group} && [ $left -gt 0 ]; do
  left=$((left - 1))
  sleep 0.05
done
"""
"""Bounded, because a group with zombies that nobody reaps is never empty."""


class Guard:
    """Has the process group `group` until `release` or `disarm`."""

    def __init__(self) -> None:
        self._leader, self._life = shell_outside(_LEAD)
        self.group = self._leader.pid
        try:
            self._watcher, self._pipe = shell_outside(_WATCH.format(group=self.group))
        except BaseException:
            os.close(self._life)
            self._leader.wait()
            raise
        self._on_duty = True

    def release(self) -> None:
        """End whatever is in the group, at once. May be called twice, also after `disarm`."""
        if not self._on_duty:
            return
        # The leader is not reaped before this, so the number of its group cannot have gone to somebody else.
        # PermissionError: macOS' word for a group of which only zombies are left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)
        self.disarm()

    def disarm(self) -> None:
        """Send the guard home: the group goes on without it, and without us."""
        if self._on_duty:
            self._on_duty = False
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, b"disarm\n")
            for pipe in (self._pipe, self._life):
                os.close(pipe)
            self._watcher.wait()
            self._leader.wait()


def shell_outside(script: str) -> tuple[subprocess.Popen[bytes], int]:
    """A shell in a group of its own, and the pipe that it reads from."""
    reader, writer = os.pipe()
    try:
        shell = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdin=reader,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except BaseException:
        os.close(writer)
        raise
    finally:
        os.close(reader)
    return shell, writer
