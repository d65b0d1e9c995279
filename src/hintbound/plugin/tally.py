"""How often a component did something: differences of its own counters."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from hintbound.clusters.protocol import Component
from hintbound.plugin.judgement import NotSeen, Unproven
from hintbound.protocol import Seconds

_LOOK: Seconds = 0.05


class Tally:
    """Counts since it was begun, by one label of one counter (or of a histogram's `_count`)."""

    def __init__(self, component: Component, counter: str, by: str, before: Counter[str]) -> None:
        self._component = component
        self._counter = counter
        self._by = by
        self._before = before

    @classmethod
    async def begin(cls, component: Component, counter: str, *, by: str, patience: Seconds) -> Tally:
        """Read what was counted before. Raises Unproven when the component does not count it at all.

        To be called when it has been counted at least once: a counter that was never raised is not on the
        page, and one that is gone in some version must not be taken for zero.
        """
        tally = cls(component, counter, by, Counter())
        try:
            async with asyncio.timeout(patience):
                while not (before := await tally._read()):  # noqa: ASYNC110 - metrics cannot be watched
                    await asyncio.sleep(_LOOK)
        except TimeoutError:
            raise Unproven(
                f"{component.name} does not count {counter}, so nothing can be shown by it"
            ) from None
        return cls(component, counter, by, before)

    async def so_far(self) -> Counter[str]:
        """What was counted since `begin`, by label; labels that did not move are 0."""
        now = await self._read()
        return Counter({label: now[label] - self._before[label] for label in now | self._before})

    async def until(
        self, holds: Callable[[Counter[str]], bool], what: str, *, patience: Seconds = 20.0
    ) -> Counter[str]:
        """The first counts seen for which this holds; for what no object tells of. Raises NotSeen."""
        counts: Counter[str] = Counter()
        try:
            async with asyncio.timeout(patience):
                while not holds(counts := await self.so_far()):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(_LOOK)
        except TimeoutError:
            told = ", ".join(f"{label}={count}" for label, count in sorted(counts.items()) if count)
            raise NotSeen(
                f"awaited for {patience:g} s: {what}; counted instead: {told or 'nothing'}"
            ) from None
        return counts

    async def _read(self) -> Counter[str]:
        page = await self._component.metrics(self._counter.removesuffix("_count"))
        found: Counter[str] = Counter()
        for sample in page.select(self._counter):
            found[sample.labels.get(self._by, "")] += int(sample.value)
        return found
