"""Rules of fault proxies that one scenario puts in force: for its own objects only, and gone with it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from hintbound.clusters.protocol import Cluster, Proxied
from hintbound.history.events import Kind
from hintbound.plugin.judgement import Unproven
from hintbound.protocol import Seconds
from hintbound.proxy import Book
from hintbound.proxy.tally import Tally

BITES_WITHIN: Final[Seconds] = 10.0
"""How long after all else a rule may still be about to bite."""


class RuleInForce:
    """A rule, and whether it bit."""

    def __init__(self, book: Book, name: str) -> None:
        self._book = book
        self._name = name
        self._tally: Tally = book.tally(name)

    def release(self) -> None:
        """Let go what it holds; it acts no more."""
        self._book.release(self._name)

    async def bit(self) -> None:
        """Wait until it did its work, without which the scenario shows nothing. Raises Unproven.

        What it does to an answer it does later than the watch shows what was asked.
        """
        try:
            async with asyncio.timeout(BITES_WITHIN):
                await self._tally.until_hit()
        except TimeoutError:
            raise Unproven(f"the fault never bit: {self._name}") from None


class Rules:
    """Of one scenario."""

    def __init__(
        self, cluster: Cluster, namespace: str, append: Callable[[Kind, Mapping[str, Any]], None]
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._append = append
        self._names: dict[str, RuleInForce] = {}
        self._counter = itertools.count(1)

    def add(self, what: str, said: Mapping[str, Any]) -> RuleInForce:
        """Put one in force. Raises CannotStart for what is none."""
        assert isinstance(self._cluster, Proxied), "a behaviour names what it needs: ACTOR_PROXY"
        name = f"{what} ({self._namespace}, {next(self._counter)})"
        match = {**said.get("match", {}), "namespace": self._namespace}
        self._cluster.book().add({"name": name, **said, "match": match})
        self._names[name] = RuleInForce(self._cluster.book(), name)
        self._append(Kind.FAULT_BEGAN, {"fault": what, "parameters": dict(said)})
        return self._names[name]

    def undoing(self) -> Iterator[Callable[[], Awaitable[object]]]:
        """Steps that take them out of force, the last one first."""
        for name in reversed(self._names):
            yield lambda name=name: self._remove(name)  # type: ignore[misc]

    async def _remove(self, name: str) -> None:
        assert isinstance(self._cluster, Proxied)
        tally = self._cluster.book().remove(name)
        data = {
            "fault": name.partition(" (")[0],
            "hits": {str(actor): hits for actor, hits in tally.hits.items()},
        }
        self._append(Kind.FAULT_ENDED, data)
