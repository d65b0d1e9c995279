"""No container or network is left, whatever happens to us: a shell outside removes them when we are gone.

As the guard of local processes (see embedded/guard.py) it reads from a pipe that only we hold.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

from hintbound.clusters.embedded.guard import shell_outside
from hintbound.clusters.kind.docker import CLUSTER_LABEL

_SCRIPT: Final = """
read -r word
[ "$word" = keep ] && exit
look=15
[ "$word" = clean ] && look=1
tries=100
while [ $look -gt 0 ] && [ $tries -gt 0 ]; do
  nodes=$(docker ps --all --quiet --filter label={label}={cluster}) || exit
  if [ -n "$nodes" ]; then
    docker rm --force --volumes $nodes
  else
    look=$((look - 1))
    [ $look -gt 0 ] && sleep 0.2
  fi
  tries=$((tries - 1))
done
docker network rm {cluster}
"""
"""Looks again for three seconds where kind was broken off: the engine may still be making one more node."""


class Janitor:
    """Of one kind cluster, until `clean` or `keep`."""

    def __init__(self, cluster: str) -> None:
        script = _SCRIPT.format(label=CLUSTER_LABEL, cluster=cluster)
        self._shell, self._pipe = shell_outside(script)
        self._on_duty = True

    def clean(self, *, complete: bool) -> None:
        """Remove them now, and wait until that is done; `complete`: no more can come. May be called twice."""
        self._dismiss("clean" if complete else "broken off")

    def keep(self) -> None:
        """Go home; the containers stay."""
        self._dismiss("keep")

    def _dismiss(self, word: str) -> None:
        if self._on_duty:
            self._on_duty = False
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, f"{word}\n".encode())
            os.close(self._pipe)
            self._shell.wait()
