"""Audit logs, however long, judged by all processors within bounded memory: puts the steps of `worker` one
behind the other."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final, cast

from hintbound.checks import spill
from hintbound.checks.judging import Tally
from hintbound.checks.model import Check, Context
from hintbound.checks.pool import Pool, Task, pool
from hintbound.checks.records import Intake
from hintbound.checks.worker import MOST_WRITES, Judged, Range, Told, Worker, body_file, latest
from hintbound.errors import CannotStart, cause
from hintbound.history import audit_files, audit_rotation
from hintbound.history.audit_found import Found, Wanted
from hintbound.history.audit_requests import Shelf, moment
from hintbound.protocol import Seconds

MOST_PROCESSES: Final = 6
"""More would need more than 512 MB together."""

Progress = Callable[[str, int, int], None]
"""What is done, how much of it, of how much (0: nobody knows)."""

_RANGE: Final = 16 << 20
_PARTITION: Final = 16 << 20
"""Bytes of a log whose rows make one partition, about."""
_MOST_PARTITIONS: Final = 1024
_OF_UNKNOWN: Final = 256
_GROWS: Final = 12
"""So much longer than it lies there is a compressed log, about."""


def processors() -> int:
    """How many processes judge, where the log is long enough."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(here, MOST_PROCESSES)


def judge(
    files: Sequence[str],
    checks: Sequence[Check],
    context: Context,
    wanted: Wanted,
    intake: Intake,
    *,
    progress: Progress = lambda what, done, of: None,
    processes: int | None = None,
) -> list[Tally]:
    """What checks find in audit logs of one cluster. Raises CannotStart, and WorkerDied.

    The logs are read again for what few checks ask, so they must stay as they are meanwhile.
    """
    expected = _expected(files)
    count = processors() if processes is None else processes
    with spill.scratch() as folder:
        copy = folder / "stdin"
        stores = [str(copy) if file == audit_files.STDIN else file for file in files]
        partitions = _partitions(files, count)
        names = [check.name for check in checks]
        with pool(count, Worker, folder, len(stores), partitions, names, context, wanted) as workers:
            ranges, slices, ends = _map(workers, files, copy, intake, progress, expected, partitions)
            bodies = [str(body_file(folder, number)) for number in range(count)]
            shelf = Shelf([*stores, *bodies], ranges)
            tallies = [Tally(check) for check in checks]
            told: Told = defaultdict(dict)
            steps: Iterator[Task] = (("judge", (slices.of(p), shelf)) for p in range(partitions))
            for done, (_, judged) in enumerate(workers.run(steps), 1):
                _add(tallies, judged, intake)
                for name, more in judged.told.items():
                    latest(told[name], more.items())
                progress("judging", done, partitions)
            units = _written(workers, partitions)[1]
            filled = [p for p in range(partitions) if units.of(p)]
            steps = (("judge_together", (units.of(p), shelf, dict(told), ends)) for p in filled)
            for _, judged in workers.run(steps):
                _add(tallies, judged, intake)
            return tallies


def _add(tallies: Iterable[Tally], judged: Judged, intake: Intake) -> None:
    for tally, more in zip(tallies, judged.tallies, strict=True):
        tally.add(Tally(tally.check, *more))
    intake.pods += judged.lives
    for what in judged.crowded:
        intake.losses[f"{what} have more than {MOST_WRITES} writes, and are not judged"] += 1


def _map(
    workers: Pool,
    files: Sequence[str],
    copy: Path,
    intake: Intake,
    progress: Progress,
    expected: int,
    partitions: int,
) -> tuple[list[tuple[str, int]], spill.Slices, Seconds]:
    """Map all lines: which lines each range has, where the rows are, when the last event was."""
    found: dict[int, tuple[Range, Found, int]] = {}
    done = 0
    for (_, (given, *_)), result in workers.run(("map", (r,)) for r in _ranges(files, copy)):
        found[given.number] = (given, *result)
        done += _length(given)
        progress("reading", done, expected)
    before: dict[str, int] = {}
    ranges = []
    for number in sorted(found):
        given, read, lines = found[number]
        name = audit_files.STDIN if given.file == str(copy) else given.file
        ranges.append((name, before.get(name, 0)))
        intake.add(read, name, before.get(name, 0))
        before[name] = before.get(name, 0) + lines
    intake.files += len(files)
    begun = {given.file: read.first for given, read, _ in found.values() if not given.start}
    for hole in audit_rotation.missing(begun):
        intake.losses[hole] += 1
    last = max((read.last for _, read, _ in found.values()), default="")
    return ranges, _written(workers, partitions)[0], moment(last) if last else 0.0


def _written(workers: Pool, partitions: int) -> tuple[spill.Slices, spill.Slices]:
    rows, units = spill.Slices(partitions), spill.Slices(partitions)
    for of_rows, of_units in workers.each(("written", ())):
        rows.add(*of_rows)
        units.add(*of_units)
    return rows, units


def _ranges(files: Sequence[str], copy: Path) -> Iterator[Range]:
    number = 0
    for store, file in enumerate(files):
        if file == audit_files.STDIN:
            pieces: Iterable[tuple[int, int | None]] = _from_stdin(copy)
        elif audit_files.plain(file):
            size = Path(file).stat().st_size
            pieces = [(start, min(start + _RANGE, size)) for start in range(0, size, _RANGE)]
        else:
            yield Range(number, file, None)
            number += 1
            continue
        for start, end in pieces:
            yield Range(number, str(copy) if file == audit_files.STDIN else file, store, start, end)
            number += 1


def _from_stdin(copy: Path) -> Iterator[tuple[int, int]]:
    """Take stdin down into a file, as it comes: ranges of it that are whole lines. Raises CannotStart."""
    blob = spill.Blob(copy)
    begin = 0
    try:
        # `read` looks for signals only where it has to wait, and sleeps over one that came just before.
        while data := cast(BufferedReader, sys.stdin.buffer).read1(1 << 20):
            at = blob.append(data)
            end = at + data.rfind(b"\n") + 1
            if end > at and end - begin >= _RANGE:
                blob.flush()
                yield begin, end
                begin = end
    except OSError as error:
        raise CannotStart(f"stdin cannot be read: {cause(error)}.") from error
    blob.flush()
    if blob.size > begin:
        yield begin, blob.size


def _length(given: Range) -> int:
    return (given.end or Path(given.file).stat().st_size) - given.start


def _expected(files: Sequence[str]) -> int:
    """Bytes to read; 0 when nobody knows."""
    if any(file == audit_files.STDIN or not Path(file).is_file() for file in files):
        return 0
    return sum(Path(file).stat().st_size for file in files)


def _partitions(files: Sequence[str], processes: int) -> int:
    """So many that the rows of each fit into memory."""
    length = 0
    for file in files:
        if file == audit_files.STDIN or not Path(file).is_file():
            return _OF_UNKNOWN
        length += Path(file).stat().st_size * (1 if audit_files.plain(file) else _GROWS)
    return max(2 * processes, min(-(-length // _PARTITION), _MOST_PARTITIONS))
