"""What an effect is given: for whom it acts, what its rule has kept, and where it counts what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from hintbound.protocol import Seconds
from hintbound.proxy.messages import Answer, Request
from hintbound.proxy.tally import Tally
from hintbound.proxy.target import Target


@dataclass(slots=True)
class Act:
    """One rule at work on one exchange."""

    tally: Tally
    actor: str
    target: Target
    note: Callable[[str, str], None]
    """Takes down the rule's name and what it did."""
    send: Callable[[Request], Awaitable[Answer]]
    """Sends a request to the apiserver, by no other rule's leave. Raises Lost."""
    later: Callable[[Coroutine[Any, Any, None]], None]
    """Lets something go on after the exchange, until the proxy stops."""

    def hit(self, what: str) -> None:
        """It bit."""
        self.tally.hit(self.actor)
        self.note(self.tally.rule.name, what)

    def unreadable(self, why: str) -> None:
        """It could not tell, or could not do it, for something is not JSON."""
        self.tally.unreadable[self.actor] += 1
        self.note(self.tally.rule.name, f"unreadable: {why}")

    async def until_lifted(self, limit: Seconds | None = None) -> None:
        """Wait until the rule is released, removed or over, or for so long."""
        await self.tally.until_lifted(self.actor, limit)
