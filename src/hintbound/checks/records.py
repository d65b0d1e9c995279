"""Records to judge: what `hintbound check` reads, a run's history or audit logs, as lives with their context.

Decoding, partition and judging stay apart: `audit_lines` knows one line, `audit_lives` one pod's name, a
check what it is given. Here they are only put one behind the other, in this process and in memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from hintbound.checks.model import Context
from hintbound.history import audit_files, audit_lines, audit_lives
from hintbound.history.events import LOSSES, Event, Kind
from hintbound.history.join import PodLife, lives
from hintbound.history.setting import setting
from hintbound.history.store import HISTORY_FILE, concerns_everyone, read
from hintbound.protocol import Actor

MOST_PLACES: Final = 5
"""So many places are named for each kind of line that could not be read."""

RUN_INSTRUMENTS: Final = frozenset({Actor.ADMIN, Actor.AUTHOR, Actor.NOMINATOR})
"""In a run of the suites these bind, hint and do harm on purpose."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is judged at once: lives that have to do with each other."""

    lives: Sequence[PodLife]
    context: Context


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the records is to be judged."""

    since: str = ""
    """RFC 3339 in UTC, as the apiserver writes it: such strings sort as times do. Empty: from the
    beginning."""
    until: str = ""
    namespaces: frozenset[str] = frozenset()
    """Empty: all."""

    @property
    def everything(self) -> bool:
        """Whether nothing is left out, which might have taken room."""
        return not (self.since or self.until or self.namespaces)

    def has(self, event: Event) -> bool:
        """Whether an event is within."""
        if self.namespaces and event.namespace and event.namespace not in self.namespaces:
            return False
        return (not self.since or event.time >= self.since) and (not self.until or event.time < self.until)


@dataclass(slots=True)
class Intake:
    """What was read, and what could not be."""

    files: int = 0
    lines: int = 0
    events: int = 0
    """Audit events, or events of a history, whatever they are about."""
    pods: int = 0
    """Lives of pods."""
    flaws: Counter[str] = field(default_factory=Counter)
    """Lines that were not read, by reason."""
    places: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Where the first of each are: `FILE:LINE`."""
    losses: Counter[str] = field(default_factory=Counter)
    """What else is missing in the record."""
    nameless: int = 0
    """Events about pods that no answer names: creates with generateName at level Metadata, collections."""

    def flaw(self, reason: str, place: str) -> None:
        """Note a line that could not be read."""
        self.flaws[reason] += 1
        if len(self.places[reason]) < MOST_PLACES:
            self.places[reason].append(place)

    @property
    def missing(self) -> list[str]:
        """Why nobody can say of this record that a sentence held in all of it; empty when it is whole."""
        unread = sum(self.flaws.values())
        told = [f"{unread} lines could not be read"] if unread else []
        return [*told, *(f"{why} ({n} times)" if n > 1 else why for why, n in self.losses.items())]


def histories(path: Path) -> list[Path]:
    """The histories of runs that a path means: its own, or those in the folders right under it."""
    if path.is_file():
        return [path] if path.name == HISTORY_FILE else []
    if (path / HISTORY_FILE).is_file():
        return [path / HISTORY_FILE]
    return sorted(
        {found.resolve() for found in path.glob(f"*/{HISTORY_FILE}") if not found.parent.is_symlink()}
    )


def run_parts(
    history: Path, about: Callable[[str, str], Context], wanted: Wanted, intake: Intake
) -> Iterator[Part]:
    """The parts of a run, one per scenario and cluster: each has nodes of its own. What is done to clean up
    after a scenario is no part of it. Raises CannotStart.

    `about` gives the context for a cluster and the id of a behaviour (empty: of none).
    """
    intake.files += 1
    parts: dict[tuple[str, str], list[Event]] = defaultdict(list)
    everyones: dict[str, list[Event]] = defaultdict(list)
    over: set[tuple[str, str]] = set()
    reading = read(history)
    for event in reading:
        intake.lines += 1
        intake.events += 1
        key = (event.cluster, event.test)
        if event.kind in LOSSES:
            intake.losses[str(event.data.get("reason") or event.kind)] += 1
        if event.kind == Kind.SCENARIO_FINISHED:
            over.add(key)
        elif event.resource == "nodes" or (not event.test and concerns_everyone(event)):
            everyones[event.cluster].append(event)
        elif key not in over and wanted.has(event):
            parts[key].append(event)
    if reading.truncated:
        intake.losses[reading.truncated] += 1
    for (cluster, behaviour), events in parts.items():
        found = lives(events)
        intake.pods += len(found)
        context = about(cluster, behaviour)
        if wanted.everything:
            first, last = events[0].index, events[-1].index
            around = [e for e in everyones[cluster] if e.index < last and (e.resource or e.index > first)]
            everything = sorted([*events, *around], key=lambda event: event.index)
            context = replace(context, setting=setting(everything, all_nodes=True))
        yield Part(found, context)


def log_parts(files: Iterable[str], context: Context, wanted: Wanted, intake: Intake) -> Iterator[Part]:
    """The one part that audit logs are: all pods of a cluster share its nodes. Raises CannotStart."""
    parts, intake.nameless = audit_lives.partitioned(
        event for event in log_events(files, intake) if wanted.has(event)
    )
    found = [life for key in sorted(parts) for life in audit_lives.lives_of(parts[key])]
    intake.pods += len(found)
    yield Part(found, context)


def log_events(files: Iterable[str], intake: Intake) -> Iterator[Event]:
    """The writes to pods in audit logs, as events of a history. Raises CannotStart for a file that cannot
    be read."""
    index = 0
    for file in files:
        intake.files += 1
        for line in audit_files.lines(file):
            intake.lines += 1
            if line.flaw:
                intake.flaw(line.flaw, line.place)
                continue
            try:
                for audit in audit_lines.audit_events(line.text):
                    intake.events += 1
                    if not _wanted(audit):
                        continue
                    event = audit_lines.pod_event(audit, index=index, place=line.place)
                    if event is not None:
                        index += 1
                        yield event
            except audit_lines.Unreadable as error:
                intake.flaw(str(error), line.place)


def _wanted(audit: Mapping[str, object]) -> bool:
    """Answered writes: reads say nothing that a check asks, other stages nothing that the last one does
    not."""
    return audit.get("stage") == Kind.RESPONSE_COMPLETE and audit.get("verb") not in audit_lines.READS


def in_run(context: Context, *, behaviour: str, cluster: str) -> Context:
    """The context of a scenario: there the suites' own actors are instruments."""
    return replace(
        context,
        behaviour=behaviour,
        cluster=cluster,
        instruments=(context.instruments | RUN_INSTRUMENTS) - context.nominators - context.schedulers,
    )
