"""As much of an apiserver as recorders speak to: lists, watches that can be cut, creates, its audit log."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer

from hintbound.kube import Client, Connection, Tap
from tests.history.lines import audit, line


class Apiserver:
    """`async with` serves it on a free port of this machine."""

    def __init__(self, log: Path | None = None) -> None:
        self.log = log
        self.revision = 0
        self.oldest = 0
        """A watch from before this resourceVersion is answered 410."""
        self.refuse: int | None = None
        """Status code for everything."""
        self.events: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self.objects: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self.changed = asyncio.Condition()
        self.cuts = 0
        self.level = "RequestResponse"
        app = web.Application()
        app.router.add_get("/api/v1/{plural}", self._read)
        app.router.add_post("/api/v1/namespaces/{namespace}/{plural}", self._create)
        self._server = TestServer(app)

    async def __aenter__(self) -> Apiserver:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()
        await self._server.close()

    def client(self, tap: Tap | None = None) -> Client:
        return Client(Connection(str(self._server.make_url(""))), actor="admin", user_agent="test", tap=tap)

    async def put(self, kind: str, item: dict[str, Any], *, plural: str = "pods") -> dict[str, Any]:
        """Let something happen: ADDED, MODIFIED or DELETED."""
        self.revision += 1
        item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.revision)}}
        if kind == "DELETED":
            self.objects[plural].pop(item["metadata"]["uid"], None)
        else:
            self.objects[plural][item["metadata"]["uid"]] = item
        self.events[plural].append((self.revision, orjson.dumps({"type": kind, "object": item}) + b"\n"))
        async with self.changed:
            self.changed.notify_all()
        return item

    async def cut(self, *, forget: bool = False) -> None:
        """End all watches; with `forget` they cannot go on where they were, as after a restart."""
        self.cuts += 1
        if forget:
            self.revision += 1
            self.oldest = self.revision
        async with self.changed:
            self.changed.notify_all()

    async def _read(self, request: web.Request) -> web.StreamResponse:
        plural = request.match_info["plural"]
        if self.refuse:
            return _status(self.refuse, "refused")
        if "watch" not in request.query:
            items = list(self.objects[plural].values())
            body = {"kind": "List", "metadata": {"resourceVersion": str(self.revision)}, "items": items}
            return web.json_response(body)
        since = int(request.query["resourceVersion"])
        if since < self.oldest:
            return _status(410, f"too old resource version: {since} ({self.oldest})")
        cuts = self.cuts
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while cuts == self.cuts:
            for revision, text in [told for told in self.events[plural] if told[0] > since]:
                await response.write(text)
                since = revision
            async with self.changed:
                if cuts == self.cuts and self._newest(plural) <= since:
                    await self.changed.wait()
        return response

    def _newest(self, plural: str) -> int:
        events = self.events[plural]
        return events[-1][0] if events else 0

    async def _create(self, request: web.Request) -> web.Response:
        if self.refuse:
            return _status(self.refuse, "refused")
        sent = await request.json()
        namespace = request.match_info["namespace"]
        metadata = {**sent["metadata"], "namespace": namespace, "uid": f"uid-{self.revision + 1}"}
        made = await self.put("ADDED", {**sent, "metadata": metadata})
        if self.log is not None:
            with self.log.open("ab") as log:
                log.write(
                    line(
                        audit(
                            "create",
                            name=metadata["name"],
                            namespace=namespace,
                            code=201,
                            answer=made if self.level == "RequestResponse" else None,
                            level=self.level,
                        )
                    )
                )
        return web.json_response(made, status=201)


def _status(code: int, message: str) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "code": code, "message": message}
    return web.json_response(body, status=code)
