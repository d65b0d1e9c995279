"""The watch recorder: every version of every pod and node, from one informer each, open before any scenario.

The informer goes on where it was when a watch breaks. Where it could not (410 Gone) it lists again, and that
is recorded as a gap; what the list shows is `listed`, not `added`: nobody saw it come about.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from hintbound.history.events import Kind, Source
from hintbound.history.recorders.losses import Losses, Witness
from hintbound.history.store import Store
from hintbound.kube import Client, Informer, Json, Resource
from hintbound.kube.changes import Change, ChangeType, Subscription
from hintbound.kube.changes import Source as SeenBy
from hintbound.kube.resources import NODES, PODS
from hintbound.protocol import TEST_LABEL

_KINDS: Final = {
    ChangeType.ADDED: Kind.ADDED,
    ChangeType.MODIFIED: Kind.MODIFIED,
    ChangeType.DELETED: Kind.DELETED,
}


class WatchRecorder(Witness):
    """Watches pods and nodes of one cluster. `async with` returns once what there is has been listed."""

    source: Final = Source.WATCH

    def __init__(
        self,
        store: Store,
        client: Client,
        *,
        cluster: str = "",
        resources: Sequence[Resource] = (PODS, NODES),
    ) -> None:
        self.cluster = cluster
        self.informers: Mapping[Resource, Informer[Json]] = {r: Informer(client, r) for r in resources}
        """The state as recorded so far, for whoever needs it without a watch of their own."""
        self._losses = Losses(store, source=self.source, cluster=cluster)
        self._streams = [
            _Stream(store, self._losses, resource, informer, cluster=cluster)
            for resource, informer in self.informers.items()
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._open = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Begin.

        Raises:
            KubeError: pods or nodes may not be listed and watched.
        """
        async with contextlib.AsyncExitStack() as opening:
            for stream in self._streams:
                changes = stream.informer.subscribe()
                await opening.enter_async_context(stream.informer)
                self._tasks.append(asyncio.create_task(stream.record(changes)))
            for informer in self.informers.values():
                await informer.synced()
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # told as a death already
            await self._open.aclose()
        await asyncio.wait(self._tasks)


class _Stream:
    """The changes of one resource on their way into the history."""

    def __init__(
        self, store: Store, losses: Losses, resource: Resource, informer: Informer[Json], *, cluster: str
    ) -> None:
        self.informer = informer
        self._store = store
        self._losses = losses
        self._resource = resource
        self._cluster = cluster
        self._told = 0
        """How many of the informer's gaps are in the history."""
        self._relisting = False
        """Whether the last change was found by a list whose gap is in the history."""

    async def record(self, changes: Subscription[Json]) -> None:
        """Record until the informer ends; an end that nobody asked for is told."""
        try:
            async for change in changes:
                self._tell_gaps(change)
                self._append(change)
        except Exception as error:
            self._losses.died(
                f"the watch of {self._resource.plural} stopped: {type(error).__name__}: {error}"
            )
        else:
            self._tell_gaps(None)

    def _tell_gaps(self, change: Change[Json] | None) -> None:
        """Record what the informer missed, ahead of the first change that it found afterwards."""
        gaps = self.informer.gaps
        what = f"the watch of {self._resource.plural}"
        for gap in gaps[self._told :]:
            self._losses.gap(
                f"{what} missed what happened between resourceVersions {gap.from_version} and "
                f"{gap.to_version}: {gap.why}",
                {"resource": self._resource.plural, "from": gap.from_version, "to": gap.to_version},
            )
        news, self._told = len(gaps) > self._told, len(gaps)
        if change is None or not change.relisted:
            self._relisting = False
            return
        if not news and not self._relisting:
            # The list is still being read, page by page: the informer will know the gap at its end.
            self._losses.gap(
                f"{what} was interrupted before {change.key.namespace}/{change.key.name} was at "
                f"{change.resource_version}",
                {"resource": self._resource.plural},
            )
        self._relisting = True

    def _append(self, change: Change[Json]) -> None:
        item: Mapping[str, Any] = change.object or {}
        known: Mapping[str, Any] = (change.object or change.value)["metadata"]
        if change.object is None:
            kind = Kind.GONE
        elif change.source is SeenBy.WATCH:
            kind = _KINDS[change.type]
        else:
            kind = Kind.LISTED
        self._store.append(
            kind,
            source=Source.WATCH,
            cluster=self._cluster,
            test=(known.get("labels") or {}).get(TEST_LABEL, ""),
            resource=self._resource.plural,
            namespace=change.key.namespace,
            name=change.key.name,
            uid=known.get("uid", ""),
            resource_version=change.resource_version,
            data=item,
        )
