"""Notices when hintbound itself stood still: what was not seen meanwhile may have come all the same.

A suspended process, a paused machine, a test that blocks the loop: on waking, time limits have run out before
the events that came in time have been read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hintbound.protocol import Seconds

BEAT: Seconds = 0.25
TOLERATED: Seconds = 3.0
"""A busy machine is late by less; limits are several times this."""


class Heartbeat:
    """Beats on the loop until cancelled."""

    def __init__(self, clock: Callable[[], Seconds] = time.monotonic) -> None:
        self._clock = clock
        self._stalls: list[tuple[Seconds, Seconds]] = []

    async def beat(self) -> None:
        """Run this as a task."""
        while True:
            before = self._clock()
            await asyncio.sleep(BEAT)
            now = self._clock()
            if now - before > BEAT + TOLERATED:
                self._stalls.append((before, now))

    def since(self, moment: Seconds) -> list[str]:
        """The times it stood still that ended after this moment of the clock, in words."""
        return [
            f"hintbound itself stood still for {end - begin:.0f} s"
            for begin, end in self._stalls
            if end > moment
        ]
