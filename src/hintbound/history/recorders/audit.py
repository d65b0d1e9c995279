"""The audit recorder: follows audit logs, keeps every line, and puts those about pods into the history.

A log is read every few milliseconds instead of being subscribed to: reading at the end of a file costs
microseconds, and works on every platform and on a log that is mounted from elsewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import orjson

from hintbound.errors import CannotStart
from hintbound.history.audit_lines import about_pods, event_fields
from hintbound.history.events import Source
from hintbound.history.recorders.losses import Losses, Witness
from hintbound.history.recorders.tail import Tail
from hintbound.history.store import Store
from hintbound.protocol import Seconds

AUDIT_FILE: Final = "audit.ndjson"

_BUSY_TICK: Final[Seconds] = 0.005
_IDLE_TICK: Final[Seconds] = 0.02
_BUSY_TICKS: Final = 40
"""A log that spoke within this many ticks is likely to speak again: look more often."""


class AuditRecorder(Witness):
    """Follows the audit logs of one cluster. `async with` records; its end takes in the rest."""

    source: Final = Source.AUDIT

    def __init__(
        self, store: Store, logs: Sequence[Path], *, copy: Path, cluster: str = "", from_start: bool = True
    ) -> None:
        """Follow `logs` (they need not exist yet), appending each whole line to `copy`.

        With `from_start` false, what a log holds already is passed over: a production log may be huge.
        """
        self.cluster = cluster
        self.others: Counter[str] = Counter()
        """How many lines were about something else, or could not be read, by reason."""
        self._store = store
        self._losses = Losses(store, source=self.source, cluster=cluster)
        self._tails = [Tail(log, from_start=from_start) for log in logs]
        self._copy_path = copy
        self._copy = -1
        self._task: asyncio.Task[None] | None = None

    def follow(self, log: Path) -> None:
        """Record one more log, from its first line on; a log that is followed already is left as it is."""
        if all(tail.path != log for tail in self._tails):
            self._tails.append(Tail(log))

    async def __aenter__(self) -> Self:
        """Begin.

        Raises:
            CannotStart: the copy cannot be written.
        """
        try:
            self._copy = os.open(
                self._copy_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
            )
        except OSError as error:
            raise CannotStart(
                f"the audit record {self._copy_path} cannot be written: {error.strerror or error}.",
                next_step="Choose a folder for reports that is writable.",
            ) from error
        self._task = asyncio.create_task(self._run(), name=f"audit recorder {self.cluster}".rstrip())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        while not self.trouble and self._guarded_sweep():
            pass
        for tail in self._tails:
            tail.close()
        if self._copy >= 0:
            os.close(self._copy)
            self._copy = -1

    async def _run(self) -> None:
        quiet = _BUSY_TICKS
        while not self.trouble:
            quiet = 0 if self._guarded_sweep() else quiet + 1
            await asyncio.sleep(_BUSY_TICK if quiet < _BUSY_TICKS else _IDLE_TICK)

    def _guarded_sweep(self) -> bool:
        """One look at every log; whether something was there. A recorder that fails says so and stops."""
        try:
            return sum(self._sweep(tail) for tail in self._tails) > 0
        except Exception as error:
            self._losses.died(f"the audit recorder stopped: {type(error).__name__}: {error}")
            return False

    def _sweep(self, tail: Tail) -> int:
        lines = tail.lines()
        if lines:
            _write_whole(self._copy, b"".join(lines))
        for line in lines:
            self._record(line, tail)
        for reason in tail.take_losses():
            self._losses.gap(reason)
        return len(lines)

    def _record(self, line: bytes, tail: Tail) -> None:
        if b'"pods"' not in line and b'"bindings"' not in line:
            self.others["another resource"] += 1
            return
        try:
            event = orjson.loads(line)
            wanted = about_pods(event)
        except (ValueError, AttributeError):
            self.others["not an audit event"] += 1
            self._losses.gap(f"a line of {tail.path.name} is no audit event: {line[:80]!r}")
            return
        if not wanted:
            self.others["another resource"] += 1
            return
        self._append(event)

    def _append(self, event: dict[str, Any]) -> None:
        fields = event_fields(
            event
        )  # whole lists that were read are left out; the copy of the log keeps them
        self._store.append(fields.pop("kind"), source=self.source, cluster=self.cluster, **fields)


def _write_whole(fd: int, data: bytes) -> None:
    """Write everything: an interrupted or short write must not leave half a line in the middle."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
