"""A request's body as it comes from a client, taken no faster than somebody wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from hintbound.proxy.http import BadMessage, Framing
from hintbound.proxy.news import News

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a body that a rule may need whole; the apiserver takes 3 MiB."""
_SKIPPED: Final = 1024 * 1024
"""Bytes that nobody wants and that are taken all the same, so that the connection can be used again."""
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Body:
    """One body that is not empty."""

    __slots__ = ("_expected", "_news", "_pieces", "_transport", "broken", "framing", "size")

    def __init__(self, transport: asyncio.Transport, framing: Framing, *, expected: bool) -> None:
        """`expected`: the client waits for 100 Continue before it sends it."""
        self.framing = framing
        self.size = 0
        """Bytes that are here and were not taken yet."""
        self.broken: BadMessage | None = None
        self._transport = transport
        self._expected = expected
        self._pieces: list[bytes] = []
        self._news = News()

    def feed(self, data: bytes) -> bytes:
        """Take what belongs to it; gives the rest."""
        try:
            pieces, used = self.framing.feed(data)
        except BadMessage as error:
            self.broken = error
            self._news.ring()
            return b""
        self._pieces += pieces
        self.size += sum(map(len, pieces))
        self._news.ring()
        return data[used:]

    async def pieces(self) -> AsyncIterator[bytes]:
        """What is left of it. Raises BadMessage."""
        if self._expected and not self.framing.done and not self._pieces:
            self._transport.write(_CONTINUE)
        self._expected = False
        while True:
            while self._pieces:
                piece = self._pieces.pop(0)
                self.size -= len(piece)
                yield piece
            if self.broken is not None:
                raise self.broken
            if self.framing.done:
                return
            self._transport.resume_reading()
            await self._news.wait()

    async def whole(self) -> bytes:
        """All of it at once. Raises BadMessage, also when it is too large."""
        found: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            found.append(piece)
            size += len(piece)
            if size > LARGEST:
                raise BadMessage(f"the body has more than {LARGEST} bytes", 413)
        return b"".join(found)

    async def skip(self) -> bool:
        """Take what nobody wanted; whether it ends soon enough. Raises BadMessage."""
        if self._expected and not self.framing.done:
            return False
        size = 0
        async for piece in self.pieces():
            size += len(piece)
            if size > _SKIPPED:
                return False
        return True
