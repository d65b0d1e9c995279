"""No orphans, whatever happens to us: a process group with a guard that ends it when we are gone.

The guard is a shell that leads a process group and reads from a pipe that only we hold. Every component is
started inside that group. When we end in any way, SIGKILL included, the kernel closes the pipe, the shell's
`read` returns and it kills its whole group, itself included. There is no window: a child still holds its copy of
the pipe until its exec, and it has joined the group before that.

A cluster that shall outlive us is guarded too, until it is complete: then `disarm` sends the guard home.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

_WATCH = 'read -r word; [ "$word" = disarm ] || kill -KILL 0'


class Guard:
    """Leads the process group `group` until `release` or `disarm`."""

    def __init__(self) -> None:
        reader, self._pipe = os.pipe()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH],
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(reader)
        self.group = self._shell.pid

    def release(self) -> None:
        """End the guard and with it whatever is left of its group. May be called twice, also after `disarm`."""
        if self._pipe < 0:
            return
        # The shell is not reaped before this, so the number of its group cannot have gone to somebody else.
        # PermissionError: macOS' word for a group of which only zombies are left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)
        self._go()

    def disarm(self) -> None:
        """Send the guard home: its group goes on without it, and without us."""
        if self._pipe >= 0:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, b"disarm\n")
            self._go()

    def _go(self) -> None:
        os.close(self._pipe)
        self._pipe = -1
        self._shell.wait()
