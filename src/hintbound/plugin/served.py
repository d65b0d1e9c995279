"""What scenarios serve themselves: JSON questions, answered on loopback."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web

LOOPBACK: Final = "127.0.0.1"
_LARGEST: Final = 2**24
"""Bytes of a question: it may hold a pod, and the names of all nodes."""

Answering = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""From a question, a JSON object, to its answer."""


@contextlib.asynccontextmanager
async def served(
    answer: Answering, *, path: str = "/", tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Answer what is posted to this path; gives the port. In the end answers that are being made are awaited
    for a second."""

    async def asked(request: web.Request) -> web.Response:
        return web.json_response(await answer(await request.json()))

    app = web.Application(client_max_size=_LARGEST)
    app.router.add_post(path, asked)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0, ssl_context=tls).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
