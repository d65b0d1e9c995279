"""What an informer tells: changes, gaps between them, and streams of both to whoever listens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, NamedTuple, Self

from hintbound.kube.exchange import Json
from hintbound.protocol import Seconds

if TYPE_CHECKING:
    # With a default (in `typing` from 3.13 on): an informer without a projection is one of plain objects.
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Json)
else:
    from typing import TypeVar

    T = TypeVar("T")


class Key(NamedTuple):
    """Which object; the namespace of a cluster-scoped one is empty."""

    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Json) -> Self:
        """The key of an object."""
        metadata = obj["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])


class Source(StrEnum):
    """How a change became known."""

    LIST = "list"
    """It was there when the informer began."""
    WATCH = "watch"
    """It happened, and the watch told."""
    RELIST = "relist"
    """It was found by comparing with an earlier state: versions between the two may have been missed."""


class ChangeType(StrEnum):
    """What happened to the object, as seen by one who knew the informer's state before."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object's step from one version to the next."""

    type: ChangeType
    key: Key
    object: Json | None
    """As the apiserver sent it (items of a list lack `kind` and `apiVersion`); of a deletion its last state.

    None for a deletion that only a relist showed.
    """
    value: T
    """The projection of the object; its last known one when there is no object."""
    resource_version: str
    """Of the object; for a deletion that only a relist showed, of the list (it happened no later)."""
    source: Source
    received: Seconds
    """On the monotonic clock."""
    received_at: Seconds
    """On the wall clock, since the epoch."""

    @property
    def relisted(self) -> bool:
        """Whether versions between this and the one before may have been missed."""
        return self.source is Source.RELIST


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of history that an informer did not see."""

    why: str
    from_version: str
    """The last resourceVersion seen before it."""
    to_version: str
    """The resourceVersion of the state that was read instead."""
    at: Seconds
    """When it was closed, on the monotonic clock."""
    at_wall: Seconds
    """The same on the wall clock, since the epoch."""


class Subscription(Generic[T]):
    """An async iterator over the changes since it was made; ends, or fails, with the informer."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Change[T] | None] = asyncio.Queue()
        self._failure: BaseException | None = None
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        if not self._ended or not self._queue.empty():
            change = await self._queue.get()
            if change is not None:
                return change
            # The mark of the end stays for others that wait on the same subscription.
            self._queue.put_nowait(None)
        if self._failure is not None:
            raise self._failure
        raise StopAsyncIteration

    def put(self, change: Change[T]) -> None:
        """For the informer: one more change."""
        self._queue.put_nowait(change)

    def end(self, failure: BaseException | None) -> None:
        """For the informer: there will be no more."""
        self._failure = failure
        self._ended = True
        self._queue.put_nowait(None)
