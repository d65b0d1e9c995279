"""Exactly one request on the wire per call: no retry, no redirect, no cookie, every failure typed.

aiohttp by itself sends an idempotent request a second time when a kept-alive connection turns out to be
closed. A recorder would see one call where the apiserver saw two, so a middleware turns that failure into an
exception that aiohttp does not retry.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, NoReturn

import aiohttp
import orjson
from yarl import URL

from hintbound.errors import CannotStart
from hintbound.kube.connection import Connection
from hintbound.kube.errors import (
    ApiError,
    ConnectionFailed,
    ConnectionLost,
    DeadlineExceeded,
    TransportError,
    from_answer,
)
from hintbound.kube.exchange import Call, Outcome, Tap
from hintbound.protocol import Seconds

_READ_BUFFER: Final = 256 * 1024
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class _Broken(Exception):
    """A failure after the connection was had. None of aiohttp's own types, so that it does not send again."""


async def _only_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Broken(_said(error)) from error


async def _note_connected(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.connected = True


class Pool:
    """The kept-alive connections of one identity to one server, shared by a client's clones."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    def session(self) -> aiohttp.ClientSession:
        """The session, made inside the running loop. Raises RuntimeError after `aclose`."""
        if self._closed:
            raise RuntimeError("this client is closed")
        if self._session is None:
            watch_connections = aiohttp.TraceConfig()
            watch_connections.on_connection_create_end.append(_note_connected)
            watch_connections.on_connection_reuseconn.append(_note_connected)
            self._session = aiohttp.ClientSession(
                # No limit: each watch holds a connection, and a call that waits for one would look slow.
                connector=aiohttp.TCPConnector(limit=0, ssl=self.connection.tls or True),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(_only_once,),
                trace_configs=[watch_connections],
                read_bufsize=_READ_BUFFER,
                trust_env=False,
            )
        return self._session

    async def aclose(self) -> None:
        """Close every connection; calls and watches under way fail."""
        self._closed = True
        if self._session is not None:
            await self._session.close()


@dataclass(slots=True)
class Exchange:
    """One request and its answer, told to the tap. Begin it with `begin`; `send`, then `fail` or `finish`."""

    pool: Pool
    tap: Tap | None
    call: Call
    changes: bool
    """Whether the request changes something when it is applied."""
    connected: bool = False
    """Set when a connection was had: from then on the request may have reached the server."""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self) -> aiohttp.ClientResponse:
        """Send the request, wait for the head of the answer. Errors are aiohttp's; see `fail`."""
        call, connection = self.call, self.pool.connection
        headers = {"User-Agent": call.user_agent, "Accept": "application/json", "Audit-ID": call.id}
        # Compression would cost two shared cores more than the loopback saves.
        headers["Accept-Encoding"] = "identity"
        if call.content_type is not None:
            headers["Content-Type"] = call.content_type
        if connection.credentials is not None:
            headers.update(await connection.credentials())
        response = await self.pool.session().request(
            call.method,
            URL(connection.server + target(call.path, call.query), encoded=True),
            data=None if call.body is None else orjson.dumps(call.body),
            headers=headers,
            allow_redirects=False,
            server_hostname=connection.server_name,
            proxy=connection.proxy,
            trace_request_ctx=self,
        )
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        return response

    def opened(self) -> None:
        """Tell the tap that a watch was accepted."""
        if self.tap is not None:
            self.tap.opened(self.call, self._outcome())

    def finish(self, *, body: Any = None, error: BaseException | None = None) -> None:
        """Tell the tap how it ended."""
        if self.tap is not None:
            self.tap.finished(self.call, self._outcome(body, error))

    def fail(self, error: BaseException, *, limit: Seconds | None = None) -> NoReturn:
        """Tell the tap of a failure and raise it: ours for a transport's, any other as it is."""
        typed = self._typed(error, limit)
        self.finish(error=typed)
        if typed is error:
            raise error
        raise typed from error

    def _typed(self, error: BaseException, limit: Seconds | None) -> BaseException:
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | CannotStart):
            return self.broken(ConnectionFailed, f"no connection: {_said(error)}")
        if isinstance(error, asyncio.TimeoutError):
            within = "in time" if limit is None else f"within {limit:g} s"
            return self.broken(DeadlineExceeded, f"no whole answer {within}")
        if isinstance(error, _Broken | aiohttp.ClientError | OSError):
            kind = ConnectionLost if self.connected else ConnectionFailed
            return self.broken(kind, f"the connection was lost: {_said(error)}")
        return error

    def refused(self, body: bytes) -> ApiError:
        """The error that the answer is."""
        call = self.call
        return from_answer(self.status or 0, self.headers, body, method=call.method, path=call.path)

    def broken(self, kind: type[TransportError], cause: str) -> TransportError:
        """The error for a lack of an answer."""
        unknown = self.connected and self.changes and kind is not ConnectionFailed
        return kind(
            cause,
            method=self.call.method,
            path=self.call.path,
            may_have_been_applied=unknown,
            status=self.status,
        )

    def _outcome(self, body: Any = None, error: BaseException | None = None) -> Outcome:
        return Outcome(
            ended=time.monotonic(),
            ended_at=time.time(),
            status=self.status,
            headers=self.headers,
            body=body,
            error=error,
        )


def begin(
    pool: Pool,
    tap: Tap | None,
    *,
    actor: str,
    user_agent: str,
    method: str,
    path: str,
    query: Mapping[str, str],
    body: Any = None,
    content_type: str | None = None,
    watch: bool = False,
) -> Exchange:
    """A request that is about to be sent, and of which the tap knows."""
    call = Call(
        id=str(uuid.uuid4()),
        actor=actor,
        user_agent=user_agent,
        method=method,
        path=path,
        query=query,
        content_type=content_type,
        body=body,
        watch=watch,
        started=time.monotonic(),
        started_at=time.time(),
    )
    if tap is not None:
        tap.start(call)
    return Exchange(pool, tap, call, changes=method not in _READS and "dryRun" not in query)


def target(path: str, query: Mapping[str, str]) -> str:
    """Path and query as they stand in the request line."""
    from urllib.parse import urlencode

    return f"{path}?{urlencode(query)}" if query else path


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
