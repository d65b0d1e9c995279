"""The fault proxies of one cluster: a listener for each actor that rules name and each apiserver that it
speaks to, and one book of rules for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from hintbound.kube.connection import Connection
from hintbound.protocol import Actor, ComponentKind
from hintbound.proxy import Book, FaultProxy, Rule, ServingAuthority, Witness

ACTORS: Final = (ComponentKind.SCHEDULER, ComponentKind.CONTROLLER_MANAGER, *Actor)
"""Who can stand behind one, by the name that rules have for it."""

MANY_IN_ONE: Final = ComponentKind.CONTROLLER_MANAGER
"""Each of its controllers speaks with a token of its own, so that its proxy passes tokens on."""

JSON_ONLY: Final = {"contentType": "application/json", "acceptContentTypes": "application/json"}
"""What a component's `clientConnection` says where a proxy reads along; else it speaks protobuf."""


class Proxies:
    """Of one cluster; nothing is listened on before `open`."""

    def __init__(
        self,
        rules: Sequence[Rule],
        connect: Callable[[str, str], Connection],
        witness: Witness | None = None,
    ) -> None:
        """`connect`: the way to a server (its URL) as an actor, without a proxy. `witness`: is told of all
        that passes."""
        self.book = Book()
        self.book.add(rules)
        self._connect = connect
        self._witness = witness
        self._named = frozenset(actor for rule in rules for actor in rule.actors)
        self._authority = ServingAuthority()
        self._listening: dict[tuple[str, str], FaultProxy] = {}

    def stand_before(self, actor: str) -> bool:
        """Whether this actor is to go through one."""
        return actor in self._named

    async def open(self, actor: str, server: str) -> FaultProxy | None:
        """The proxy between an actor and a server, by its URL; None where no rule that the cluster was made
        with is about the actor. Raises CannotStart."""
        return await self.listening(actor, server) if self.stand_before(actor) else None

    async def listening(self, actor: str, server: str) -> FaultProxy:
        """The proxy between an actor and a server, started if need be. Raises CannotStart."""
        if (actor, server) not in self._listening:
            proxy = FaultProxy(
                self._connect(server, actor),
                actor=actor,
                book=self.book,
                authority=self._authority,
                pass_identity=actor == MANY_IN_ONE,
                witness=self._witness,
            )
            self._listening[actor, server] = await proxy.start()
        return self._listening[actor, server]

    async def open_actors(self, server: str) -> None:
        """From here on those of our own actors that rules name speak to a server through a proxy. Raises
        CannotStart."""
        for actor in Actor:
            await self.open(actor, server)

    def between(self, actor: str, server: str) -> FaultProxy | None:
        """The one that an actor must go through, and that has been opened; None where there is none."""
        return self._listening.get((actor, server)) if self.stand_before(actor) else None

    def bites(self) -> list[str]:
        """What each rule did so far, a line each, and what went wrong in the proxies themselves."""
        told = []
        for tally in self.book:
            hits = ", ".join(f"{actor} {count} times" for actor, count in tally.hits.items())
            unread = sum(tally.unreadable.values())
            told.append(
                f"the rule {tally.rule.name} bit {hits or 'nobody'}"
                + (f"; {unread} bodies were no JSON and passed as they were" if unread else "")
            )
        return told + [
            f"the proxy of {p.actor}: {error!r}" for p in self._listening.values() for error in p.failures
        ]

    async def close(self) -> None:
        """End them all."""
        listening, self._listening = list(self._listening.values()), {}
        await asyncio.gather(*(proxy.stop() for proxy in listening))


def deviations(rules: Sequence[Rule]) -> list[str]:
    """What a report tells of a cluster with proxies, one sentence each."""
    behind = sorted({actor for rule in rules for actor in rule.actors})
    if not behind:
        return []
    told = [f"{', '.join(behind)} {'speak' if len(behind) > 1 else 'speaks'} HTTP/1.1 through a fault proxy"]
    told += [f"{kind} reads and writes JSON, not protobuf" for kind in behind if kind in list(ComponentKind)]
    return told
