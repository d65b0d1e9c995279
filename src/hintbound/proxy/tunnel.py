"""Connections that speak another protocol from here on (exec, port-forward): bytes both ways, unread."""

from __future__ import annotations

import asyncio

from hintbound.proxy.http import Framing, Head
from hintbound.proxy.upstream import Upstream


class Tunnel:
    """A client's and an apiserver's connection joined. A Sink of what the apiserver sends."""

    def __init__(self, client: asyncio.Transport, upstream: Upstream) -> None:
        self.upstream = upstream
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when one side has closed."""
        self._client = client
        if early := upstream.take_over(self):
            client.write(early)

    def up(self, data: bytes) -> None:
        """What the client sends."""
        if data:
            self.upstream.transport.write(data)
        if self.upstream.blocked:
            self._client.pause_reading()

    def close(self) -> None:
        """The client is gone."""
        self.upstream.transport.close()
        self._end()

    def begun(self, upstream: Upstream, head: Head, framing: Framing, raw: bytes) -> None:
        """See Sink."""

    def data(self, raw: bytes, pieces: list[bytes]) -> None:
        """See Sink."""
        self._client.write(raw)

    def ended(self) -> None:
        """See Sink."""
        self._end()

    def lost(self, why: str) -> None:
        """See Sink."""
        self._client.abort()
        self._end()

    def flush(self) -> None:
        """See Sink."""

    def writable(self) -> None:
        """See Sink."""
        self._client.resume_reading()

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
