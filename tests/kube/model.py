"""A model of an apiserver's list and watch (versions, pages, compaction), and a network that fails.

What it answers was compared with real apiservers (test_real_apiserver.py does the same steps there).
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from hintbound.kube import Json, Key
from tests.kube.scripted import Peer, Request

EXPIRED: Json = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "code": 410,
    "reason": "Expired",
    "message": "too old resource version",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One write, as the log holds it."""

    version: int
    type: str
    object: Json


@dataclass(slots=True)
class Watcher:
    """An open watch: what it has yet to be sent, and how much its connection will bear."""

    peer: Peer
    position: int
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    bytes_left: int | None = None
    """After so many more bytes the connection is cut."""
    chunk: int = 1 << 30
    repeat: bool = False
    """Send the last event once more."""
    injected: deque[Json] = field(default_factory=deque)
    end: bool = False


@dataclass(slots=True)
class Model:
    """A server of config maps in one namespace."""

    version: int = 100
    compacted: int = 0
    objects: dict[Key, Json] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    refusals: deque[Callable[[Request, Peer], Any]] = field(default_factory=deque)
    """How the next requests are failed; each is used once."""
    gone_as_event: bool = False
    """Whether a compacted version is told by an ERROR event or by the status code."""
    streams_initial_events: bool = True
    snapshots: dict[str, tuple[int, list[Json]]] = field(default_factory=dict)
    uids: int = 0

    # What users do

    def write(self, name: str) -> None:
        """Create or update."""
        self.version += 1
        key = Key("a", name)
        known = self.objects.get(key)
        if known is None:
            self.uids += 1
        uid = known["metadata"]["uid"] if known else f"uid-{self.uids}"
        metadata = {"namespace": "a", "name": name, "uid": uid, "resourceVersion": str(self.version)}
        obj = {"kind": "ConfigMap", "metadata": metadata, "data": {"text": "ü😀" * (self.version % 7)}}
        self.objects[key] = obj
        self._append("MODIFIED" if known else "ADDED", obj)

    def delete(self, name: str) -> None:
        obj = self.objects.pop(Key("a", name), None)
        if obj is not None:
            self.version += 1
            last = copy.deepcopy(obj)
            last["metadata"]["resourceVersion"] = str(self.version)
            self._append("DELETED", last)

    def tick(self) -> None:
        """Someone else's write: the version grows, nothing of ours changes."""
        self.version += 1

    def compact(self) -> None:
        self.compacted = self.version
        self.snapshots.clear()

    def _append(self, kind: str, obj: Json) -> None:
        self.log.append(Entry(self.version, kind, obj))
        for watcher in self.watchers:
            watcher.wake.set()

    # What the server says

    async def handle(self, request: Request, peer: Peer) -> None:
        if self.refusals:
            await self.refusals.popleft()(request, peer)
        else:
            await self.serve(request, peer)

    async def serve(self, request: Request, peer: Peer) -> None:
        """What is answered when nothing fails."""
        if "watch" in request.query:
            await self._watch(request, peer)
        else:
            await self._list(request, peer)

    async def _list(self, request: Request, peer: Peer) -> None:
        limit = int(request.query.get("limit", 0)) or 1 << 30
        token = request.query.get("continue")
        if token is None:
            version, items = self.version, [self.objects[key] for key in sorted(self.objects)]
        elif token in self.snapshots:
            version, items = self.snapshots[token]
        else:
            await peer.json(EXPIRED, 410)
            return
        metadata = {"resourceVersion": str(version)}
        if len(items) > limit:
            metadata["continue"] = f"{version}/{len(items)}"
            self.snapshots[metadata["continue"]] = (version, items[limit:])
        await peer.json({"kind": "ConfigMapList", "metadata": metadata, "items": items[:limit]})

    async def _watch(self, request: Request, peer: Peer) -> None:
        initial: list[Json] = []
        if request.query.get("sendInitialEvents"):
            if not self.streams_initial_events:
                await peer.json({"kind": "Status", "code": 422, "reason": "Invalid"}, 422)
                return
            position = self.version
            initial = [{"type": "ADDED", "object": obj} for obj in self.objects.values()]
            initial.append(self._bookmark(annotations={"k8s.io/initial-events-end": "true"}))
        else:
            position = int(request.query["resourceVersion"])
            if position < self.compacted:
                if not self.gone_as_event:
                    await peer.json(EXPIRED, 410)
                    return
                initial = [{"type": "ERROR", "object": EXPIRED}]
        watcher = Watcher(peer, position, injected=deque(initial))
        self.watchers.append(watcher)
        try:
            await peer.begin_stream()
            await self._feed(watcher)
        finally:
            self.watchers.remove(watcher)

    def _bookmark(self, **metadata: Any) -> Json:
        version = {"resourceVersion": str(self.version), **metadata}
        return {"type": "BOOKMARK", "object": {"kind": "ConfigMap", "metadata": version}}

    async def _feed(self, watcher: Watcher) -> None:
        while not watcher.peer.closed:
            while watcher.injected:
                event = watcher.injected.popleft()
                await self._send(watcher, event)
                if event["type"] == "ERROR":
                    watcher.end = True
            for entry in self.log:
                if entry.version > watcher.position:
                    event = {"type": entry.type, "object": entry.object}
                    watcher.position = entry.version
                    await self._send(watcher, event)
                    if watcher.repeat:
                        watcher.repeat = False
                        await self._send(watcher, event)
            if watcher.end:
                await watcher.peer.end_stream()
                return
            watcher.wake.clear()
            if not watcher.injected:
                await watcher.wake.wait()

    async def _send(self, watcher: Watcher, event: Json) -> None:
        data = orjson.dumps(event) + b"\n"
        if watcher.bytes_left is not None:
            data = data[: watcher.bytes_left]
            watcher.bytes_left -= len(data)
        for at in range(0, len(data), watcher.chunk):
            await watcher.peer.chunk(data[at : at + watcher.chunk])
        if watcher.bytes_left == 0:
            watcher.peer.close()
            # No later part of the stream may follow the cut.
            raise ConnectionResetError

    # What the network and the operator do

    def bookmark(self) -> None:
        for watcher in self.watchers:
            # A bookmark says that all up to it was sent.
            if watcher.position >= max((entry.version for entry in self.log), default=0):
                watcher.injected.append(self._bookmark())
                watcher.wake.set()

    def tell_error(self, status: Json) -> None:
        for watcher in self.watchers:
            watcher.injected.append({"type": "ERROR", "object": status})
            watcher.wake.set()

    def end_watches(self) -> None:
        for watcher in self.watchers:
            watcher.end = True
            watcher.wake.set()

    def cut_watches(self, *, after: int) -> None:
        for watcher in self.watchers:
            watcher.bytes_left = after
            if after == 0:
                watcher.peer.abort()
            watcher.wake.set()

    def repeat_event(self) -> None:
        for watcher in self.watchers:
            watcher.repeat = True

    def resend(self, back: int) -> None:
        """A buggy server or proxy: an old event once more, in the midst of the news."""
        if len(self.log) >= back:
            entry = self.log[-back]
            for watcher in self.watchers:
                if watcher.position >= entry.version:
                    watcher.injected.append({"type": entry.type, "object": entry.object})
                    watcher.wake.set()

    def chop(self, size: int) -> None:
        for watcher in self.watchers:
            watcher.chunk = size


def refuse(status: int, **headers: str) -> Callable[[Request, Peer], Any]:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.answer(status, b"not now\n", "text/plain", **headers)

    return answer


async def reset(request: Request, peer: Peer) -> None:
    peer.abort()


async def cut_answer(request: Request, peer: Peer) -> None:
    await peer.send(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"items":[{'
    )
    peer.close()
