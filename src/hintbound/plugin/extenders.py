"""A scheduler extender that scenarios play themselves: it records what it is asked, and can refuse, fail or
hold."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hintbound.plugin.served import LOOPBACK, served


@dataclass
class Extender:
    """What the extender says from now on, and what it was asked."""

    url: str = ""
    error: str = ""
    """When not empty, the answer to every question."""
    refused: set[str] = field(default_factory=set)
    """Nodes that it filters out."""
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    """Per filtering: the pod's name and the nodes in question, sorted."""
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    """Pods by name whose answer waits until the event is set."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a held pod is being asked for."""

    @property
    def config(self) -> dict[str, Any]:
        """For `Arena.own_scheduler`."""
        extender = {"urlPrefix": self.url, "filterVerb": "filter", "nodeCacheCapable": True}
        return {"extenders": [{**extender, "httpTimeout": "60s"}]}

    def of(self, pod: str) -> list[list[str]]:
        """The nodes in question of each filtering of a pod."""
        return [nodes for name, nodes in self.asked if name == pod]

    async def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The ExtenderFilterResult for these ExtenderArgs."""
        name, nodes = question["Pod"]["metadata"]["name"], sorted(question["NodeNames"] or ())
        self.asked.append((name, nodes))
        if name in self.held:
            self.arrived.set()
            await self.held[name].wait()
        if self.error:
            return {"Error": self.error}
        failed = {node: "refused by the extender" for node in nodes if node in self.refused}
        return {"NodeNames": [node for node in nodes if node not in failed], "FailedNodes": failed}


@contextlib.asynccontextmanager
async def extender() -> AsyncIterator[Extender]:
    """An extender that serves on loopback, and lets every node pass until it is told otherwise."""
    played = Extender()

    async with served(played.answer, path="/filter") as port:
        played.url = f"http://{LOOPBACK}:{port}"
        try:
            yield played
        finally:
            for event in played.held.values():
                event.set()
