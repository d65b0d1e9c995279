"""The store: appends events to `history.ndjson` while the run goes on, and answers questions about them.

One `write` per event straight to the operating system: whoever kills this process loses at most the line that
is being written.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hintbound.errors import CannotStart
from hintbound.history.events import LOSSES, Event, Source, timestamp
from hintbound.protocol import Seconds

HISTORY_FILE: Final = "history.ndjson"

_NO_SYNC_HERE: Final = (errno.EINVAL, errno.EROFS, errno.ENOSPC, errno.EIO, errno.EDQUOT)
"""A disk that cannot sync is no reason to lose the run: what was written stays readable."""


@dataclass(slots=True, eq=False)
class _Waiter:
    predicate: Callable[[Event], bool]
    found: asyncio.Future[Event]


@dataclass(slots=True)
class _Index:
    """What the live run asks for: events by namespace, by test, and those that concern every test."""

    by_namespace: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    by_test: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    common: list[Event] = field(default_factory=list)
    nodes: list[Event] = field(default_factory=list)
    """What the watch showed of nodes, whoever's they are: few, and never forgotten."""
    forgotten: set[str] = field(default_factory=set)
    """Namespaces and tests that nobody will ask for again, whatever still comes of them."""

    def add(self, event: Event) -> None:
        if event.namespace in self.forgotten:
            return
        if event.namespace:
            self.by_namespace[event.namespace].append(event)
        if event.test:
            self.by_test[event.test].append(event)
        if event.resource == "nodes" and event.source == Source.WATCH:
            self.nodes.append(event)
        if not event.namespace and not event.test and concerns_everyone(event):
            self.common.append(event)


def concerns_everyone(event: Event) -> bool:
    """Whether an event that belongs to no test matters to all: a recorder's loss, a component, a fault."""
    return event.kind in LOSSES or event.source == Source.ENGINE


class Store:
    """The history of one run. For one event loop: no locks, and no append from another thread."""

    def __init__(self, path: Path, *, clock: Callable[[], Seconds] = time.monotonic) -> None:
        """Create the file at `path`.

        Raises:
            CannotStart: the folder is missing or not writable, or the file is already there.
        """
        self.path = path
        self.broken: str = ""
        """Why nothing more can be written; empty while all is well."""
        self._clock = clock
        self._started = clock()
        self._count = 0
        self._size = 0
        self._index = _Index()
        self._tests: dict[str, str] = {}
        self._waiters: dict[str, list[_Waiter]] = defaultdict(list)
        self._syncs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="history-sync")
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _cannot_write(path, error) from error

    def __len__(self) -> int:
        """How many events were appended."""
        return self._count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def now(self) -> Seconds:
        """Seconds since the run's start, on the clock that events carry."""
        return self._clock() - self._started

    def own(self, namespace: str, *, test: str, label: str = "") -> None:
        """From here on events of this namespace, and of objects whose TEST_LABEL is `label`, belong to this
        test, whoever records them."""
        self._tests[namespace] = test
        if label:
            self._tests[label] = test

    def append(
        self,
        kind: str,
        *,
        source: str,
        cluster: str = "",
        test: str = "",
        resource: str = "",
        namespace: str = "",
        name: str = "",
        uid: str = "",
        resource_version: str = "",
        data: Mapping[str, Any] | None = None,
    ) -> Event:
        """Write one event and wake whoever waits for it.

        Raises:
            CannotStart: the disk is full or the file cannot be written; the lines before this one are whole.
        """
        event = Event(
            index=self._count,
            time=timestamp(),
            mono=round(self.now, 6),
            source=source,
            kind=kind,
            cluster=cluster,
            test=self._tests.get(test, test) or self._tests.get(namespace, ""),
            resource=resource,
            namespace=namespace,
            name=name,
            uid=uid,
            resource_version=resource_version,
            data={} if data is None else data,
        )
        self._write(event.to_line())
        self._count += 1
        self._index.add(event)
        self._wake(event)
        return event

    def slice(self, *, namespace: str = "", test: str = "", cluster: str = "") -> list[Event]:
        """Events of a namespace and/or a test in order, with the losses, faults and component events since.

        Costs what the slice is long, not what the history is. With `cluster`, other clusters' are left out.
        """
        own = {e.index: e for e in self._index.by_namespace.get(namespace, ())}
        own.update((e.index, e) for e in self._index.by_test.get(test, ()))
        if own:
            first = min(own)
            own.update((e.index, e) for e in self._index.common if e.index >= first)
        events = (own[index] for index in sorted(own))
        return [e for e in events if not cluster or e.cluster in ("", cluster)]

    def nodes(self, *, cluster: str = "") -> list[Event]:
        """What the watch showed of all nodes (of a cluster) so far, in order."""
        return [e for e in self._index.nodes if not cluster or e.cluster == cluster]

    def losses(self, *, since: int = 0, cluster: str = "") -> list[Event]:
        """Gaps and deaths of recorders from event `since` on; `data.reason` says what was lost."""
        return [
            e
            for e in self._index.common
            if e.index >= since and e.kind in LOSSES and (not cluster or e.cluster in ("", cluster))
        ]

    def forget(self, *, namespace: str = "", test: str = "") -> None:
        """Free the memory of a judged test. The file keeps everything."""
        if namespace:
            self._index.forgotten.add(namespace)
        self._index.by_namespace.pop(namespace, None)
        self._index.by_test.pop(test, None)

    async def wait_for(
        self,
        predicate: Callable[[Event], bool],
        timeout: Seconds | None,
        *,
        namespace: str = "",
        only_new: bool = False,
        what: str = "an event",
    ) -> Event:
        """The first event that fits, there already or yet to come. No polling: an append wakes the waiter.

        Only events of `namespace` are looked at; without one all, but only those to come, as with
        `only_new`. No `timeout` waits without end.

        Raises:
            TimeoutError: names `what` was awaited.
        """
        for event in () if only_new else self._index.by_namespace.get(namespace, ()):
            if predicate(event):
                return event
        waiter = _Waiter(predicate, asyncio.get_running_loop().create_future())
        waiters = self._waiters[namespace]
        waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout):
                return await waiter.found
        except TimeoutError:
            raise TimeoutError(f"{what} was not recorded within {timeout:g} s") from None
        finally:
            waiters.remove(waiter)
            if not waiters and self._waiters.get(namespace) is waiters:
                del self._waiters[namespace]

    def sync(self) -> None:
        """Have the disk keep what was written, in the background; not for each event."""
        if not self.broken:
            self._syncs.submit(_sync, self._fd)

    def close(self) -> None:
        """Flush to the disk and close. Calling it again does nothing."""
        if self._fd < 0:
            return
        self._syncs.shutdown(wait=True)
        _sync(self._fd)
        os.close(self._fd)
        self._fd = -1
        self.broken = self.broken or "the history is closed."

    def _write(self, line: bytes) -> None:
        if self.broken:
            raise CannotStart(self.broken)
        written = 0
        try:
            while written < len(line):
                written += os.write(self._fd, line[written:] if written else line)
        except OSError as error:
            problem = _cannot_write(self.path, error)
            self.broken = str(problem)
            _cut(self._fd, self._size)
            raise problem from error
        self._size += len(line)

    def _wake(self, event: Event) -> None:
        for key in ("", event.namespace) if event.namespace else ("",):
            for waiter in self._waiters.get(key, ()):
                if waiter.found.done():
                    continue
                try:
                    fits = waiter.predicate(event)
                except Exception as error:  # a broken predicate must reach its owner, not the recorder
                    waiter.found.set_exception(error)
                    continue
                if fits:
                    waiter.found.set_result(event)


def _sync(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC_HERE:
            raise


def _cut(fd: int, size: int) -> None:
    """Take half a line back, if that is still possible."""
    try:
        os.ftruncate(fd, size)
    except OSError:
        return


def _cannot_write(path: Path, error: OSError) -> CannotStart:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CannotStart(
            f"the history {path} cannot be written: the disk is full.",
            next_step="Free some space, or choose another folder for reports.",
        )
    if error.errno == errno.EEXIST:
        return CannotStart(
            f"the history {path} is already there; a run never writes into another run's history.",
            next_step="Choose a new run folder.",
        )
    return CannotStart(
        f"the history {path} cannot be written: {error.strerror or error}.",
        next_step="Choose a folder for reports that is writable.",
    )


class Reading(Iterator[Event]):
    """The events of a stored history in order; in the end `truncated` tells whether a line was cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncated: str = ""
        """What is wrong with the last line; empty when it is whole or has not been reached."""
        self._events = self._read()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def _read(self) -> Iterator[Event]:
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise CannotStart(
                f"the history {self.path} cannot be read: {error.strerror or error}.",
                next_step="Name a run folder, or its history.ndjson.",
            ) from error
        with file:
            for number, line in enumerate(file, start=1):
                try:
                    event = Event.from_line(line)
                except ValueError as error:
                    if line.endswith(b"\n"):
                        raise CannotStart(
                            f"line {number} of {self.path} is no event: {error}.",
                            next_step="The file was changed or damaged after the run; judge another copy.",
                        ) from error
                    self.truncated = (
                        f"line {number} of {self.path.name} ends after {len(line)} bytes: the run was killed"
                    )
                    return
                yield event


def read(path: Path) -> Reading:
    """Read a history, given its run folder or the file itself; nothing is changed.

    A last line that was cut off is left out and told by `Reading.truncated`.

    Raises:
        CannotStart: (while reading) the file cannot be read, or a line before the last is no event.
    """
    return Reading(path / HISTORY_FILE if path.is_dir() else path)
