"""A watch: the apiserver's stream of changes, line by line, whatever the network did to the lines."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import aiohttp
import orjson

from hintbound.kube.errors import (
    ApiError,
    ConnectionLost,
    KubeError,
    WatchInactive,
    from_status,
)
from hintbound.kube.exchange import Json
from hintbound.kube.wire import Exchange
from hintbound.protocol import Seconds

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR (then `object` is a Status)."""
    object: Json
    raw: bytes
    """The line as it came, without its end."""


class Lines:
    """Cuts a byte stream into lines: any length, cut anywhere. Each byte is copied at most twice."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes."""
        first, *rest = chunk.split(b"\n")
        self._begun.append(first)
        if not rest:
            return []
        *whole, last = [b"".join(self._begun), *rest]
        self._begun = [last]
        return [line for line in whole if line]

    def rest(self) -> bytes:
        """What stands after the last line end."""
        return b"".join(self._begun)


class Watch:
    """An async iterator of events. `async with` opens it before the first event is asked for.

    It ends when the server ends it. Raises ApiError when it is refused, ConnectionLost when it breaks, and
    WatchInactive after `inactivity` seconds without a byte. ERROR events are given as they came, see
    `error_in`.
    """

    def __init__(
        self, begin: Callable[[], Exchange], *, timeout: Seconds, inactivity: Seconds | None
    ) -> None:
        self._begin = begin
        self._timeout = timeout
        self._inactivity = inactivity
        self._exchange: Exchange | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._lines = Lines()
        self._events: deque[WatchEvent] = deque()
        self._failure: KubeError | None = None
        self._finished = False

    async def open(self) -> None:
        """Return once the server has accepted: from then on no change is missed."""
        if self._exchange is not None:
            return
        exchange = self._exchange = self._begin()
        try:
            async with asyncio.timeout(self._timeout):
                self._response = response = await exchange.send()
                refusal = None if response.status == 200 else await response.read()
        except BaseException as error:
            self._close()
            exchange.fail(error, limit=self._timeout)
        if refusal is not None:
            self._finish(exchange.refused(refusal))
            self._raise_failure()
        exchange.opened()

    async def aclose(self) -> None:
        """Stop watching; what was not yet taken is dropped. Idempotent."""
        self._finish(None)
        self._events.clear()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._events:
            if self._finished:
                self._raise_failure()
                raise StopAsyncIteration
            await self._read()
        return self._events.popleft()

    def error_in(self, event: WatchEvent) -> ApiError | None:
        """The error that an ERROR event tells of."""
        if event.type != ERROR or self._exchange is None:
            return None
        call = self._exchange.call
        return from_status(event.object, method=call.method, path=call.path)

    async def _read(self) -> None:
        await self.open()
        assert self._exchange is not None
        assert self._response is not None
        try:
            # A cancelled read loses nothing: the caller may only have given up on this event.
            async with asyncio.timeout(self._inactivity):
                chunk = await self._response.content.readany()
        except TimeoutError:
            self._finish(self._exchange.broken(WatchInactive, f"silent for {self._inactivity} s"))
            return
        except Exception as error:
            if self._finished:
                return
            self._close()
            self._exchange.fail(error)
        for line in self._lines.feed(chunk):
            self._take(line)
        if not chunk:
            self._end()

    def _take(self, line: bytes) -> None:
        if self._finished or self._exchange is None:
            return
        try:
            parsed = orjson.loads(line)
            self._events.append(WatchEvent(parsed["type"], parsed["object"], line))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            self._finish(self._exchange.refused(line))

    def _end(self) -> None:
        assert self._exchange is not None
        rest = self._lines.rest().strip()
        if rest and not _is_json(rest):
            self._finish(self._exchange.broken(ConnectionLost, "the watch ended in the middle of an event"))
        elif rest:
            self._take(rest)
        self._finish(None)

    def _finish(self, failure: KubeError | None) -> None:
        """Close, and keep the failure until the events before it are taken."""
        if not self._finished:
            self._failure = failure
            self._close()
            if self._exchange is not None:
                body = failure.body if isinstance(failure, ApiError) else None
                self._exchange.finish(body=body, error=failure)

    def _close(self) -> None:
        self._finished = True
        if self._response is not None:
            self._response.close()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
