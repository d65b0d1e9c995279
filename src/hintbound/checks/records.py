"""Records to judge: what `hintbound check` read, and the histories of runs as lives with their context."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from hintbound.checks.model import Context
from hintbound.history.audit_found import MOST_PLACES, Found, Wanted
from hintbound.history.events import LOSSES, Event, Kind
from hintbound.history.join import PodLife, lives
from hintbound.history.setting import setting
from hintbound.history.store import HISTORY_FILE, concerns_everyone, read
from hintbound.protocol import Actor

RUN_INSTRUMENTS: Final = frozenset({Actor.ADMIN, Actor.AUTHOR, Actor.NOMINATOR})
"""In a run of the suites these bind, hint and do harm on purpose."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is judged at once: lives that have to do with each other."""

    lives: Sequence[PodLife]
    context: Context


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

    def add(self, found: Found, file: str, before: int) -> None:
        """Take in what some lines of a file gave, before which there are so many."""
        self.lines += found.lines
        self.events += found.events
        self.nameless += found.nameless
        self.flaws += found.flaws
        for reason, lines in found.places.items():
            room = MOST_PLACES - len(self.places[reason])
            self.places[reason] += [f"{file}:{before + line}" for line in lines[: max(room, 0)]]

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
        elif key not in over and wanted.has(event.namespace, event.time):
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


def in_run(context: Context, *, behaviour: str, cluster: str) -> Context:
    """The context of a scenario: there the suites' own actors are instruments."""
    return replace(
        context,
        behaviour=behaviour,
        cluster=cluster,
        instruments=(context.instruments | RUN_INSTRUMENTS) - context.nominators - context.schedulers,
    )
