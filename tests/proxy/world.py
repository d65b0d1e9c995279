"""A scripted apiserver, a fault proxy before it, and a client that goes through the proxy."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from hintbound.kube import Client, Connection
from hintbound.proxy import FaultProxy
from tests.kube.scripted import Handler, Peer, Request, ScriptedServer

PODS = "/api/v1/namespaces/ns/pods"
POD = f"{PODS}/a"


@dataclass(slots=True)
class World:
    server: ScriptedServer
    proxy: FaultProxy
    client: Client
    said: list[dict[str, Any]] = field(default_factory=list)
    """What the witness was told."""

    @property
    def bodies(self) -> list[Any]:
        """What the apiserver got, as JSON."""
        return [request.json for request in self.server.requests if request.body]

    @property
    def heard(self) -> list[str]:
        """The methods and paths that the apiserver got."""
        return [f"{request.method} {request.path}" for request in self.server.requests]

    async def connect(self) -> Wire:
        """A connection to the proxy that speaks bytes."""
        url, tls = urlsplit(self.proxy.url), ssl.create_default_context(cadata=self.proxy.ca)
        reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=tls)
        return Wire(reader, writer, self.proxy.token)

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> bytes:
        """One request on a connection of its own; gives all that is answered."""
        wire = await self.connect()
        await wire.send(method, path, body, {"Connection": "close", **(headers or {})})
        try:
            return await wire.reader.read()
        finally:
            wire.close()


@dataclass(slots=True)
class Wire:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    token: str

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: proxy", f"Authorization: Bearer {self.token}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        await self.raw("\r\n".join([*lines, "", ""]).encode() + body)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> str:
        return (await self.reader.readuntil(b"\r\n\r\n")).decode()

    def close(self) -> None:
        self.writer.close()


class Witness:
    def __init__(self, said: list[dict[str, Any]]) -> None:
        self._said = said

    def passed(self, **told: Any) -> None:
        self._said.append({**told, "rules": list(told["rules"])})

    def acted(self, **told: Any) -> None:
        self._said.append(told)


async def well(request: Request, peer: Peer) -> None:
    """Answers what was sent, or a pod."""
    await peer.json(orjson.loads(request.body) if request.body else pod("a"))


def pod(name: str, *, version: int = 1, hint: str | None = None, **status: Any) -> dict[str, Any]:
    told = {**status, **({"nominatedNodeName": hint} if hint else {})}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)},
        "status": told,
    }


def event(kind: str, obj: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"


@contextlib.asynccontextmanager
async def world(*rules: dict[str, Any], handler: Handler = well) -> AsyncIterator[World]:
    said: list[dict[str, Any]] = []
    async with (
        ScriptedServer(handler) as server,
        FaultProxy(Connection(server.url), actor="scheduler", rules=rules, witness=Witness(said)) as proxy,
        Client(proxy.connection(), actor="scheduler", user_agent="tests/1", timeout=5) as client,
    ):
        yield World(server, proxy, client, said)
    assert not proxy.failures
