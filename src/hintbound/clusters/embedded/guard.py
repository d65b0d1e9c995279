"""No orphans, whatever happens to us: a process group with a guard that ends it when we are gone.

The guard is a shell that leads a process group and reads from a pipe that only we hold. Every component is started
inside that group. When we end in any way, SIGKILL included, the kernel closes the pipe, the shell's `read` returns and
it kills its whole group, itself included. There is no window: a child still holds its copy of the pipe until its exec,
and it has joined the group before that.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

_WATCH = "read -r _; kill -KILL 0"


class Guard:
    """Leads the process group `group` until `release`."""

    def __init__(self) -> None:
        reader, self._pipe = os.pipe()
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH],
            stdin=reader,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        os.close(reader)
        self.group = self._shell.pid

    def release(self) -> None:
        """End the guard and with it whatever is left of its group. May be called twice."""
        if self._pipe >= 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.group, 9)
            os.close(self._pipe)
            self._pipe = -1
            self._shell.wait()
