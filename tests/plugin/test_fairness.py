from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from hintbound.kube.connection import Connection
from hintbound.plugin import fairness
from hintbound.plugin.judgement import Unproven

SEATED = b"HTTP/1.1 100 Continue\r\n\r\n"
DONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
PATH = "/api/v1/namespaces/ns/pods/no-such-pod/status"


class Server:
    """Reads the head of one request, answers it so, reads its body, answers that so."""

    def __init__(self, first: bytes, last: bytes) -> None:
        self.first, self.last = first, last
        self.head = self.body = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.first)
        self.body = await reader.read(len(b"{}"))
        if self.body:
            writer.write(self.last)
        writer.close()


@contextlib.asynccontextmanager
async def busy(server: Server) -> AsyncIterator[None]:
    async def token() -> dict[str, str]:
        return {"Authorization": "Bearer secret"}

    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        connection = Connection(f"http://127.0.0.1:{port}", credentials=token)
        client: Any = SimpleNamespace(connection=connection, user_agent="hintbound/1 NNN-ONE")
        async with fairness._busy(client, PATH):
            yield


async def test_its_body_is_kept_back_until_the_end() -> None:
    server = Server(SEATED, DONE)

    async with busy(server):
        assert server.head.startswith(b"PATCH " + PATH.encode() + b" HTTP/1.1\r\n")
        assert b"Expect: 100-continue" in server.head
        assert b"Authorization: Bearer secret" in server.head
        assert server.body == b""

    assert server.body == b"{}"


@pytest.mark.parametrize(
    ("first", "last", "why"),
    [
        (
            b"HTTP/1.1 429 Too Many Requests\r\n\r\n",
            b"",
            "answered 'HTTP/1.1 429 Too Many Requests', not 100",
        ),
        (b"", b"", "got no answer"),
        (SEATED, b"HTTP/1.1 504 Gateway Timeout\r\n\r\n", "answered 'HTTP/1.1 504 Gateway Timeout', not 404"),
        (SEATED, b"", "got no answer"),
    ],
)
async def test_without_its_seat_nothing_is_proven(
    first: bytes, last: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fairness, "PATIENCE", 0.2)

    with pytest.raises(Unproven, match=why):
        async with busy(Server(first, last)):
            pass


async def test_what_is_raised_within_is_not_hidden() -> None:
    with pytest.raises(AssertionError, match="broken"):
        async with busy(Server(SEATED, DONE)):
            raise AssertionError("broken")
