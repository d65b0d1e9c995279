"""Connections to the apiserver: kept alive, one exchange at a time on each, with back-pressure both ways."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

from hintbound.errors import CannotStart
from hintbound.kube import Connection
from hintbound.protocol import Seconds
from hintbound.proxy.http import (
    LARGEST_HEAD,
    BadMessage,
    Framing,
    Head,
    UntilClose,
    answer_framing,
    answer_head,
)
from hintbound.proxy.tls import Tls

_CONNECT_LIMIT: Final[Seconds] = 10.0
_IDLE_LIMIT: Final[Seconds] = 60.0
"""A connection that was not used for longer is closed: the other side may have forgotten it."""
_TRUSTED_FOR: Final[Seconds] = 5.0
"""So long the headers that prove who asks are used again without asking for them."""


class Lost(Exception):
    """The connection to the apiserver is gone, or could not be made, before its answer was whole."""


class Sink(Protocol):
    """Who takes an answer as it comes."""

    def begun(self, upstream: Upstream, head: Head, framing: Framing, raw: bytes) -> None:
        """Its head is there."""

    def data(self, raw: bytes, pieces: list[bytes]) -> None:
        """More of its body: as it came, and the body's own bytes in it."""

    def ended(self) -> None:
        """It is whole. The connection is no longer ours."""

    def lost(self, why: str) -> None:
        """It will never be whole."""

    def flush(self) -> None:
        """No more has come for now."""

    def writable(self) -> None:
        """What was written to the connection has left."""


class Upstream(asyncio.Protocol):
    """One connection."""

    __slots__ = (
        "_buffer",
        "_framing",
        "_method",
        "_pool",
        "_reusable",
        "_sending",
        "_sink",
        "blocked",
        "idle_since",
        "transport",
    )

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sink: Sink | None = None
        self._framing: Framing | None = None
        self._method = ""
        self._buffer = b""
        self._reusable = True
        self._sending = False
        self.blocked = False
        """Whether more is written than has left."""
        self.idle_since: Seconds = 0.0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are like it, and no instances of it

    def begin(self, method: str, data: bytes, sink: Sink, *, whole: bool = True) -> None:
        """Send a request's head, with its body or, where it is not `whole`, the beginning of it."""
        self._sink, self._method, self._framing, self._sending = sink, method, None, not whole
        self.transport.write(data)

    def sent(self) -> None:
        """The request is whole now. Answered before that, the connection cannot be used again: the next one
        would be taken for what is missing of the body."""
        self._sending = False

    def take_over(self, sink: Sink) -> bytes:
        """Let somebody else have what comes from now on, unread: a tunnel. Gives what came already."""
        self._sink, self._framing, self._reusable = sink, UntilClose(), False
        rest, self._buffer = self._buffer, b""
        self.transport.resume_reading()
        return rest

    def abort(self) -> None:
        """Break it off."""
        self._sink = None
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """More of the answer."""
        sink = self._sink
        if sink is None:  # nobody asked
            self.transport.abort()
            return
        try:
            self._take(data, sink)
        except BadMessage as error:
            self._fail(f"its answer is no HTTP: {error}")
            self.transport.abort()
            return
        sink.flush()

    def _take(self, data: bytes, sink: Sink) -> None:
        framing = self._framing
        if framing is None:
            data = self._buffer + data if self._buffer else data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > LARGEST_HEAD:
                    raise BadMessage("its head does not end")
                self._buffer = data
                return
            raw, data, self._buffer = data[:end], data[end + 4 :], b""
            head = answer_head(raw)
            if head.status < 200 and head.status != 101:
                if data:
                    self._take(data, sink)
                return
            framing = self._framing = (
                UntilClose() if head.status == 101 else answer_framing(head, self._method)
            )
            self._reusable = self._reusable and head.keep_alive and head.status != 101
            if head.status == 101:  # what comes now is for whoever takes over
                self._buffer, data = data, b""
                self.transport.pause_reading()
            sink.begun(self, head, framing, raw)
        if data and not framing.done:
            pieces, used = framing.feed(data)
            sink.data(data if used == len(data) else data[:used], pieces)
            data = data[used:]
        if framing.done:
            self._reusable = self._reusable and not data and not self._sending
            self._sink = self._framing = None
            self._pool.release(self, reusable=self._reusable)
            sink.ended()

    def eof_received(self) -> None:
        """The apiserver closed it."""
        self.connection_lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        """It is gone."""
        self._pool.forget(self)
        if isinstance(self._framing, UntilClose) and error is None and (sink := self._sink) is not None:
            self._sink = None
            sink.ended()
            sink.flush()
        else:
            self._fail(f"the connection to the apiserver was lost{f': {error}' if error else ''}")

    def _fail(self, why: str) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.lost(why)

    def pause_writing(self) -> None:
        """The apiserver reads slowly."""
        self.blocked = True

    def resume_writing(self) -> None:
        """It has caught up."""
        self.blocked = False
        if self._sink is not None:
            self._sink.writable()


class Pool:
    """All connections of one identity to one apiserver."""

    def __init__(self, connection: Connection) -> None:
        parts = urlsplit(connection.server)
        if connection.proxy is not None:
            raise CannotStart(
                f"{connection.server} is reached through the HTTP proxy {connection.proxy}.",
                next_step="This proxy cannot go through another: name an apiserver that is reached directly.",
            )
        self._connection = connection
        self._tls: ssl.SSLContext | None = connection.tls
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._prefix = parts.path
        self._host_line = b"Host: " + parts.netloc.encode()
        self._idle: deque[Upstream] = deque()
        self._all: set[Upstream] = set()
        self._proof: list[bytes] = []
        self._proof_until: Seconds = 0.0 if connection.credentials else float("inf")
        self.provides_identity = connection.credentials is not None

    @property
    def server(self) -> str:
        """Its URL."""
        return self._connection.server

    def idle(self) -> Upstream | None:
        """A connection that is there and free, when also who asks can be proven at once."""
        if time.monotonic() >= self._proof_until:
            return None
        while self._idle:
            upstream = self._idle.pop()
            if not upstream.transport.is_closing():
                return upstream
        return None

    async def acquire(self, *, fresh: bool = False) -> Upstream:
        """A free connection, made if need be; `fresh`: one that was not used yet. Raises Lost."""
        await self._prove()
        if not fresh and (upstream := self.idle()) is not None:
            return upstream
        try:
            async with asyncio.timeout(_CONNECT_LIMIT):
                upstream = await self._connected()
        except ssl.SSLCertVerificationError as error:
            raise Lost(f"the certificate of {self.server} does not verify: {error.verify_message}") from error
        except OSError as error:  # TimeoutError is one, too
            raise Lost(f"no connection to {self.server}: {error or 'it took too long'}") from error
        self._all.add(upstream)
        return upstream

    async def _connected(self) -> Upstream:
        """Raises OSError, SSLError among them."""
        loop, upstream = asyncio.get_running_loop(), Upstream(self)
        if self._tls is None:
            await loop.create_connection(lambda: upstream, self._host, self._port)
            return upstream
        ready = loop.create_future()
        tls = Tls(
            upstream,
            self._tls,
            server_side=False,
            server_hostname=self._connection.server_name or self._host,
            ready=ready,
        )
        raw, _ = await loop.create_connection(lambda: tls, self._host, self._port)
        try:
            await ready
        except asyncio.CancelledError:
            raw.abort()
            raise
        return upstream

    async def _prove(self) -> None:
        if self._connection.credentials is None or time.monotonic() < self._proof_until:
            return
        try:
            headers = await self._connection.credentials()
        except CannotStart as error:
            raise Lost(f"no credentials for {self.server}: {error}") from error
        self._proof = [f"{name}: {value}".encode("latin-1") for name, value in headers.items()]
        self._proof_until = time.monotonic() + _TRUSTED_FOR

    def release(self, upstream: Upstream, *, reusable: bool) -> None:
        """It is free again."""
        if not reusable or upstream.transport.is_closing():
            upstream.transport.close()
            return
        upstream.transport.resume_reading()
        now = upstream.idle_since = time.monotonic()
        self._idle.append(upstream)
        if now - self._idle[0].idle_since > _IDLE_LIMIT:
            self._idle.popleft().transport.close()

    def forget(self, upstream: Upstream) -> None:
        """It is closed."""
        self._all.discard(upstream)
        if upstream in self._idle:
            self._idle.remove(upstream)

    def close(self) -> None:
        """Break off all of them."""
        for upstream in tuple(self._all):
            upstream.abort()

    def head(self, method: str, path: str, lines: bytes, *own: bytes) -> bytes:
        """A request's head, its empty line included; `lines` are fields, joined."""
        first = f"{method} {self._prefix}{path} HTTP/1.1".encode("latin-1")
        return b"\r\n".join(
            (first, self._host_line, *((lines,) if lines else ()), *self._proof, *own, b"", b"")
        )
