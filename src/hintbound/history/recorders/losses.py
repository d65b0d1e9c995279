"""What a recorder lost: kept for whoever asks it, and written to the history for whoever reads that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source
from hintbound.history.store import Store


class Witness:
    """What every recorder tells of what it lost; see Recorder."""

    _losses: Losses

    @property
    def gaps(self) -> list[str]:
        """What was missed so far, in words."""
        return self._losses.gaps

    @property
    def trouble(self) -> str:
        """Why nothing is recorded any more; empty while all is well."""
        return self._losses.trouble


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
