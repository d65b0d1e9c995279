"""A small API on loopback by which pytest, `chaos run` and a shell change rules and read what they counted.

Its URL holds a secret, so that no other user and no web page of this machine can use it.

    GET URL/rules               every rule and what is counted of it, by actor
    POST URL/rules              puts rules in force; the body is what a rule file says, as YAML or JSON
    GET URL/rules/NAME          one of them
    DELETE URL/rules/NAME       takes it out of force, and lets go what it holds
    POST URL/rules/NAME/release lets go what it holds; it acts no more
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from hintbound.errors import CannotStart
from hintbound.proxy import rules
from hintbound.proxy.book import Book

_HOST: Final = "127.0.0.1"
_SENT: Final = Path("sent")
"""The name of the file in what is said of rules that are posted."""
_LARGEST: Final = 1024 * 1024


class Admin:
    """The API for one book of rules."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._secret = secrets.token_urlsafe(18)
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[_told], client_max_size=_LARGEST)
        base = f"/{self._secret}/rules"
        app.router.add_get(base, self._all)
        app.router.add_post(base, self._add)
        app.router.add_get(base + "/{name}", self._one)
        app.router.add_delete(base + "/{name}", self._remove)
        app.router.add_post(base + "/{name}/release", self._release)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, _HOST, 0).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Where it is, secret included. Raises RuntimeError before it runs."""
        if self._runner is None:
            raise RuntimeError("the admin API does not run")
        return f"http://{_HOST}:{self._runner.addresses[0][1]}/{self._secret}"

    async def _all(self, request: web.Request) -> web.Response:
        return web.json_response({"rules": self._book.told()})

    async def _add(self, request: web.Request) -> web.Response:
        new = rules.of_text(await request.text(), _SENT, actors=sorted(self._book.actors))
        return web.json_response({"added": self._book.add(new)}, status=201)

    async def _one(self, request: web.Request) -> web.Response:
        return web.json_response(self._book.tally(request.match_info["name"]).told())

    async def _remove(self, request: web.Request) -> web.Response:
        return web.json_response(self._book.remove(request.match_info["name"]).told())

    async def _release(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self._book.release(name)
        return web.json_response(self._book.tally(name).told())


@web.middleware
async def _told(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """What cannot be done is answered with its reason."""
    try:
        return await handler(request)
    except CannotStart as error:
        return web.json_response({"error": str(error)}, status=404 if "name" in request.match_info else 400)
