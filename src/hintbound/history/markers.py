"""Markers: how a test knows that its record is whole before it is judged.

A marker is a pod that can never run, made when the test is over. Whoever has seen it has seen what came
before. That holds for the watch and the client; audit lines of requests that overlap may come in any order,
so each version of a pod that the watch saw must be found in the audit log as well.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hintbound.history.events import Event, Kind, Source
from hintbound.history.join import lives
from hintbound.history.recorders.recorder import Recorder
from hintbound.history.store import Store
from hintbound.history.wholeness import gaps_of
from hintbound.kube.client import Client
from hintbound.kube.errors import KubeError
from hintbound.kube.exchange import Json
from hintbound.kube.resources import PODS
from hintbound.protocol import MARKER_LABEL, ComponentKind, Seconds

DEFAULT_TIMEOUT: Final[Seconds] = 10.0

_LAST_WORDS: Final[Seconds] = 2.0
"""How far the watch may show a write from the moment in which its apiserver was killed."""
_ENOUGH: Final = "RequestResponse"
"""The audit level at which answers are logged; below it there is nothing to join by."""


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Whether the record of a test is whole, and if not, which recorder is to blame."""

    lagging: tuple[str, ...] = ()
    """Recorders that had not seen the marker in time, or had died."""
    unexplained: tuple[str, ...] = ()
    """Versions that the watch saw and the audit log did not tell of in time."""
    gaps: tuple[str, ...] = ()
    """What recorders say they missed while the test ran."""
    healed: tuple[str, ...] = ()
    """Gaps of the watch in which, by the audit log, nothing happened to this test's pods."""
    joined: bool = False
    """Whether watch and audit log were compared: not without an audit log, nor below RequestResponse."""
    seconds: Seconds = 0.0

    @property
    def complete(self) -> bool:
        """Whether the record may be judged. If not, the verdict is unknown."""
        return not (self.lagging or self.unexplained or self.gaps)

    @property
    def reason(self) -> str:
        """Why it may not; empty when it may."""
        return "; ".join((*self.lagging, *self.gaps, *self.unexplained))


async def caught_up(
    store: Store,
    client: Client,
    recorders: Sequence[Recorder],
    *,
    namespace: str,
    test: str = "",
    cluster: str = "",
    timeout: Seconds = DEFAULT_TIMEOUT,
) -> CaughtUp:
    """Write a marker into the test's namespace and wait until every recorder has seen it.

    `client` may create pods there and, if a client recorder is among `recorders`, is tapped by it. What is
    not there after `timeout` is told in the result; nothing is raised for it.

    Raises:
        CannotStart: the history can no longer be written.
    """
    began = store.now
    name = f"hintbound-marker-{secrets.token_hex(4)}"

    def left() -> Seconds:
        return max(0.0, timeout - (store.now - began))

    lagging: list[str] = []
    unexplained: list[str] = []
    joined = False
    try:
        async with asyncio.timeout(timeout):
            await client.create(PODS, _marker(name, test), namespace=namespace)
    except (KubeError, TimeoutError) as error:
        why = str(error) or f"no answer within {timeout:g} s"
        lagging.append(f"the marker pod {namespace}/{name} could not be created: {why}")
    else:
        own = [recorder for recorder in recorders if recorder.cluster == cluster]
        sightings = await asyncio.gather(*(_sighting(store, r, namespace, name, left()) for r in own))
        lagging += [sighting for sighting in sightings if isinstance(sighting, str)]
        seen = {sighting.source: sighting for sighting in sightings if isinstance(sighting, Event)}
        audit, watch = seen.get(Source.AUDIT), seen.get(Source.WATCH)
        if audit and watch and audit.data.get("level") == _ENOUGH:
            joined = True
            unexplained = await _unexplained(store, namespace, cluster, until=watch.index, timeout=left())
        elif audit and watch:
            lagging.append(
                f"the audit log keeps pods at level {audit.data.get('level')}, and {_ENOUGH} is needed"
            )
    gaps = gaps_of(store.slice(namespace=namespace, test=test, cluster=cluster), joined=joined)
    result = CaughtUp(
        lagging=tuple(lagging),
        unexplained=tuple(unexplained),
        gaps=gaps.open,
        healed=gaps.healed,
        joined=joined,
        seconds=round(store.now - began, 6),
    )
    store.append(
        Kind.MARKER,
        source=Source.ENGINE,
        cluster=cluster,
        test=test,
        namespace=namespace,
        name=name,
        data={
            "complete": result.complete,
            "reason": result.reason,
            "joined": joined,
            "healed": list(gaps.healed),
        },
    )
    store.sync()
    return result


def _marker(name: str, test: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {MARKER_LABEL: "true"}, "annotations": {MARKER_LABEL: test}},
        "spec": {
            "schedulingGates": [{"name": MARKER_LABEL}],
            "containers": [{"name": "marker", "image": "marker.invalid/never-pulled"}],
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
        },
    }


async def _sighting(
    store: Store, recorder: Recorder, namespace: str, name: str, timeout: Seconds
) -> Event | str:
    """The event that shows that a recorder saw the marker, or why there is none."""
    who = f"the {recorder.source} recorder" + (f" of {recorder.cluster}" if recorder.cluster else "")

    def shows(event: Event) -> bool:
        return event.cluster == recorder.cluster and event.source == recorder.source and _shows(event, name)

    if recorder.trouble:
        return f"{who} stopped: {recorder.trouble}"
    try:
        return await store.wait_for(shows, timeout, namespace=namespace)
    except TimeoutError:
        if recorder.trouble:
            return f"{who} stopped: {recorder.trouble}"
        return f"{who} had not seen the marker pod {namespace}/{name} within {timeout:.3g} s"


def _shows(event: Event, name: str) -> bool:
    if event.name != name:
        return False
    data: Any = event.data
    match event.source:
        case Source.WATCH:
            return event.kind in (Kind.ADDED, Kind.LISTED)
        case Source.AUDIT:
            return event.kind == Kind.RESPONSE_COMPLETE and data.get("verb") == "create"
        case Source.CLIENT:
            return event.kind == Kind.RESPONSE and data.get("method") == "POST"
    return False


async def _unexplained(
    store: Store, namespace: str, cluster: str, *, until: int, timeout: Seconds
) -> list[str]:
    """Wait until the audit log explains each version watched before event `until`; give those it does not.

    But for what an apiserver may have written in the moment in which it was killed: that is in etcd, and no
    log tells of it.
    """

    def missing() -> list[str]:
        events = store.slice(namespace=namespace, cluster=cluster)
        kills = [event.mono for event in events if _kills_an_apiserver(event)]
        return [
            str(version)
            for life in lives(events, markers=True)
            for version in life.unexplained(until=until)
            if not any(abs(version.mono - kill) < _LAST_WORDS for kill in kills)
        ]

    try:
        async with asyncio.timeout(timeout):
            while missing():
                await store.wait_for(_from_audit, None, namespace=namespace, only_new=True)
    except TimeoutError:
        return [f"the audit log does not tell who made {version}" for version in missing()]
    return []


def _kills_an_apiserver(event: Event) -> bool:
    return event.kind == Kind.COMPONENT_KILLED and event.name.startswith(ComponentKind.APISERVER)


def _from_audit(event: Event) -> bool:
    return event.source == Source.AUDIT
