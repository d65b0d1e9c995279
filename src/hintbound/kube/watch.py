"""A watch: the apiserver's stream of changes, line by line, whatever the network did to the lines."""

from __future__ import annotations

import asyncio
from collections import deque
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
    from_answer,
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

    def __init__(self, exchange: Exchange, *, timeout: Seconds, inactivity: Seconds | None) -> None:
        self._exchange = exchange
        self._timeout = timeout
        self._inactivity = inactivity
        self._response: aiohttp.ClientResponse | None = None
        self._lines = Lines()
        self._events: deque[WatchEvent] = deque()
        self._finished = False

    async def open(self) -> None:
        """Return once the server has accepted: from then on no change is missed."""
        if self._response is not None:
            return
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._exchange.send()
                refusal = None if response.status == 200 else await response.read()
        except BaseException as error:
            self._finished = True
            raise self._exchange.fail(error, limit=self._timeout) from error
        self._response = response
        if refusal is not None:
            refused = self._refused(response.status, refusal)
            self._finish(refused, body=refused.body)
            raise refused
        self._exchange.opened()

    async def aclose(self) -> None:
        """Stop watching. Idempotent."""
        self._finish(None)

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
                raise StopAsyncIteration
            await self._read()
        return self._events.popleft()

    def error_in(self, event: WatchEvent) -> ApiError | None:
        """The error that an ERROR event tells of."""
        if event.type != ERROR:
            return None
        return from_status(event.object, method=self._exchange.call.method, path=self._exchange.call.path)

    async def _read(self) -> None:
        await self.open()
        assert self._response is not None
        try:
            async with asyncio.timeout(self._inactivity):
                chunk = await self._response.content.readany()
        except TimeoutError as error:
            silent = self._transport(WatchInactive, f"the watch was silent for {self._inactivity} s")
            self._finish(silent)
            raise silent from error
        except asyncio.CancelledError:
            # Not the end: the caller may only have given up on this event.
            raise
        except Exception as error:
            self._close()
            raise self._exchange.fail(error) from error
        if chunk:
            for line in self._lines.feed(chunk):
                self._take(line)
        else:
            self._ended()

    def _take(self, line: bytes) -> None:
        try:
            parsed = orjson.loads(line)
            event = WatchEvent(parsed["type"], parsed["object"], line)
        except (orjson.JSONDecodeError, KeyError, TypeError) as cause:
            odd = self._refused(200, line)
            self._finish(odd)
            raise odd from cause
        self._events.append(event)

    def _ended(self) -> None:
        rest = self._lines.rest()
        if rest.strip():
            try:
                orjson.loads(rest)
            except orjson.JSONDecodeError as cause:
                cut = self._transport(ConnectionLost, "the watch ended in the middle of an event")
                self._finish(cut)
                raise cut from cause
            self._take(rest)
        self._finish(None)

    def _refused(self, status: int, body: bytes) -> ApiError:
        call = self._exchange.call
        return from_answer(status, self._exchange.headers, body, method=call.method, path=call.path)

    def _transport(self, kind: type[ConnectionLost | WatchInactive], cause: str) -> KubeError:
        call = self._exchange.call
        return kind(cause, method=call.method, path=call.path, status=self._exchange.status)

    def _finish(self, error: BaseException | None, body: object = None) -> None:
        if not self._finished:
            self._close()
            self._exchange.finish(error=error, body=body)

    def _close(self) -> None:
        self._finished = True
        if self._response is not None:
            self._response.close()
