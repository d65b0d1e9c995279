"""Ports that nobody can take between choosing and listening.

A socket with SO_REUSEPORT is bound and kept, never listened on; the component binds the same port with the same option
(`--permit-port-sharing` of Kubernetes' components, `--socket-reuse-port` of etcd). The port stays ours over restarts of
the component, and a socket that does not listen is never given a connection.
"""

from __future__ import annotations

import errno
import socket

from hintbound.errors import CannotStart

LOOPBACK = "127.0.0.1"


class HeldPort:
    """One TCP port on loopback, held until `release`. `number=0` lets the kernel choose.

    Raises CannotStart when the wanted number is taken.
    """

    def __init__(self, number: int = 0) -> None:
        if number and _answers(number):
            raise _busy(number)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            self._socket.bind((LOOPBACK, number))
        except OSError as error:
            self._socket.close()
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise _busy(number) from error
            raise
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        """Let the port go; what listens on it goes on listening."""
        self._socket.close()


def _answers(number: int) -> bool:
    """Whether someone listens there already: two listeners that both share a port would split its connections."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((LOOPBACK, number)) == 0


def _busy(number: int) -> CannotStart:
    return CannotStart(f"port {number} on {LOOPBACK} is taken.", next_step="Choose another, or 0 for any free one.")
