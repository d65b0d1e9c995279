"""TLS over a plain transport: what asyncio has for it, in a tenth of its memory and half of its time.

asyncio's own keeps 256 KiB for each connection, and a watch is two connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Any, Final, cast

from hintbound.protocol import Seconds

_HANDSHAKE_LIMIT: Final[Seconds] = 15.0
_QUIET: Final = 30
"""Seconds of silence before the other side is asked whether it is there."""
_RECORD: Final = 16 * 1024
"""Bytes that are asked for at once: no record has more, and the ssl module sets so much aside first."""
_SLICE: Final = 16 * 1024
"""Bytes that are given to OpenSSL at once."""


def keep_alive(transport: asyncio.Transport) -> None:
    """Have the kernel notice that the other side vanished without a word."""
    raw = transport.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _QUIET)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _QUIET // 3)


class Tls(asyncio.Protocol):
    """The protocol of a plain transport, and the transport of the protocol that it serves (`app`).

    `app` hears of the connection when the handshake is done. `ready` comes true then, or has why it failed.
    """

    __slots__ = (
        "_app",
        "_broken",
        "_closing",
        "_ended",
        "_in",
        "_late",
        "_out",
        "_paused",
        "_pieces",
        "_raw",
        "_ready",
        "_shaken",
        "_ssl",
    )

    def __init__(
        self,
        app: asyncio.Protocol,
        context: ssl.SSLContext,
        *,
        server_side: bool,
        server_hostname: str | None = None,
        ready: asyncio.Future[None] | None = None,
    ) -> None:
        self._app = app
        self._ready = ready
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._in, self._out, server_side, server_hostname)
        self._pieces: list[bytes] = []
        self._shaken = self._paused = self._closing = self._ended = self._broken = False
        self._late: asyncio.TimerHandle | None = None
        self._raw: asyncio.Transport

    # The plain transport's protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        self._raw = cast(asyncio.Transport, transport)
        keep_alive(self._raw)
        self._late = asyncio.get_running_loop().call_later(_HANDSHAKE_LIMIT, self._raw.abort)
        self._shake()

    def data_received(self, data: bytes) -> None:
        """More of the handshake, or of what the other side says."""
        if len(data) <= _SLICE:
            self._in.write(data)
        else:  # by and by: OpenSSL never gives back what its buffer once needed
            for at in range(0, len(data), _SLICE):
                self._in.write(data[at : at + _SLICE])
                if self._shaken and not self._paused:
                    self._read()
        if not self._shaken:
            self._shake()
        elif not self._paused:
            self._pump()

    def eof_received(self) -> None:
        """The other side is gone; what it said before still counts."""
        if self._shaken and not self._paused:
            self._pump()

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        if self._late is not None:
            self._late.cancel()
        if not self._shaken:
            self._fail(error or ConnectionResetError("the connection was closed amid the handshake"))
            return
        if error is None and not self._ended and not self._closing:
            error = ConnectionResetError("it was closed without a farewell")
        self._app.connection_lost(error)

    def pause_writing(self) -> None:
        """The other side reads slowly."""
        if self._shaken:
            self._app.pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._shaken:
            self._app.resume_writing()

    # The transport of what it serves.

    def write(self, data: bytes) -> None:
        """Send; nothing after the end."""
        if self._closing or not data:
            return
        sent = self._ssl.write(data)
        if sent < len(data):
            rest = memoryview(data)[sent:]
            while rest:
                rest = rest[self._ssl.write(rest) :]
        self._raw.write(self._out.read())

    def close(self) -> None:
        """Say farewell when all is sent."""
        if self._closing:
            return
        self._closing = True
        with contextlib.suppress(ssl.SSLError):  # the other side has not said its own yet, and need not
            self._ssl.unwrap()
        self._flush()
        self._raw.close()

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        self._raw.abort()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._closing or self._raw.is_closing()

    def pause_reading(self) -> None:
        """Take no more from the other side for now."""
        if not self._paused and not self._closing:
            self._paused = True
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        """Take more again."""
        if self._paused and not self._closing:
            self._paused = False
            self._raw.resume_reading()
            # Not now: who resumes may be amid something.
            asyncio.get_running_loop().call_soon(self._again)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As the plain transport knows it."""
        return self._raw.get_extra_info(name, default)

    def _again(self) -> None:
        if not self._paused and not self._closing:
            self._pump()

    def _shake(self) -> None:
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except (ssl.SSLError, ValueError) as error:
            self._flush()  # tells the other side why
            self._fail(error)
            self._raw.close()
            return
        self._shaken = True
        self._flush()
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self._app.connection_made(cast(asyncio.Transport, self))
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)
        if not self._paused:
            self._pump()

    def _pump(self) -> None:
        """Give what came to whom it is for."""
        self._read()
        if self._out.pending:
            self._flush()
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            self._app.data_received(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if self._broken:
            self.abort()
        elif self._ended and not self._closing:
            self._app.eof_received()
            self.close()

    def _read(self) -> None:
        """Take what is whole out of the records that came."""
        while (self._in.pending or self._ssl.pending()) and not self._ended and not self._broken:
            try:
                piece = self._ssl.read(_RECORD)
            except ssl.SSLWantReadError:
                return
            except ssl.SSLZeroReturnError:
                piece = b""
            except ssl.SSLError:
                self._broken = True
                return
            if piece:
                self._pieces.append(piece)
            else:
                self._ended = True

    def _flush(self) -> None:
        if self._out.pending:
            self._raw.write(self._out.read())

    def _fail(self, error: BaseException) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(error)
