"""The watch recorder: every version of every pod and node, from one watch each, open before any scenario.

It keeps no state to converge on, only what the apiserver said, in that order. A watch that breaks goes on
where it was, with nothing lost; one that cannot (410 Gone) starts from a new list, and tells of a gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Self

from hintbound.history.events import Kind, Source
from hintbound.history.recorders.recorder import Losses
from hintbound.history.store import Store
from hintbound.kube.client import Client
from hintbound.kube.errors import ApiError, Forbidden, Gone, TransportError, Unauthorized
from hintbound.kube.exchange import Json
from hintbound.kube.resources import NODES, PODS, Resource
from hintbound.kube.watch import Watch, WatchEvent
from hintbound.protocol import TEST_LABEL, Seconds

_KINDS: Final = {
    "ADDED": Kind.ADDED,
    "MODIFIED": Kind.MODIFIED,
    "DELETED": Kind.DELETED,
    "BOOKMARK": Kind.BOOKMARK,
}
_FIRST_PAUSE: Final[Seconds] = 0.02
_LONGEST_PAUSE: Final[Seconds] = 0.5
_SILENCE: Final[Seconds] = 90.0
"""Bookmarks come about once a minute; a watch more silent than that has lost its other end."""


class WatchRecorder:
    """Watches pods and nodes of one cluster. `async with` returns once every watch is open."""

    source: Final = Source.WATCH

    def __init__(
        self,
        store: Store,
        client: Client,
        *,
        cluster: str = "",
        resources: Sequence[Resource] = (PODS, NODES),
        inactivity: Seconds = _SILENCE,
    ) -> None:
        self.cluster = cluster
        self._losses = Losses(store, source=self.source, cluster=cluster)
        self._streams = [
            _Stream(store, client, self._losses, resource, cluster=cluster, inactivity=inactivity)
            for resource in resources
        ]
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def gaps(self) -> list[str]:
        """What was missed so far, in words."""
        return self._losses.gaps

    @property
    def trouble(self) -> str:
        """Why nothing is recorded any more; empty while all is well."""
        return self._losses.trouble

    async def __aenter__(self) -> Self:
        """Begin.

        Raises:
            KubeError: the first list or watch did not succeed.
        """
        try:
            for stream in self._streams:
                await stream.begin()
        except BaseException:
            await self._close()
            raise
        self._tasks = [asyncio.create_task(s.run(), name=f"watch {s.resource.plural}") for s in self._streams]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for stream in self._streams:
            await stream.aclose()


class _Stream:
    """One resource, watched without end."""

    def __init__(
        self,
        store: Store,
        client: Client,
        losses: Losses,
        resource: Resource,
        *,
        cluster: str,
        inactivity: Seconds,
    ) -> None:
        self.resource = resource
        self._store = store
        self._client = client
        self._losses = losses
        self._cluster = cluster
        self._inactivity = inactivity
        self._version = ""
        """Everything up to this resourceVersion was recorded."""
        self._seen: dict[str, str] = {}
        """uid to resourceVersion: after a new list, only what differs is news."""
        self._watch: Watch | None = None

    async def begin(self) -> None:
        """List, then watch from there."""
        await self._list()
        await self._open()

    async def run(self) -> None:
        """Record until cancelled; an end for any other reason is told."""
        pause = _FIRST_PAUSE
        try:
            while not self._losses.trouble:
                try:
                    if self._watch is None:
                        await self._open()
                    pause = _FIRST_PAUSE
                    await self._follow()
                except Gone as error:
                    await self.aclose()
                    await self._start_over(error)
                except (Unauthorized, Forbidden) as error:
                    self._losses.died(f"the watch of {self.resource.plural} was refused: {error}")
                except (ApiError, TransportError):
                    await self.aclose()
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
        except Exception as error:
            self._losses.died(
                f"the watch recorder of {self.resource.plural} stopped: {type(error).__name__}: {error}"
            )

    async def aclose(self) -> None:
        """Let go of the connection."""
        if self._watch is not None:
            await self._watch.aclose()
            self._watch = None

    async def _open(self) -> None:
        watch = self._client.watch(
            self.resource, resource_version=self._version, bookmarks=True, inactivity=self._inactivity
        )
        await watch.open()
        self._watch = watch

    async def _follow(self) -> None:
        """Record until the server ends the watch, as it does from time to time; then it is opened again."""
        assert self._watch is not None
        async for event in self._watch:
            if error := self._watch.error_in(event):
                raise error
            self._take(event)
        await self.aclose()

    def _take(self, event: WatchEvent) -> None:
        kind = _KINDS.get(event.type)
        if kind is None:
            self._losses.gap(f"the watch of {self.resource.plural} sent an event of type {event.type!r}")
            return
        self._version = event.object["metadata"]["resourceVersion"]
        if kind is Kind.BOOKMARK:
            self._store.append(
                kind,
                source=Source.WATCH,
                cluster=self._cluster,
                resource=self.resource.plural,
                resource_version=self._version,
            )
            return
        self._record(kind, event.object)

    def _record(self, kind: Kind, item: Json) -> None:
        metadata: dict[str, Any] = item["metadata"]
        uid, version = metadata.get("uid", ""), metadata["resourceVersion"]
        if kind is Kind.DELETED:
            self._seen.pop(uid, None)
        else:
            self._seen[uid] = version
        self._store.append(
            kind,
            source=Source.WATCH,
            cluster=self._cluster,
            test=(metadata.get("labels") or {}).get(TEST_LABEL, ""),
            resource=self.resource.plural,
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            uid=uid,
            resource_version=version,
            data=item,
        )

    async def _start_over(self, cause: Gone) -> None:
        """List again: what happened in between is lost, save that it left what is listed now."""
        since = self._version
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._list(lost_since=since, cause=cause)
            except (Unauthorized, Forbidden):
                raise
            except (ApiError, TransportError):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                return

    async def _list(self, *, lost_since: str = "", cause: Gone | None = None) -> None:
        answer = await self._client.list(self.resource)
        self._version = answer["metadata"]["resourceVersion"]
        if cause is not None:
            self._losses.gap(
                f"the watch of {self.resource.plural} could not go on from resourceVersion {lost_since}; "
                f"it was listed again at {self._version}",
                {
                    "resource": self.resource.plural,
                    "from": lost_since,
                    "to": self._version,
                    "cause": str(cause),
                },
            )
        news = [
            i
            for i in answer["items"]
            if self._seen.get(i["metadata"]["uid"]) != i["metadata"]["resourceVersion"]
        ]
        listed = {i["metadata"]["uid"] for i in answer["items"]}
        self._seen = {uid: version for uid, version in self._seen.items() if uid in listed}
        for item in news:
            self._record(Kind.LISTED, item)
