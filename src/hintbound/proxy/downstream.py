"""Connections of clients: requests read strictly, sent on at once where no rule is about them."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from hintbound.protocol import Seconds
from hintbound.proxy.asking import Waiting, send
from hintbound.proxy.body import Body
from hintbound.proxy.exchange import Exchange
from hintbound.proxy.http import (
    LARGEST_HEAD,
    LAST_CHUNK,
    BadMessage,
    Fields,
    Framing,
    Head,
    UntilClose,
    chunk,
    request_framing,
    without_hop,
)
from hintbound.proxy.messages import Answer, Request, Reset, phrase, status_answer
from hintbound.proxy.news import News
from hintbound.proxy.relay import Relay
from hintbound.proxy.target import Target, target
from hintbound.proxy.tunnel import Tunnel
from hintbound.proxy.upstream import Lost, Upstream

if TYPE_CHECKING:
    from hintbound.proxy.listener import FaultProxy

_ENOUGH: Final = 256 * 1024
"""Bytes that a client has sent ahead before no more is read of it."""
_LINGER_NOT: Final = struct.pack("ii", 1, 0)


class Downstream(asyncio.Protocol):
    """One client's connection. It is also the Sink of exchanges that no rule is about."""

    __slots__ = (
        *["_answering", "_began", "_body", "_buffer", "_fast", "_keep_alive", "_method", "_news", "_out"],
        *["_paused", "_proxy", "_status", "_target", "_task", "_tunnel", "since", "transport"],
    )

    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._buffer = b""
        self._body: Body | None = None
        self._task: asyncio.Task[None] | None = None
        self._fast: Upstream | None = None
        self._tunnel: Tunnel | None = None
        self._out: list[bytes] = []
        self._keep_alive = True
        self._paused = False
        self._news = News()
        self._method = ""
        self._target: Target | None = None
        self._status = 0
        self._began: Seconds = 0.0
        self._answering = False
        self.since: Seconds = time.monotonic()
        """When it last was heard of, or, amid a head, when that began."""
        self.transport: asyncio.Transport

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are like it, and no instances of it
        self._proxy.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """The client is gone: nobody wants the answer."""
        self._proxy.connections.discard(self)
        self._news.ring()
        if self._fast is not None:
            self._fast.abort()
            self._passed("the client went away")
        if self._task is not None:
            self._task.cancel()
        if self._tunnel is not None:
            self._tunnel.close()

    def pause_writing(self) -> None:
        """The client reads slowly."""
        self._paused = True
        upstream = self._fast or (self._tunnel.upstream if self._tunnel else None)
        if upstream is not None:
            upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._paused = False
        self._news.ring()
        upstream = self._fast or (self._tunnel.upstream if self._tunnel else None)
        if upstream is not None:
            upstream.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        if self._tunnel is not None:
            self._tunnel.up(data)
            return
        if self._body is not None:
            data = self._body.feed(data)
            if self._body.size > _ENOUGH:
                self.transport.pause_reading()
            if not self._body.framing.done:
                return
        if not self._buffer and not self.busy:
            self.since = time.monotonic()
        self._buffer = self._buffer + data if self._buffer else data
        if self.busy:
            if len(self._buffer) > _ENOUGH:
                self.transport.pause_reading()
        else:
            self._next()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self._task is not None or self._fast is not None

    @property
    def amid_head(self) -> bool:
        """Whether a head has begun and does not end."""
        return not self.busy and bool(self._buffer)

    def _next(self) -> None:
        """Begin with the next request, when its head is there."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > LARGEST_HEAD:
                self._refuse(BadMessage("the head is too large", 431))
            return
        raw, rest = self._buffer[:end], self._buffer[end + 4 :]
        self._buffer = b""
        try:
            if end > LARGEST_HEAD:
                raise BadMessage("the head is too large", 431)
            head, lines = self._proxy.heads.read(raw.lstrip(b"\r\n"))
            framing = request_framing(head)
        except BadMessage as error:
            self._refuse(error)
            return
        self._began = self.since = time.monotonic()
        self._keep_alive, self._method, self._answering = head.keep_alive, head.method, False
        if not self._proxy.lets_in(head.fields.get(b"authorization", b"")):
            self._buffer = rest
            self._keep_alive = False
            self._begin(self._answer(status_answer(401, message="the proxy does not know this token")))
            return
        about = self._target = target(head.method, head.path)
        if framing.done and about.verb != "watch" and not head.upgrade:
            self._buffer = rest
            if self._straight(head, lines, about):
                return
        if framing.done:
            self._buffer = rest
        else:
            expected = head.fields.get(b"expect", b"").lower() == b"100-continue"
            self._body = Body(self.transport, framing, expected=expected)
            self._buffer = self._body.feed(rest)
        self._begin(self._serve(head, lines, about, self._body))

    def _begin(self, work: Any) -> None:
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(self._done)

    # The straight way: no rule, no body, a connection at hand.

    def _straight(self, head: Head, lines: bytes, about: Target) -> bool:
        proxy = self._proxy
        if proxy.book.for_request(proxy.actor, about) or (
            about.verb in ("get", "list") and proxy.book.for_objects(proxy.actor, about)
        ):
            exchange = self._exchange(head, about)
            if exchange.seeing() or exchange.reading():
                return False
        upstream = proxy.pool.idle()
        if upstream is None:
            return False
        self._fast = upstream
        upstream.begin(head.method, proxy.pool.head(head.method, head.path, lines), self)
        return True

    def begun(self, upstream: Upstream, head: Head, framing: Framing, raw: bytes) -> None:
        """See Sink."""
        self._status, self._answering = head.status, True
        if isinstance(framing, UntilClose):
            self._keep_alive = False
        if b"connection" in head.fields or b"keep-alive" in head.fields or not self._keep_alive:
            raw = without_hop(head, raw) + (b"" if self._keep_alive else b"\r\nConnection: close")
        self._out += (raw, b"\r\n\r\n")

    def data(self, raw: bytes, pieces: list[bytes]) -> None:
        """See Sink."""
        self._out.append(raw)

    def ended(self) -> None:
        """See Sink."""
        self._fast = None
        self.flush()
        self._passed("")
        self._answered()

    def lost(self, why: str) -> None:
        """See Sink."""
        self._fast = None
        self._passed(why)
        self.reset()

    def flush(self) -> None:
        """See Sink."""
        if self._out:
            self.transport.write(b"".join(self._out))
            self._out.clear()

    def writable(self) -> None:
        """See Sink."""

    # The way past rules.

    async def _serve(self, head: Head, lines: bytes, about: Target, body: Body | None) -> None:
        exchange = self._exchange(head, about)
        try:
            if head.upgrade and body is not None:
                raise BadMessage("a request to speak another protocol has a body")
            if head.upgrade:
                await self._upgrade(head, lines, exchange)
                return
            seeing, reading = exchange.seeing(), exchange.reading()
            request = Request(head.method, head.path, Fields.of(lines))
            if body is not None and any(tally.rule.needs_body for tally in seeing):
                request.body = await body.whole()
            elif body is not None:
                length = head.fields.get(b"content-length")
                request.body, request.length = body.pieces(), None if length is None else int(length)
            answer = await exchange.run(request, seeing, reading)
            self._status = answer.status
            if body is not None and not await body.skip():
                self._keep_alive = False
            if about.verb == "watch" and answer.status == 200 and not isinstance(answer.body, bytes):
                await self._watch(exchange, answer)
            else:
                await self._answer(answer)
            self._passed("", exchange)
        except Reset:
            self._passed("reset", exchange)
            self.reset()
        except Lost as error:
            self._passed(str(error), exchange)
            self.reset()
        except BadMessage as error:
            self._passed(str(error), exchange)
            if self._answering:
                self.reset()
            else:
                self._keep_alive = False
                await self._answer(status_answer(error.status, message=str(error)))
        except (ConnectionError, asyncio.CancelledError):
            self._passed("the client went away", exchange)
            raise

    def _exchange(self, head: Head, about: Target) -> Exchange:
        proxy = self._proxy
        agent = head.fields.get(b"user-agent", b"").decode("latin-1")
        return Exchange(proxy.book, proxy.actor, about, head.path, agent, self._forward, proxy.later)

    async def _forward(self, request: Request) -> Answer:
        answer, _ = await send(self._proxy.pool, request)
        return answer

    async def _answer(self, answer: Answer) -> None:
        """Send an answer; its body whole, or as it comes."""
        length = len(answer.body) if isinstance(answer.body, bytes) else answer.length
        if self._method == "HEAD":
            length = answer.length
        bodiless = self._method == "HEAD" or answer.status in (204, 304)
        chunked = length is None and not bodiless
        self._head(answer, length=None if bodiless and not length else length, chunked=chunked)
        if isinstance(answer.body, bytes):
            self._out.append(answer.body if not bodiless else b"")
        else:
            async with aclosing(cast(Any, answer.body)) as pieces:
                async for piece in pieces:
                    self._out.append(chunk(piece) if chunked else piece)
                    self.flush()
                    await self.drain()
            if chunked:
                self._out.append(LAST_CHUNK)
        self.flush()
        await self.drain()

    async def _watch(self, exchange: Exchange, answer: Answer) -> None:
        self._head(answer, length=None, chunked=True)
        self.flush()
        exchange.tell = partial(self._proxy.acted, exchange.target)
        relay = Relay(
            exchange.book, self, target=exchange.target, path=exchange.path, user_agent=exchange.user_agent,
            act=exchange.act,
        )  # fmt: skip
        await relay.run(exchange.actor, answer)
        self.transport.write(LAST_CHUNK)

    def write(self, data: bytes) -> None:
        """Send an event: the relay's writer."""
        self.transport.write(chunk(data))

    async def drain(self) -> None:
        """Wait until the client has taken enough. Raises ConnectionError."""
        while self._paused and not self.transport.is_closing():
            await self._news.wait()
        if self.transport.is_closing():
            raise ConnectionResetError("the client went away")

    def _head(self, answer: Answer, *, length: int | None, chunked: bool) -> None:
        self._answering = True
        first = f"HTTP/1.1 {answer.status} {phrase(answer.status)}".encode()
        lines = [first, *answer.fields.lines]
        if length is not None:
            lines.append(b"Content-Length: %d" % length)
        if chunked:
            lines.append(b"Transfer-Encoding: chunked")
        if not self._keep_alive:
            lines.append(b"Connection: close")
        self._out.append(b"\r\n".join((*lines, b"", b"")))

    async def _upgrade(self, head: Head, lines: bytes, exchange: Exchange) -> None:
        request = Request(head.method, head.path, Fields.of(lines))
        upgraded: list[Waiting] = []

        async def forward(wanted: Request) -> Answer:
            answer, waiting = await send(self._proxy.pool, wanted, upgrade=head.upgrade)
            upgraded.append(waiting)
            return answer

        exchange.upstream = forward
        answer = await exchange.run(request, exchange.seeing(), [])
        self._status = answer.status
        upstream = upgraded[-1].upstream if upgraded else None
        if answer.status != 101 or upstream is None:
            self._keep_alive = False
            await self._answer(answer)
            self._passed("", exchange)
            return
        said = [b"HTTP/1.1 101 Switching Protocols", *answer.fields.lines, b"Connection: Upgrade"]
        said.append(b"Upgrade: " + upgraded[-1].upgrade)
        self.transport.write(b"\r\n".join((*said, b"", b"")))
        self._tunnel = Tunnel(self.transport, upstream)
        early, self._buffer = self._buffer, b""
        self._tunnel.up(early)
        await self._tunnel.over
        self._keep_alive = False
        self._passed("", exchange)

    # Ends.

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled() or self.transport.is_closing():
            self.transport.abort()
            return
        if (error := task.exception()) is not None:
            self.transport.abort()
            if not isinstance(error, ConnectionError):
                self._proxy.failed(error)
            return
        self._answered()

    def _answered(self) -> None:
        self._body = None
        self.since = time.monotonic()
        if not self._keep_alive:
            self.transport.close()
            return
        self.transport.resume_reading()
        if self._buffer:
            self._next()

    def _passed(self, error: str, exchange: Exchange | None = None) -> None:
        if self._proxy.witness is not None and self._target is not None:
            self._proxy.tell(self._method, self._target, self._status, self._began, error, exchange)
            if exchange is not None:  # what still comes of it: a replay
                exchange.tell = partial(self._proxy.acted, exchange.target)

    def _refuse(self, error: BadMessage) -> None:
        self._keep_alive, self._method = False, "GET"
        self._buffer = b""
        self.transport.pause_reading()
        self._begin(self._answer(status_answer(error.status, message=f"bad request: {error}")))

    def reset(self) -> None:
        """Break the connection off, so that the client sees a reset and no orderly end."""
        raw = self.transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        self._keep_alive = False
        self.transport.abort()
