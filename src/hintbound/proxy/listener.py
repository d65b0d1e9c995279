"""The fault proxy: one listener for one actor, between it and its apiserver."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import secrets
import ssl
import sys
import time
import traceback
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol, Self

from hintbound.errors import CannotStart
from hintbound.kube import Connection
from hintbound.protocol import Seconds
from hintbound.proxy.book import Book
from hintbound.proxy.downstream import Downstream
from hintbound.proxy.exchange import Exchange
from hintbound.proxy.http import RequestHeads
from hintbound.proxy.rules import Rule
from hintbound.proxy.serving import ServingAuthority
from hintbound.proxy.target import Target
from hintbound.proxy.tls import Tls
from hintbound.proxy.upstream import Lost, Pool

_HOST: Final = "127.0.0.1"
_SWEEP: Final[Seconds] = 5.0
_HEAD_LIMIT: Final[Seconds] = 30.0
"""A client that has not sent a whole head for so long is sent away."""
_IDLE_LIMIT: Final[Seconds] = 600.0
"""A client that has asked nothing for so long is sent away."""
_BACKLOG: Final = 4096


class Witness(Protocol):
    """Is told of what passes, as history's ProxyRecorder is."""

    def passed(
        self,
        *,
        actor: str,
        method: str,
        verb: str,
        resource: str,
        namespace: str,
        name: str,
        status: int,
        seconds: Seconds,
        forwarded: int,
        rules: Sequence[tuple[str, str]],
        error: str,
    ) -> None:
        """An exchange is over. `status` 0: the client got no answer. `rules`: which did what, in order."""

    def acted(
        self, *, actor: str, verb: str, resource: str, namespace: str, name: str, rule: str, what: str
    ) -> None:
        """A rule did something to an open watch, or after an exchange."""


class FaultProxy:
    """One actor's way to the apiserver, with rules upon it. For one event loop.

    `upstream` says where the apiserver is and as whom the proxy speaks there. Whoever asks the proxy is that
    identity, so it asks for a token of its own, which `connection`, `kubeconfig` and `token` carry. With
    `pass_identity` it asks for none and passes the client's own bearer token on instead.
    """

    def __init__(
        self,
        upstream: Connection,
        *,
        actor: str,
        book: Book | None = None,
        rules: Rule | Mapping[str, Any] | Sequence[Rule | Mapping[str, Any]] = (),
        authority: ServingAuthority | None = None,
        pass_identity: bool = False,
        verify: bool = True,
        witness: Witness | None = None,
    ) -> None:
        """`book`: shared with other listeners. `verify`: whether an apiserver that cannot prove who it is
        stops the start; else `upstream.tls` is told to take any. Raises CannotStart for rules that cannot be
        read."""
        self.actor = actor
        self.book = Book() if book is None else book
        self.book.actors.add(actor)
        self.book.add(rules)
        self.pool = Pool(upstream)
        self.replaces_identity = not pass_identity
        self.heads = RequestHeads(without=(b"authorization",) if self.replaces_identity else ())
        self.token = secrets.token_urlsafe(24)
        self.witness = witness
        self.connections: set[Downstream] = set()
        self.failures: list[BaseException] = []
        """What went wrong inside the proxy itself; empty while it is sound."""
        self._upstream = upstream
        self._verify = verify
        self._authority = ServingAuthority() if authority is None else authority
        self._proof = f"Bearer {self.token}".encode()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Self:
        """Listen, once the apiserver has been reached and has proven who it is. Raises CannotStart."""
        if (
            self._upstream.tls is not None
            and self._upstream.tls.verify_mode == ssl.CERT_NONE
            and self._verify
        ):
            raise CannotStart(
                f"the certificate of {self.pool.server} would not be verified, by what the kubeconfig says.",
                next_step="Name its authority there, or allow it with --insecure-upstream.",
            )
        if not self._verify and self._upstream.tls is not None:
            self._upstream.tls.check_hostname = False
            self._upstream.tls.verify_mode = ssl.CERT_NONE
        try:
            self.pool.release(await self.pool.acquire(), reusable=True)
        except Lost as error:
            step = "Mend it, or allow it with --insecure-upstream." if "certificate" in str(error) else ""
            raise CannotStart(f"{error}.", next_step=step or "Start it first.") from error
        loop, context = asyncio.get_running_loop(), self._authority.context()
        self._server = await loop.create_server(
            lambda: Tls(Downstream(self), context, server_side=True), _HOST, 0, backlog=_BACKLOG
        )
        self.later(self._sweep())
        return self

    async def stop(self) -> None:
        """Break off all connections, and end."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for connection in tuple(self.connections):
            connection.reset()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.pool.close()
        await server.wait_closed()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Where it listens. Raises RuntimeError before the start."""
        if self._server is None:
            raise RuntimeError("the proxy has not been started")
        return f"https://{_HOST}:{self._server.sockets[0].getsockname()[1]}"

    @property
    def ca(self) -> str:
        """The PEM of the authority that its clients trust."""
        return self._authority.pem

    def hits(self, rule: str) -> int:
        """How often a rule bit this actor. Raises CannotStart."""
        return self.book.hits(rule, self.actor)

    def connection(self) -> Connection:
        """For clients of ours."""
        context = ssl.create_default_context(cadata=self.ca)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return Connection(
            self.url, tls=context, credentials=self._headers if self.replaces_identity else None
        )

    def kubeconfig(self, *, user: Mapping[str, Any] | None = None, namespace: str = "") -> str:
        """A kubeconfig (as JSON, which YAML includes) for anybody else.

        `user`: what stands in it about the user in place of the proxy's token; with `pass_identity` it is
        needed.
        """
        about = {
            "server": self.url,
            "certificate-authority-data": base64.b64encode(self.ca.encode()).decode(),
        }
        context = {"cluster": "proxy", "user": self.actor, **({"namespace": namespace} if namespace else {})}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "proxy", "cluster": about}],
                "users": [{"name": self.actor, "user": dict(user or {"token": self.token})}],
                "contexts": [{"name": "proxy", "context": context}],
                "current-context": "proxy",
            },
            indent=1,
        )

    async def _headers(self) -> Mapping[str, str]:
        return {"Authorization": self._proof.decode()}

    # What its connections ask of it.

    def lets_in(self, proof: bytes) -> bool:
        """Whether somebody with this Authorization may ask."""
        return not self.replaces_identity or hmac.compare_digest(proof, self._proof)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on by itself, until the proxy stops."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def failed(self, error: BaseException) -> None:
        """Something went wrong inside the proxy."""
        self.failures.append(error)
        traceback.print_exception(error, file=sys.stderr)

    def tell(
        self, method: str, about: Target, status: int, began: Seconds, error: str, exchange: Exchange | None
    ) -> None:
        """Tell the witness of an exchange that is over."""
        assert self.witness is not None
        self.witness.passed(
            actor=self.actor,
            method=method,
            verb=about.verb,
            resource=about.resource,
            namespace=about.namespace,
            name=about.name,
            status=status,
            seconds=time.monotonic() - began,
            forwarded=1 if exchange is None else exchange.forwarded,
            rules=() if exchange is None else exchange.notes,
            error=error,
        )

    def acted(self, about: Target, rule: str, what: str) -> None:
        """Tell the witness of what a rule did to an open watch, or after an exchange."""
        if self.witness is not None:
            self.witness.acted(
                actor=self.actor,
                verb=about.verb,
                resource=about.resource,
                namespace=about.namespace,
                name=about.name,
                rule=rule,
                what=what,
            )

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, Lost):
            self.failed(error)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            now = time.monotonic()
            for connection in tuple(self.connections):
                limit = _HEAD_LIMIT if connection.amid_head else _IDLE_LIMIT
                if not connection.busy and now - connection.since > limit:
                    connection.transport.close()
