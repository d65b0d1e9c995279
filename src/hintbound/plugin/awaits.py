"""Waiting for what the watch recorded, and what it means when something else came."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from http.client import INTERNAL_SERVER_ERROR, TOO_MANY_REQUESTS

from hintbound.history.events import VERSIONS, Event, Kind, Source
from hintbound.history.store import Store
from hintbound.kube.errors import ApiError, NotFound
from hintbound.kube.exchange import Json
from hintbound.plugin.evidence import summary
from hintbound.plugin.judgement import NotSeen, Unproven
from hintbound.plugin.pods import Pod
from hintbound.protocol import Seconds


class Watched:
    """The pods of one namespace as the watch recorder sees them: what was there already counts, too."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self._awaited: list[tuple[str, Pod]] = []

    @property
    def awaiting(self) -> str:
        """What is awaited at this moment, and how it stands; empty when nothing is."""
        return "; ".join(f"{what} (so far: {self._last(pod)})" for what, pod in self._awaited)

    async def until(
        self,
        pod: Pod,
        holds: Callable[[Json], bool],
        what: str,
        unless: Callable[[Json], bool] | None,
        patience: Seconds,
    ) -> Json:
        """See `Arena.until`."""

        def decides(event: Event) -> bool:
            if event.kind not in VERSIONS or event.kind == Kind.DELETED:
                return False
            version = dict(event.data)
            return holds(version) or (unless is not None and unless(version))

        version = dict((await self._event(pod, decides, what, patience)).data)
        if not holds(version):
            raise NotSeen(f"awaited: {what}; came instead: {summary(version)}")
        return version

    async def gone(self, pod: Pod, patience: Seconds) -> None:
        """Wait until a pod no longer exists. Raises NotSeen."""
        ends = (Kind.DELETED, Kind.GONE)
        await self._event(pod, lambda event: event.kind in ends, f"{pod} to be gone", patience)

    async def _event(self, pod: Pod, decides: Callable[[Event], bool], what: str, patience: Seconds) -> Event:
        def fits(event: Event) -> bool:
            return event.uid == pod.uid and event.source == Source.WATCH and decides(event)

        self._awaited.append((what, pod))
        try:
            event = await self._store.wait_for(fits, patience, namespace=self._namespace, what=what)
        except TimeoutError:
            raise NotSeen(f"awaited for {patience:g} s: {what}; came instead: {self._last(pod)}") from None
        self._awaited.remove((what, pod))
        return event

    def _last(self, pod: Pod) -> str:
        events = self._store.slice(namespace=self._namespace)
        versions = [e for e in events if e.uid == pod.uid and e.source == Source.WATCH and e.kind in VERSIONS]
        if not versions:
            return "no event about it at all"
        return f"{'deleted, ' if versions[-1].kind == Kind.DELETED else ''}{summary(versions[-1].data)}"


@contextlib.contextmanager
def setting_the_stage() -> Iterator[None]:
    """What does not come about in here proves nothing about the sentence: unknown, not fail."""
    try:
        yield
    except NotSeen as error:
        raise Unproven(f"the stage could not be set: {error}") from error


def answered(error: ApiError, awaited: str) -> Exception:
    """What an answer that was not awaited shows: an apiserver in trouble says nothing about the sentence."""
    if error.status == TOO_MANY_REQUESTS or error.status >= INTERNAL_SERVER_ERROR:
        return Unproven(f"awaited {awaited}; the apiserver was in trouble: {error}")
    return AssertionError(f"awaited {awaited}, got {error}")


async def undo(what: str, steps: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Take every step, whatever became of the others; what is gone already is well. Raises ExceptionGroup."""
    failures: list[Exception] = []
    for step in steps:
        try:
            await step()
        except NotFound:
            continue
        except Exception as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup(f"cleaning up {what}", failures)
