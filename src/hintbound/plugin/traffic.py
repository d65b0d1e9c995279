"""Mixed traffic: what workloads, a nominator and operators do to a few nodes at once, drawn by a seed.

What was drawn is the same for the same seed; how the acts meet is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from hintbound.clusters.protocol import Component
from hintbound.kube import resources
from hintbound.kube.errors import NotFound
from hintbound.kube.exchange import Json
from hintbound.plugin.pods import Pod
from hintbound.plugin.writer import ScriptedWriter
from hintbound.protocol import Seconds

if TYPE_CHECKING:
    from hintbound.plugin.arena import Arena

STREAMS: Final = 4
"""So many act at the same time."""
PAUSE: Final[Seconds] = 0.4
"""How long a scheduler is made to stand still."""

Act = Callable[[random.Random], Awaitable[None]]


class Traffic:
    """Acts upon pods and nodes of one scenario, with a nominator that is judged."""

    def __init__(self, arena: Arena, nodes: Sequence[str], scheduler: Component) -> None:
        self._arena = arena
        self._nodes = nodes
        self._scheduler = scheduler
        self._down = asyncio.Lock()
        self._writer = ScriptedWriter(arena)
        self._pods: list[Pod] = []
        self._hinted: set[tuple[Pod, str]] = set()
        self._cordoned: set[str] = set()
        self._weights: dict[Act, int] = {
            self._arrives: 8,
            self._arrives_hinted: 8,
            self._hint_is_moved: 3,
            self._waiting_is_hinted: 3,
            self._preempts: 4,
            self._never_preempts: 1,
            self._leaves: 6,
            self._cordon_turns: 2,
            self._scheduler_pauses: 1,
            self._scheduler_is_killed: 1,
        }

    async def play(self, acts: int, draw: random.Random) -> None:
        """So many acts; then every node is open again and the scheduler runs."""
        drawn = draw.choices(list(self._weights), list(self._weights.values()), k=acts)
        seeded = [(act, random.Random(draw.random())) for act in drawn]
        await asyncio.gather(*(self._stream(seeded[first::STREAMS]) for first in range(STREAMS)))
        for node in sorted(self._cordoned):
            await self._cordon(node, False)

    async def drain(self) -> None:
        """Remove what is bound until nothing waits: in the end every pod was bound. Raises NotSeen."""
        while waiting := [pod for pod, seen in await self._now() if not seen["spec"].get("nodeName")]:
            for pod, seen in await self._now():
                if seen["spec"].get("nodeName"):
                    await self._remove(pod)
            await self._one_bound(waiting)

    async def _one_bound(self, waiting: Sequence[Pod]) -> None:
        """Wait until the first of them is bound, whichever it is. Raises NotSeen."""
        awaited = [asyncio.create_task(self._arena.bound(pod)) for pod in waiting]
        try:
            done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            for task in awaited:
                task.cancel()
            await asyncio.gather(*awaited, return_exceptions=True)

    async def _stream(self, acts: Sequence[tuple[Act, random.Random]]) -> None:
        for act, draw in acts:
            await act(draw)

    async def _now(self) -> list[tuple[Pod, Json]]:
        """Our pods as they are, those that are going away left out."""
        ours = {pod.uid: pod for pod in self._pods}
        answer = await self._arena.admin.request("GET", resources.PODS.path(self._arena.namespace))
        return [
            (ours[item["metadata"]["uid"]], item)
            for item in answer.body["items"]
            if item["metadata"]["uid"] in ours and "deletionTimestamp" not in item["metadata"]
        ]

    async def _arrives(self, draw: random.Random) -> None:
        priority = draw.choice([None, "hintbound-low", "hintbound-mid"])
        self._pods.append(
            await self._arena.pod(cpu=draw.choice("123"), priority=priority, grace=draw.choice([0, 1]))
        )

    async def _arrives_hinted(self, draw: random.Random, hints: int = 1) -> None:
        pod = await self._arena.gated_pod(cpu=draw.choice("123"), priority="hintbound-low")
        self._pods.append(pod)
        for _ in range(hints):
            await self._hint(pod, draw.choice(self._nodes))
        with contextlib.suppress(NotFound):
            await self._arena.ungate(pod)

    async def _hint_is_moved(self, draw: random.Random) -> None:
        await self._arrives_hinted(draw, hints=2)

    async def _waiting_is_hinted(self, draw: random.Random) -> None:
        for pod, seen in await self._now():
            if not seen["spec"].get("nodeName"):
                await self._hint(pod, draw.choice(self._nodes))
                return

    async def _hint(self, pod: Pod, node: str) -> None:
        """Once for each pod and node: a hint that was taken away is not to be repeated."""
        if (pod, node) in self._hinted:
            return
        self._hinted.add((pod, node))

        async def chosen(_seen: Json) -> str:
            return node

        with contextlib.suppress(NotFound):
            await self._writer.hint(pod, chosen)

    async def _preempts(self, draw: random.Random) -> None:
        self._pods.append(
            await self._arena.pod("preemptor", cpu=draw.choice("234"), priority="hintbound-high")
        )

    async def _never_preempts(self, draw: random.Random) -> None:
        self._pods.append(await self._arena.pod("never", cpu=draw.choice("12"), priority="hintbound-never"))

    async def _leaves(self, draw: random.Random) -> None:
        if self._pods:
            await self._remove(draw.choice(self._pods))

    async def _remove(self, pod: Pod) -> None:
        with contextlib.suppress(NotFound):  # it was a victim, or another stream removed it
            await self._arena.delete(pod)

    async def _cordon_turns(self, draw: random.Random) -> None:
        node = draw.choice(self._nodes)
        await self._cordon(node, node not in self._cordoned)

    async def _cordon(self, node: str, closed: bool) -> None:
        change = {"spec": {"unschedulable": True if closed else None}}
        await self._arena.admin.patch(resources.NODES, node, change)
        (self._cordoned.add if closed else self._cordoned.discard)(node)

    async def _scheduler_pauses(self, _draw: random.Random) -> None:
        async with self._down:
            self._scheduler.pause()
            try:
                await asyncio.sleep(PAUSE)
            finally:
                self._scheduler.resume()

    async def _scheduler_is_killed(self, _draw: random.Random) -> None:
        async with self._down:
            await self._scheduler.kill()
            await self._scheduler.restart()
