"""Audit logs read simply: in one process, in memory, nothing spilled. What `logs.judge` does must come to the
same."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from hintbound.checks.records import Intake
from hintbound.history import PodLife, audit_files
from hintbound.history.audit_found import Wanted
from hintbound.history.audit_lives import lives_of
from hintbound.history.audit_map import Keep, Mapper
from hintbound.history.audit_requests import LoggedRequest, Row, Shelf, logged


class _Kept(Keep):
    """In a file of which only this knows: it is as long as the test."""

    def __init__(self, store: int) -> None:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            self.path = Path(file.name)
        self._store = store

    def __call__(self, text: bytes) -> tuple[int, int, int]:
        begin = self.path.stat().st_size
        with self.path.open("ab") as file:
            file.write(text)
        return self._store, begin, len(text)


def in_memory(files: Sequence[str], wanted: Wanted) -> tuple[list[PodLife], Intake]:
    """The lives in these logs, and what was read."""
    intake, rows, ranges = Intake(files=len(files)), list[Row](), []
    keep = _Kept(len(files))
    for number, file in enumerate(files):
        plain = audit_files.plain(file)
        mapper = Mapper(wanted, number, number if plain else None, keep)
        for block in audit_files.blocks(file):
            if block.flaw:
                mapper.found.lines += 1
                mapper.found.flaw(block.flaw, block.number)
            rows += mapper.rows(block.lines, block.number, block.offset)
        intake.add(mapper.found, file, 0)
        ranges.append((file, 0))
    shelf = Shelf([*files, str(keep.path)], ranges)
    parts: dict[tuple[str, str], list[LoggedRequest]] = defaultdict(list)
    for row in rows:
        parts[row[0], row[1]].append(logged(row, shelf))
    lives = [
        life
        for (namespace, name), asked in sorted(parts.items())
        for life in lives_of(asked, namespace=namespace, name=name)
    ]
    intake.pods = len(lives)
    return lives, intake
