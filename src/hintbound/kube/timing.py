"""Clocks, sleep and back-off as parameters, so that tests need not wait and a seed repeats a run."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hintbound.protocol import Seconds


@dataclass(frozen=True, slots=True)
class Backoff:
    """Ever longer pauses up to a cap, with jitter so that many clients do not come back at once."""

    first: Seconds = 0.1
    cap: Seconds = 10.0
    random: random.Random = field(default_factory=random.Random)

    def pause(self, failures: int) -> Seconds:
        """The pause after so many failures in a row; none after none."""
        if failures == 0:
            return 0.0
        # The exponent is bounded: an outage of hours would overflow a float.
        longest = min(self.cap, self.first * 2.0 ** min(failures - 1, 64))
        return longest * self.random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Timing:
    """Where time comes from and how it is passed."""

    monotonic: Callable[[], Seconds] = time.monotonic
    wall: Callable[[], Seconds] = time.time
    sleep: Callable[[Seconds], Awaitable[None]] = asyncio.sleep
    backoff: Backoff = field(default_factory=Backoff)
