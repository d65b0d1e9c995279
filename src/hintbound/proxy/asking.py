"""Asking the apiserver for somebody who awaits the answer; bodies go both ways as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from hintbound.protocol import Seconds
from hintbound.proxy.http import Fields, Framing, Head
from hintbound.proxy.messages import Answer, Request
from hintbound.proxy.news import News
from hintbound.proxy.upstream import Lost, Pool, Upstream

_ENOUGH: Final = 256 * 1024
"""Bytes of an answer that wait for a reader before no more is taken from the apiserver."""


class Waiting:
    """A Sink for whoever awaits an answer."""

    __slots__ = ("_arrived", "_ended", "_lost", "_news", "_pieces", "_size", "head", "upgrade", "upstream")

    def __init__(self) -> None:
        self.head: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.upstream: Upstream | None = None
        self.upgrade = b""
        """The protocol that the apiserver has switched to."""
        self._pieces: list[tuple[Seconds, bytes]] = []
        self._arrived: Seconds = 0.0
        self._size = 0
        self._ended = False
        self._lost = ""
        self._news = News()

    def begun(self, upstream: Upstream, head: Head, framing: Framing, raw: bytes) -> None:
        """See Sink."""
        self.upstream, self.upgrade = upstream, head.upgrade
        length = head.fields.get(b"content-length")
        answer = Answer(
            head.status,
            Fields(head.end_to_end()),
            self._body(),
            length=None if length is None else int(length),
            give_up=self.give_up,
            arrived=lambda: self._arrived,
        )
        if not self.head.done():
            self.head.set_result(answer)

    def data(self, raw: bytes, pieces: list[bytes]) -> None:
        """See Sink."""
        now = time.monotonic()
        self._pieces += [(now, piece) for piece in pieces]
        self._size += sum(map(len, pieces))
        if self._size > _ENOUGH and self.upstream is not None:
            self.upstream.transport.pause_reading()
        self._news.ring()

    def ended(self) -> None:
        """See Sink."""
        self._ended, self.upstream = True, None
        self._news.ring()

    def lost(self, why: str) -> None:
        """See Sink."""
        self._lost, self.upstream = why, None
        if not self.head.done():
            self.head.set_exception(Lost(why))
            self.head.exception()  # seen: who sends may have given up meanwhile
        self._news.ring()

    def flush(self) -> None:
        """See Sink."""

    def writable(self) -> None:
        """See Sink."""
        self._news.ring()

    def give_up(self) -> None:
        """Nobody wants the rest."""
        upstream, self.upstream, self._ended = self.upstream, None, True
        if upstream is not None:
            upstream.abort()
        self._news.ring()

    async def until_writable(self, upstream: Upstream) -> None:
        """Wait while the apiserver reads slowly, but no longer than it has not answered."""
        while upstream.blocked and not self.head.done():
            await self._news.wait()

    async def _body(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces:
                self._arrived, piece = self._pieces.pop(0)
                self._size -= len(piece)
                yield piece
            if self._lost:
                raise Lost(self._lost)
            if self._ended:
                return
            if self.upstream is not None:
                self.upstream.transport.resume_reading()
            await self._news.wait()


async def send(pool: Pool, request: Request, *, upgrade: bytes = b"") -> tuple[Answer, Waiting]:
    """Send a request and wait for its answer's head. Raises Lost."""
    upstream = await pool.acquire(fresh=bool(upgrade))
    waiting = Waiting()
    waiting.upstream = upstream
    try:
        await _sent(pool, upstream, request, upgrade, waiting)
        return await waiting.head, waiting
    except BaseException:
        waiting.give_up()
        raise


async def _sent(pool: Pool, upstream: Upstream, request: Request, upgrade: bytes, waiting: Waiting) -> None:
    own = [b"Connection: Upgrade", b"Upgrade: " + upgrade] if upgrade else []
    whole = isinstance(request.body, bytes)
    length = len(request.body) if isinstance(request.body, bytes) else request.length
    if length or request.method in ("POST", "PUT", "PATCH"):
        own.append(b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length)
    elif not whole and length is None:
        own.append(b"Transfer-Encoding: chunked")
    head = pool.head(request.method, request.path, b"\r\n".join(request.fields.lines), *own)
    if isinstance(request.body, bytes):
        upstream.begin(request.method, head + request.body, waiting)
        return
    upstream.begin(request.method, head, waiting, whole=False)
    async for piece in request.body:
        if waiting.head.done():  # answered before it has heard all
            return
        upstream.transport.write(piece if length is not None else b"%x\r\n%b\r\n" % (len(piece), piece))
        await waiting.until_writable(upstream)
    if length is None:
        upstream.transport.write(b"0\r\n\r\n")
    upstream.sent()
