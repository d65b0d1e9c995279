"""Ports that nobody can take between choosing and listening.

A socket with SO_REUSEPORT is bound and kept, never listened on; the component binds the same port with the
same option (`--permit-port-sharing` of Kubernetes' components, `--socket-reuse-port` of etcd). The port
stays ours over restarts of the component, and a socket that does not listen is never given a connection.

SO_REUSEPORT would let another hintbound of the same user hold the same port; a claim, an abstract Unix
socket named after the port, tells them apart. The kernel drops it with the process.
"""

from __future__ import annotations

import errno
import socket
import sys
from typing import Final

from hintbound.errors import CannotStart

LOOPBACK: Final = "127.0.0.1"
_TAKEN: Final = (errno.EADDRINUSE, errno.EACCES)
_TRIES: Final = 5


class HeldPort:
    """One TCP port on loopback, held until `release`. `number=0` lets the kernel choose.

    Raises CannotStart when the wanted number is taken, OSError when the kernel gives none.
    """

    def __init__(self, number: int = 0) -> None:
        self._socket, self._claim = _wanted(number) if number else _any()
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        """Let the port go; what listens on it goes on listening. May be called twice."""
        self._socket.close()
        if self._claim:
            self._claim.close()


def _wanted(number: int) -> tuple[socket.socket, socket.socket | None]:
    try:
        # Two listeners that both share a port would split its connections.
        if not _answers(number):
            return _hold(number)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
    raise CannotStart(
        f"port {number} on {LOOPBACK} is taken.", next_step="Choose another, or 0 for any free one."
    )


def _any() -> tuple[socket.socket, socket.socket | None]:
    """The kernel never chooses a bound port, but somebody who wants that very one may claim it first."""
    for _ in range(_TRIES - 1):
        try:
            return _hold(0)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _hold(0)


def _hold(number: int) -> tuple[socket.socket, socket.socket | None]:
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind((LOOPBACK, number))
        return holder, _claimed(holder.getsockname()[1])
    except BaseException:
        holder.close()
        raise


def _claimed(number: int) -> socket.socket | None:
    """None where there are no abstract sockets. Raises OSError when another process has claimed the port."""
    if sys.platform != "linux":
        return None
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0hintbound-port-{number}")
    except BaseException:
        claim.close()
        raise
    return claim


def _answers(number: int) -> bool:
    """Whether someone listens there already."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((LOOPBACK, number)) == 0
