"""The state of a set of objects, kept current by list and watch, with nothing lost and nothing told twice.

As in kopf and client-go: list, then watch from the list's resourceVersion with bookmarks; when a watch ends,
for whatever reason, watch on from the last version seen; when that version is gone (410), list again and tell
the difference. Unlike theirs it says where it may have missed something: a recorder that hides a gap proves
nothing.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Self, cast

from hintbound.kube.changes import Change, ChangeType, Gap, Key, Source, Subscription
from hintbound.kube.client import Client
from hintbound.kube.errors import (
    ApiError,
    BadRequest,
    ConnectionLost,
    Gone,
    Invalid,
    KubeError,
    ServerError,
    TooManyRequests,
    TransportError,
)
from hintbound.kube.exchange import Json
from hintbound.kube.resources import Resource
from hintbound.kube.timing import Timing
from hintbound.kube.watch import BOOKMARK, DELETED, Watch, WatchEvent
from hintbound.protocol import Seconds

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Json)
else:
    from typing import TypeVar

    T = TypeVar("T")

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
_LONG_ENOUGH: Final[Seconds] = 1.0
"""A watch that was open for this long worked, even if it told nothing."""
_ERRORS_BEFORE_RELIST: Final = 3
"""ERROR events in a row that say the version we ask for is the trouble, not the moment."""


class Initial(StrEnum):
    """How the state is read at first, and after a 410."""

    LIST = "list"
    """In pages."""
    STREAM = "stream"
    """By the watch itself (WatchList); falls back to pages where the apiserver does not offer it."""


class Informer(Generic[T]):
    """Objects of one resource as they are now, and every change of them.

    `async with` starts it. Subscribe (or `async for`) before the first await to see the initial state as
    ADDED.
    What is transient (no connection, 429, 5xx, silence) is waited out. 401, 403, 404 and other refusals end
    it: they are raised by `synced`, by subscriptions, and at the end of the `async with` block.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        project: Callable[[Json], T] | None = None,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        inactivity: Seconds = 120.0,
        page: int = 500,
        initial: Initial = Initial.LIST,
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._project = project or cast("Callable[[Json], T]", _as_it_is)
        self._scope: dict[str, Any] = {
            "namespace": namespace,
            "label_selector": label_selector,
            "field_selector": field_selector,
        }
        self._inactivity = inactivity
        self._page = page
        self._initial = initial
        self._timing = timing or Timing()

        self._values: dict[Key, T] = {}
        self._versions: dict[Key, _Version] = {}
        self._resource_version = ""
        self._progressed = False
        self._errors_in_a_row = 0
        self._synced = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._gaps: list[Gap] = []
        self._callbacks: list[Callable[[Change[T]], None]] = []
        self._subscriptions: weakref.WeakSet[Subscription[T]] = weakref.WeakSet()

        self.state: Mapping[Key, T] = MappingProxyType(self._values)
        """The projection of every object there is: a live, read-only view."""
        self.duplicates = 0
        """How many events were dropped because they were no news."""
        self.trouble: KubeError | None = None
        """What it is waiting out at the moment."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Where versions may have been missed."""
        return tuple(self._gaps)

    @property
    def resource_version(self) -> str:
        """Everything up to this version has been told. Empty before the first list."""
        return self._resource_version

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise RuntimeError("an informer is started once")
        self._task = asyncio.create_task(self._run(), name=f"informer of {self._resource.plural}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
        # Never end in silence; but what went wrong inside the block is the greater news.
        if error is None:
            self._raise_failure()

    async def aclose(self) -> None:
        """Stop, and end all subscriptions."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def synced(self) -> None:
        """Return once the first list is in `state`. Raises what the informer failed of."""
        await self._synced.wait()
        self._raise_failure()
        if not self._resource_version:
            raise RuntimeError(f"the {self._task and self._task.get_name()} was closed before it was synced")

    def subscribe(self) -> Subscription[T]:
        """Every change from now on, in order, buffered without limit."""
        subscription: Subscription[T] = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def on_change(self, callback: Callable[[Change[T]], None]) -> Callable[[], None]:
        """Call back for every change from now on, before any subscription; what it raises ends the informer.

        Gives the function that ends it.
        """
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def __aiter__(self) -> Subscription[T]:
        return self.subscribe()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _run(self) -> None:
        try:
            await self._follow()
        except asyncio.CancelledError:
            pass
        except Exception as error:
            self._failure = error
        finally:
            self._synced.set()
            for subscription in self._subscriptions:
                subscription.end(self._failure)

    async def _follow(self) -> None:
        """Read the state, watch on from it; again and again, as soon as is decent."""
        why: str | None = "the first list"
        failures = 0
        while True:
            self._progressed = False
            pause: Seconds = 0.0
            try:
                watch = None
                if why is not None:
                    watch = await self._read_state(why)
                    why = None
                await self._watch_on(watch)
            except Gone as error:
                self.trouble = error
                why = error.message
            except (TransportError, TooManyRequests, ServerError) as error:
                self.trouble = error
                if isinstance(error, ApiError):
                    pause = error.retry_after or 0.0
                if self._errors_in_a_row >= _ERRORS_BEFORE_RELIST:
                    self._errors_in_a_row = 0
                    why = str(error)
            failures = 0 if self._progressed else failures + 1
            await self._timing.sleep(max(pause, self._timing.backoff.pause(failures)))

    async def _read_state(self, why: str) -> Watch | None:
        """Bring the state up to now. Gives the watch that did it, when it was one."""
        before = self._resource_version
        watch = None
        if self._initial is Initial.STREAM:
            try:
                version, watch = await self._read_by_watch()
            except (BadRequest, Invalid):
                self._initial = Initial.LIST
        if watch is None:
            version = await self._read_by_list()
        if before and before != version:
            wall, monotonic = self._timing.wall(), self._timing.monotonic()
            self._gaps.append(Gap(why, before, version, at=monotonic, at_wall=wall))
        self._resource_version = version
        self.trouble = None
        self._synced.set()
        return watch

    async def _read_by_list(self) -> str:
        gone, source = set(self._versions), self._source()
        token: str | None = None
        while True:
            page = await self._client.list(
                self._resource, limit=self._page, continue_from=token, **self._scope
            )
            for item in page.get("items") or ():
                gone.discard(Key.of(item))
                self._settle(item, source)
            version = str(page["metadata"]["resourceVersion"])
            token = page["metadata"].get("continue")
            if not token:
                break
        self._forget(gone, version)
        return version

    async def _read_by_watch(self) -> tuple[str, Watch]:
        gone, source = set(self._versions), self._source()
        watch = self._client.watch(
            self._resource, send_initial_events=True, inactivity=self._inactivity, **self._scope
        )
        try:
            async for event in watch:
                self._raise_error(watch, event)
                if event.type != BOOKMARK:
                    gone.discard(Key.of(event.object))
                    self._settle(event.object, source)
                elif _INITIAL_EVENTS_END in event.object["metadata"].get("annotations", {}):
                    version = str(event.object["metadata"]["resourceVersion"])
                    self._forget(gone, version)
                    return version, watch
        except BaseException:
            await watch.aclose()
            raise
        raise ConnectionLost(
            "the watch ended before the initial state was whole", method="GET", path=self._resource.path()
        )

    def _source(self) -> Source:
        """How to tell what a read shows; a first one that broke off halfway counts as an earlier state."""
        return Source.RELIST if self._resource_version or self._versions else Source.LIST

    async def _watch_on(self, watch: Watch | None) -> None:
        """Tell what happens from the current version on, until the watch ends."""
        watch = watch or self._client.watch(
            self._resource,
            resource_version=self._resource_version,
            inactivity=self._inactivity,
            **self._scope,
        )
        async with watch:
            opened = self._timing.monotonic()
            self.trouble = None
            try:
                async for event in watch:
                    self._raise_error(watch, event)
                    self._take(event)
            finally:
                self._progressed |= self._timing.monotonic() - opened >= _LONG_ENOUGH

    def _raise_error(self, watch: Watch, event: WatchEvent) -> None:
        error = watch.error_in(event)
        if error is not None:
            self._errors_in_a_row += 1
            raise error

    def _take(self, event: WatchEvent) -> None:
        version = str(event.object["metadata"]["resourceVersion"])
        self._progressed = True
        self._errors_in_a_row = 0
        if not _is_newer(version, self._resource_version):
            self.duplicates += event.type != BOOKMARK
            return
        if event.type == DELETED:
            self._remove(Key.of(event.object), event.object, version, Source.WATCH)
        elif event.type != BOOKMARK:
            self._settle(event.object, Source.WATCH)
        self._resource_version = version

    def _settle(self, obj: Json, source: Source) -> None:
        """The object is there, in this version."""
        key = Key.of(obj)
        now = _Version(obj["metadata"].get("uid", ""), str(obj["metadata"]["resourceVersion"]))
        known = self._versions.get(key)
        if known == now:
            return
        if known is not None and known.uid != now.uid:
            # Another object of the same name: that the first one went was not told.
            self._remove(key, None, now.resource_version, Source.RELIST)
            known = None
        value = self._project(obj)
        self._versions[key] = now
        self._values[key] = value
        kind = ChangeType.ADDED if known is None else ChangeType.MODIFIED
        self._tell(kind, key, obj, value, now.resource_version, source)

    def _forget(self, gone: set[Key], version: str) -> None:
        for key in gone:
            self._remove(key, None, version, Source.RELIST)

    def _remove(self, key: Key, obj: Json | None, version: str, source: Source) -> None:
        """The object is no longer there."""
        if self._versions.pop(key, None) is None:
            self.duplicates += 1
            return
        last = self._values.pop(key)
        value = last if obj is None else self._project(obj)
        self._tell(ChangeType.DELETED, key, obj, value, version, source)

    def _tell(
        self, kind: ChangeType, key: Key, obj: Json | None, value: T, version: str, source: Source
    ) -> None:
        wall, monotonic = self._timing.wall(), self._timing.monotonic()
        change = Change(kind, key, obj, value, version, source, received=monotonic, received_at=wall)
        for callback in tuple(self._callbacks):
            callback(change)
        for subscription in self._subscriptions:
            subscription.put(change)


class _Version(NamedTuple):
    uid: str
    resource_version: str


def _is_newer(version: str, than: str) -> bool:
    """Versions are integers that grow over all objects of a resource (KEP-5504); others are always news."""
    try:
        return int(version) > int(than)
    except ValueError:
        return True


def _as_it_is(obj: Json) -> Json:
    return obj
