"""The steps of `hintbound check` over audit logs as tasks of a process: map, judge, judge together.

Each is a pure function of what it reads; between them rows lie on disk by partition (`spill`). On a
distributed engine they are a map, a group by namespace and name, and a group by unit.
"""

from __future__ import annotations

import gc
import shutil
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from hintbound.checks import judging, spill
from hintbound.checks.judging import Tally
from hintbound.checks.model import Check, Context, Unknown, Violation
from hintbound.checks.traits import Glance, traits_of
from hintbound.history import audit_files
from hintbound.history.audit_found import Found, Wanted
from hintbound.history.audit_lives import lives_of
from hintbound.history.audit_map import Keep, Mapper
from hintbound.history.audit_requests import LoggedRequest, Row, Shelf, logged, row_of
from hintbound.history.join import AnsweredVersion, PodLife
from hintbound.protocol import Seconds

MOST_WRITES: Final = 50_000
"""So many writes to pods of one name, or of one unit, are judged; of more nothing is known."""

WHOLE: Final = "*"
"""The unit of what nobody can judge apart."""

CROWDED: Final = f"more than {MOST_WRITES} writes would have to be judged together"

_MOST_AT_ONCE: Final = 8 << 20
"""Bytes of rows that are judged at once; a longer partition is read more often, a part of its names each
time."""

Told = dict[str, dict[str, Seconds]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is done about lives with the same traits."""

    looks: list[tuple[int, bool, bool]] = field(default_factory=list)
    """The positions of checks that look at each; whether the check may concern it, and whether it may have
    to be put aside."""
    told: list[tuple[int, bool | Unknown]] = field(default_factory=list)
    """The positions of those that need not, and what they say of each."""


Slice = list[tuple[str, "array[int]"]]


@dataclass(frozen=True, slots=True)
class Range:
    """Lines that one task maps."""

    number: int
    file: str
    store: int | None
    """The number of the file on the shelf; None when it cannot be read from its middle."""
    start: int = 0
    end: int | None = None


@dataclass(slots=True)
class Judged:
    """What a task that judges gives."""

    tallies: list[tuple[int, int, list[Violation], Counter[str]]]
    """Of each check, in their order: the fields of its Tally; a check itself cannot be sent."""
    lives: int = 0
    crowded: list[str] = field(default_factory=list)
    """Names with too many writes."""
    told: Told = field(default_factory=lambda: defaultdict(dict))
    """By check, what all its units must know."""


class _Kept(Keep):
    """Events whose text stands in no plain file by itself."""

    def __init__(self, path: Path, store: int) -> None:
        self._path = path
        self._store = store
        self._blob: spill.Blob | None = None

    def __call__(self, text: bytes) -> tuple[int, int, int]:
        if self._blob is None:
            self._blob = spill.Blob(self._path)
        return self._store, self._blob.append(text), len(text)

    def flush(self) -> None:
        """Let others read what there is."""
        if self._blob is not None:
            self._blob.flush()


class Worker:
    """What one process has."""

    def __init__(
        self,
        number: int,
        folder: Path,
        stores: int,
        partitions: int,
        names: Sequence[str],
        context: Context,
        wanted: Wanted,
    ) -> None:
        gc.disable()  # what is read has no cycles: to look for some takes longer than all else
        self._folder = folder
        self._checks = judging.chosen(names)
        self._context = context
        self._wanted = wanted
        self._glance: Glance = {}
        self._plans: dict[int, _Plan] = {}
        self._kept = _Kept(body_file(folder, number), stores + number)
        self._rows = spill.Writer(folder / f"rows-{number}", partitions)
        self._units = spill.Writer(folder / f"units-{number}", partitions)

    def abandoned(self) -> None:
        """The process that we work for is gone: leave nothing."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def map(self, given: Range) -> tuple[Found, int]:
        """Decode a range of lines, and put aside its rows; what was found, and how many lines it had.
        Raises CannotStart."""
        mapper = Mapper(self._wanted, given.number, given.store, self._kept)
        count, partitions, add = 0, self._rows.partitions, self._rows.add
        for block in audit_files.blocks(given.file, given.start, given.end):
            count = block.number + len(block.lines) - 1
            if block.flaw:
                count = block.number
                mapper.found.lines += 1
                mapper.found.flaw(block.flaw, block.number)
                continue
            for row in mapper.rows(block.lines, block.number, block.offset):
                add(_hash(row[0], row[1]) % partitions, row)
        return mapper.found, count

    def written(self) -> list[tuple[str, list[tuple[int, int, int]]]]:
        """Where the rows are that were put aside since the last time: of writes, and of lives by unit.
        Raises CannotStart."""
        self._kept.flush()
        return [self._rows.finish(), self._units.finish()]

    def judge(self, slices: Slice, shelf: Shelf) -> Judged:
        """Judge the pods of one partition, and put lives aside for what must be judged together. Raises
        CannotStart."""
        tallies = [Tally(check) for check in self._checks]
        judged = Judged([])
        alike: Counter[int] = Counter()
        for (namespace, name), rows in self._named(slices, judged):
            asked = [logged(row, shelf) for row in rows]
            for life in lives_of(asked, cluster=self._context.cluster, namespace=namespace, name=name):
                alike[self._judge_life(life, tallies, judged.told)] += 1
        judged.lives = alike.total()
        for traits, count in alike.items():
            for position, told in self._plans[traits].told:
                judging.add_by_traits(tallies[position], told, count, self._context)
        judged.tallies = _sendable(tallies)
        return judged

    def _named(self, slices: Slice, judged: Judged) -> Iterator[tuple[tuple[str, str], list[Row]]]:
        """The rows of each namespace and name."""
        passes = -(-spill.size(slices) // _MOST_AT_ONCE)
        for one in range(passes):
            groups: dict[tuple[str, str], list[Row]] = {}
            counts: Counter[tuple[str, str]] = Counter()
            for rows in spill.read(slices):
                for row in rows:
                    key = row[:2]
                    if passes > 1 and _hash(*key) // self._rows.partitions % passes != one:
                        continue
                    group = groups.get(key)
                    if group is None:
                        groups[key] = [row]
                    elif len(group) < MOST_WRITES:
                        group.append(row)
                    else:
                        counts[key] += 1
            for key in counts:
                judged.crowded.append(f"pods named {key[0]}/{key[1]}")
                del groups[key]
            while groups:
                yield groups.popitem()

    def _judge_life(self, life: PodLife, tallies: Sequence[Tally], told: Told) -> int:
        """Have those checks look at a life that must; its traits, by which the others tell."""
        context = self._context
        traits = traits_of(life, context, self._glance)
        plan = self._plans.get(traits)
        if plan is None:
            plan = self._plans[traits] = self._plan(traits)
        if not plan.looks:
            return traits
        units: set[str] = set()
        for position, may_concern, apart in plan.looks:
            tally = tallies[position]
            concerned = may_concern and judging.add_life(tally, life, context)
            if apart:
                self._put_aside(tally, life, units, told, concerned=concerned)
        for unit in units:
            row = _row(unit, life)
            self._units.add(_hash(unit, "") % self._units.partitions, row, len(life.requests))
        return traits

    def _put_aside(
        self, tally: Tally, life: PodLife, units: set[str], told: Told, *, concerned: bool
    ) -> None:
        """Find out where else, and by whom, a life must be seen."""
        check = tally.check
        try:
            units |= _units(check, life, self._context, concerned=concerned)
            if check.units is not None:
                latest(told[check.name], check.units.tells(life, self._context))
        except Exception as error:
            judging.crashed(tally, error)

    def _plan(self, traits: int) -> _Plan:
        """Which checks lives with these traits may concern, and for which they may be put aside."""
        plan = _Plan()
        for position, check in enumerate(self._checks):
            may_concern = check.needs is None or bool(check.needs & traits)
            elsewhere = check.units is None or check.units.needs is None or bool(check.units.needs & traits)
            apart = judging.together(check, self._context) and (may_concern or elsewhere)
            said = None
            if may_concern and not apart and check.by_traits is not None:
                said = check.by_traits(traits, self._context)
            if said is not None:
                plan.told.append((position, said))
            elif may_concern or apart:
                plan.looks.append((position, may_concern, apart))
        return plan

    def judge_together(self, slices: Slice, shelf: Shelf, told: Told, ends: Seconds) -> Judged:
        """Judge the units of one partition."""
        tallies = [Tally(check) for check in self._checks]
        judged = Judged([])
        for unit, lives in self._by_unit(slices, shelf, tallies):
            for tally in tallies:
                check = tally.check
                if not judging.together(check, self._context):
                    continue
                about = self._context
                with judging.crashes_of(tally):
                    given = [
                        life
                        for life in lives
                        if unit in _units(check, life, about, concerned=_concerned(check, life, about))
                    ]
                    if check.units is not None:
                        about = replace(about, unit=unit, ends=ends, told=told.get(check.name, {}))
                    if given:
                        judging.add_unit(tally, given, about)
        judged.tallies = _sendable(tallies)
        return judged

    def _by_unit(
        self, slices: Slice, shelf: Shelf, tallies: Sequence[Tally]
    ) -> Iterator[tuple[str, list[PodLife]]]:
        passes = -(-spill.size(slices) // _MOST_AT_ONCE)
        for one in range(passes):
            groups: dict[str, list[Any]] = {}
            weights: Counter[str] = Counter()
            for rows in spill.read(slices):
                for row in rows:
                    unit = row[0]
                    if passes > 1 and _hash(unit, "") // self._units.partitions % passes != one:
                        continue
                    weights[unit] += len(row[4])
                    if weights[unit] <= MOST_WRITES:
                        groups.setdefault(unit, []).append(row)
            for unit in spill.crowded(weights, MOST_WRITES):
                for tally in tallies:
                    if tally.check.each is None and (tally.check.units is None) == (unit == WHOLE):
                        tally.unknowns[CROWDED] += 1
                groups.pop(unit, None)
            for unit in list(groups):
                yield unit, [_life(row, shelf, self._context.cluster) for row in groups.pop(unit)]


def latest(known: dict[str, Seconds], told: Iterable[tuple[str, Seconds]]) -> None:
    """Take in what units must know."""
    for name, at in told:
        if at >= known.get(name, at):
            known[name] = at


def _sendable(tallies: Sequence[Tally]) -> list[tuple[int, int, list[Violation], Counter[str]]]:
    return [(t.judged, t.violations, t.shown, t.unknowns) for t in tallies]


def _row(unit: str, life: PodLife) -> tuple[Any, ...]:
    """A life as it is put aside for a unit."""
    positions = {id(request): position for position, request in enumerate(life.requests)}
    asked = tuple(row_of(request) for request in life.requests if isinstance(request, LoggedRequest))
    versions = tuple(positions[id(version.writer)] for version in life.versions)
    return unit, life.namespace, life.name, life.uid, asked, versions


def _life(row: tuple[Any, ...], shelf: Shelf, cluster: str) -> PodLife:
    _, namespace, name, uid, asked, versions = row
    requests = tuple(logged(one, shelf) for one in asked)
    made = tuple(AnsweredVersion(requests[position]) for position in versions)
    return PodLife(cluster, namespace, name, uid, made, requests)


def _units(check: Check, life: PodLife, context: Context, *, concerned: bool) -> set[str]:
    """Where a check that judges lives together must see this one."""
    if check.units is None:
        return {WHOLE}
    units = set(check.units.seen_in(life, context))
    if concerned:
        units.add(check.units.home(life, context))
    return units


def _concerned(check: Check, life: PodLife, context: Context) -> bool:
    return check.concerns is None or check.concerns(life, context)


def _hash(namespace: str, name: str) -> int:
    """The same in every process."""
    return zlib.crc32(f"{namespace}/{name}".encode("utf-8", "surrogatepass"))


def body_file(folder: Path, number: int) -> Path:
    """Where a process keeps the events that stand in no file by themselves."""
    return folder / f"events-{number}"
