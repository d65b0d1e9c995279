"""Whether files are missing among rotated ones, as far as their names and first lines tell.

kube-apiserver rotates with lumberjack: the write that would make the file too long renames it after that very
moment, `audit-2026-11-30T10-00-00.000.log` (UTC), and goes into the new one. So the file after it begins at
the moment in its name, or one between them is missing. logrotate numbers files: `audit.log.1`, `audit.log.2`.

That the oldest files are gone, or the newest, nobody can tell: then the record only begins later, or ends
earlier. Nor is a file that several apiservers take turns to write told apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hintbound.history.audit_requests import moment, stamped
from hintbound.protocol import Seconds

LATE: Final[Seconds] = 60.0
"""So long after it was answered an event is written at most: the batch of a log backend is some seconds."""

_ROTATED: Final = re.compile(r"(?P<stem>.+)-(?P<at>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})(?P<suffix>\.\w+)?")
_NUMBERED: Final = re.compile(r"(?P<stem>.+)\.(?P<number>\d{1,4})")
_PACKED: Final = re.compile(r"\.(gz|zst|zstd)$")


def missing(first: Mapping[str, str]) -> list[str]:
    """What is missing, a sentence each. `first`: by file, when its first event was answered, as the log has
    it; empty where no event was found. Pure."""
    return sorted([*_between(first), *_numbers(first)])


def _between(first: Mapping[str, str]) -> Iterator[str]:
    rotated: dict[tuple[str, str], list[tuple[Seconds, str]]] = defaultdict(list)
    for file in first:
        if found := _ROTATED.fullmatch(_PACKED.sub("", file)):
            try:
                at = datetime.strptime(found["at"], "%Y-%m-%dT%H-%M-%S.%f").replace(tzinfo=UTC)
            except ValueError:
                continue
            rotated[found["stem"], found["suffix"] or ""].append((at.timestamp(), file))
    for (stem, suffix), parts in rotated.items():
        parts.sort()
        files = [file for _, file in parts]
        if (newest := f"{stem}{suffix}") in first:
            files.append(newest)
        for (ended, file), following in zip(parts, files[1:], strict=False):
            begun = _moment(first[following])
            if begun is not None and begun - ended > LATE:
                yield (
                    f"a rotated file between {file} and {Path(following).name} "
                    f"({begun - ended:.0f} s without an event)"
                )


def _numbers(files: Collection[str]) -> Iterator[str]:
    numbered: dict[str, set[int]] = defaultdict(set)
    for file in files:
        if found := _NUMBERED.fullmatch(_PACKED.sub("", file)):
            numbered[found["stem"]].add(int(found["number"]))
    for stem, numbers in numbered.items():
        least = 1 if stem in files else min(numbers)
        for number in sorted(set(range(least, max(numbers))) - numbers):
            yield f"the rotated file {stem}.{number}"


def _moment(stamp: str) -> Seconds | None:
    try:
        return moment(stamped(stamp))
    except ValueError:
        return None
