"""What every recorder says of itself: what it records, what it missed, and whether it still lives."""

from __future__ import annotations

from typing import Protocol

from hintbound.history.events import Source


class Recorder(Protocol):
    """A witness of a run. It never raises into what it witnesses: it tells here and in the record."""

    @property
    def source(self) -> Source:
        """The kind of events that it appends."""

    @property
    def cluster(self) -> str:
        """The cluster that it looks at."""

    @property
    def gaps(self) -> list[str]:
        """What it missed so far, in words; empty is what a record needs to be whole."""

    @property
    def trouble(self) -> str:
        """Why it records no more; empty while it does."""
