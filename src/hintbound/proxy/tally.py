"""A rule in force: whether it acts now, how often it did, and what waits for it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from hintbound.protocol import Seconds
from hintbound.proxy.rules import Rule
from hintbound.proxy.timing import Clock


class Tally:
    """The running state of one rule."""

    def __init__(self, rule: Rule, now: Callable[[], Seconds] = time.monotonic) -> None:
        self.rule = rule
        self.fitted: Counter[str] = Counter()
        """By actor: requests or events that fit, acted upon or not."""
        self.hits: Counter[str] = Counter()
        """By actor: how often it bit."""
        self.unreadable: Counter[str] = Counter()
        """By actor: how often a body was not JSON and had to be."""
        self.waiting: Counter[str] = Counter()
        """By actor: what is held now."""
        self.memory: dict[Hashable, Any] = {}
        """What its effects keep from one exchange to the next."""
        self._clock = Clock(rule.when, now(), now)
        self._now = now
        self._lifted = asyncio.Event()
        self._bit = asyncio.Event()

    @property
    def in_force(self) -> bool:
        """Whether it can still act."""
        return not self._lifted.is_set() and not self._clock.over

    def allows(self, actor: str, obj: Hashable) -> bool:
        """Count a request or event that fits; whether it is to be acted upon."""
        if self._lifted.is_set():
            return False
        self.fitted[actor] += 1
        return self._clock.allows(actor, obj)

    def hit(self, actor: str) -> None:
        """It bit."""
        self.hits[actor] += 1
        self._bit.set()

    async def until_hit(self) -> None:
        """Wait until it has bitten anybody."""
        await self._bit.wait()

    def lift(self) -> None:
        """Let go what is held, and act no more."""
        self._lifted.set()

    async def until_lifted(self, actor: str, limit: Seconds | None, *, counts: bool = True) -> None:
        """Wait until it acts no more, or for so long. `counts`: as something that it holds."""
        ends = self._clock.ends_in
        limits = [one for one in (limit, ends) if one is not None]
        self.waiting[actor] += counts
        try:
            async with asyncio.timeout(min(limits) if limits else None):
                await self._lifted.wait()
        except TimeoutError:
            pass
        finally:
            self.waiting[actor] -= counts

    def told(self) -> dict[str, Any]:
        """Everything counted, as JSON."""
        counted = {
            "fitted": self.fitted,
            "hits": self.hits,
            "unreadable": self.unreadable,
            "waiting": +self.waiting,
        }
        return {"name": self.rule.name, "inForce": self.in_force, **{k: dict(v) for k, v in counted.items()}}
