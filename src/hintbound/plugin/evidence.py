"""What a reader of a failure needs: the lives of the scenario's pods, version by version, and who wrote
what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hintbound.history.events import Event, Kind
from hintbound.history.join import PodLife, PodVersion, lives
from hintbound.history.writers import Request
from hintbound.protocol import Seconds

MOST_LINES = 60
_ASSERTION_LINES = 12


def evidence(
    error: BaseException | None, events: Sequence[Event], *, without: Collection[str] = ()
) -> tuple[str, ...]:
    """Short lines: what the assertion said in full, then each pod's life. `without`: uids of pods that only
    set the stage."""
    said = [line.rstrip() for line in str(error or "").splitlines() if line.strip()]
    lines = said[:_ASSERTION_LINES] if len(said) > 1 else []
    began = events[0].mono if events else 0.0
    lines += [_fault(event, began) for event in events if event.kind in (Kind.FAULT_BEGAN, Kind.FAULT_ENDED)]
    for life in lives(events):
        if life.uid not in without:
            lines += _life(life, began)
    if len(lines) > MOST_LINES:
        left = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], f"… {left} more lines; all of it is in history.ndjson"]
    return tuple(lines)


def _fault(event: Event, began: Seconds) -> str:
    about = dict(event.data.get("parameters", {})) | {"error": event.data.get("error")}
    told = ", ".join(f"{key}={value}" for key, value in about.items() if value is not None)
    turn = "began" if event.kind == Kind.FAULT_BEGAN else "ended"
    return f"fault {event.data['fault']} {turn} at +{event.mono - began:.3f} s{f': {told}' if told else ''}"


def summary(pod: Mapping[str, Any]) -> str:
    """One line about a pod that tells what matters here."""
    return _told(_facts(pod) | {"resourceVersion": pod["metadata"].get("resourceVersion", "")})


def _life(life: PodLife, began: Seconds) -> Iterator[str]:
    yield f"pod {life.name} (uid {life.uid}):"
    before: Mapping[str, str] = {}
    for version in life.versions:
        facts = _facts(version.object)
        keys = [*before, *(key for key in facts if key not in before)]
        changed = {key: facts.get(key, "") for key in keys if facts.get(key) != before.get(key)}
        before = facts
        yield f"  +{version.mono - began:.3f} s, version {version.rv}: {_version(version, changed)}"
    yield from (f"  refused: {request}" for request in life.requests if not request.succeeded)


def _version(version: PodVersion, changed: Mapping[str, str]) -> str:
    words = _told(changed, empty=True) or "nothing that matters here changed"
    kind = "" if version.type == "modified" else f"{version.type}, "
    return f"{kind}{words}{_by(version.writer)}"


def _by(writer: Request | None) -> str:
    return f" ({writer})" if writer else ""


def _facts(pod: Mapping[str, Any]) -> dict[str, str]:
    """What this suite is about, as text; absent things are left out."""
    status, metadata = pod.get("status", {}), pod["metadata"]
    condition = condition_of(pod, "PodScheduled")
    said = "/".join(filter(None, (condition.get("status"), condition.get("reason"))))
    facts = {
        "nodeName": pod.get("spec", {}).get("nodeName"),
        "nominatedNodeName": status.get("nominatedNodeName"),
        "phase": status.get("phase"),
        "PodScheduled": said,
        "message": condition.get("message"),
        "DisruptionTarget": condition_of(pod, "DisruptionTarget").get("status"),
        "deletionTimestamp": metadata.get("deletionTimestamp"),
    }
    return {key: str(value) for key, value in facts.items() if value}


def condition_of(pod: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """A pod's condition of this type, empty when it has none."""
    return next((c for c in pod.get("status", {}).get("conditions") or () if c.get("type") == kind), {})


def _told(facts: Mapping[str, str], *, empty: bool = False) -> str:
    return ", ".join(f"{key}={value or '(none)'}" for key, value in facts.items() if value or empty)
