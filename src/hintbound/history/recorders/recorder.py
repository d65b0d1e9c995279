"""What every recorder says of itself: what it records, what it missed, and whether it still lives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source
from hintbound.history.store import Store


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


class Losses:
    """A recorder's losses, kept in memory and written to the history where it still can be."""

    def __init__(self, store: Store, *, source: Source, cluster: str) -> None:
        self._store = store
        self._source = source
        self._cluster = cluster
        self.gaps: list[str] = []
        self.trouble = ""

    def gap(self, reason: str, data: Mapping[str, Any] | None = None) -> None:
        """Events were missed."""
        self.gaps.append(reason)
        self._append(Kind.GAP, reason, data)

    def died(self, reason: str) -> None:
        """Recording ended for good and nobody asked for it."""
        if not self.trouble:
            self.trouble = reason
            self._append(Kind.DIED, reason, None)

    def _append(self, kind: Kind, reason: str, data: Mapping[str, Any] | None) -> None:
        try:
            self._store.append(
                kind, source=self._source, cluster=self._cluster, data={"reason": reason, **(data or {})}
            )
        except CannotStart as error:
            self.trouble = self.trouble or str(error)
