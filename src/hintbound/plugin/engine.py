"""Plays scenarios: many at once on a shared control plane, the exclusive ones one by one on a second one meanwhile.

One event loop serves the whole session. pytest asks for one verdict after the other; while it awaits one, the
scenarios that come next are already under way.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hintbound.plugin.applies import Unreadable
from hintbound.plugin.arena import Arena
from hintbound.plugin.behaviours import Behaviour
from hintbound.plugin.judgement import Judgement, judge
from hintbound.plugin.stage import Stage
from hintbound.protocol import Seconds, Verdict

UNDO_WITHIN: Seconds = 15.0
"""How long a scenario's cleanup may take; it never changes the verdict."""
SHARED, EXCLUSIVE = "shared", "exclusive"

Result = TypeVar("Result")


@dataclass(eq=False, slots=True)
class Scenario:
    """One test item: its behaviour and what to call with an Arena."""

    behaviour: Behaviour
    play: Callable[[Arena], Coroutine[Any, Any, None]]
    result: asyncio.Future[Judgement] | None = field(default=None)

    @property
    def lane(self) -> str:
        """The name of the stage it wants."""
        return EXCLUSIVE if self.behaviour.exclusive else SHARED


class Engine:
    """Owns the event loop and the stages of one session."""

    def __init__(self, *, jobs: int) -> None:
        self._jobs = jobs
        self._runner = asyncio.Runner()
        self._stages: dict[str, Stage] = {}
        self._lanes: dict[str, deque[Scenario]] = {}
        self._workers: list[asyncio.Task[None]] = []
        self.notes: list[str] = []
        """What went wrong in cleaning up; belongs into the report, changes no verdict."""

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run this on the session's loop until it is done; everything else on the loop goes on meanwhile.

        A first Ctrl-C (or SIGTERM, see the hooks) cancels it and raises KeyboardInterrupt.
        """
        return self._runner.run(work)

    def queue(self, scenarios: Iterable[Scenario]) -> None:
        """Take the scenarios of this session, in the order in which verdicts will be asked for."""
        for scenario in scenarios:
            self._lanes.setdefault(scenario.lane, deque()).append(scenario)

    @property
    def lanes(self) -> Sequence[str]:
        """The stages that the queued scenarios want."""
        return [name for name in (SHARED, EXCLUSIVE) if name in self._lanes]

    async def begin(self, stages: Iterable[Stage]) -> None:
        """Start playing on stages that have been started."""
        loop = asyncio.get_running_loop()
        for stage in stages:
            self._stages[stage.name] = stage
            queue = self._lanes.get(stage.name, deque())
            for scenario in queue:
                scenario.result = loop.create_future()
            workers = 1 if stage.name == EXCLUSIVE else self._jobs
            for number in range(min(workers, len(queue))):
                work = self._work(stage, queue)
                self._workers.append(asyncio.create_task(work, name=f"{stage.name} {number}"))

    async def verdict(self, scenario: Scenario) -> Judgement:
        """The judgement of one scenario, when it is there."""
        assert scenario.result is not None, "the engine has not begun"
        return await asyncio.shield(scenario.result)

    async def end(self) -> None:
        """Cancel what still plays (its cleanup runs), close the stages."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers.clear()
        await asyncio.gather(*(stage.close() for stage in self._stages.values()))
        self._stages.clear()

    def close(self) -> None:
        """Close the loop. A Ctrl-C during the clean-up is put off until it is done."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._runner.run(self.end())
        finally:
            self._runner.close()
            signal.signal(signal.SIGINT, before)

    async def _work(self, stage: Stage, queue: deque[Scenario]) -> None:
        while queue:
            scenario = queue.popleft()
            assert scenario.result is not None
            try:
                judgement = await self._play(scenario, stage)
            except asyncio.CancelledError:
                scenario.result.set_result(Judgement(Verdict.UNKNOWN, "interrupted", cluster=stage.name))
                raise
            except Exception as error:  # a bug of ours must not leave the item waiting
                judgement = Judgement(Verdict.UNKNOWN, f"hintbound broke off: {error!r}", error=error)
            scenario.result.set_result(judgement)

    async def _play(self, scenario: Scenario, stage: Stage) -> Judgement:
        if excuse := self._excuse(scenario.behaviour, stage):
            return excuse
        loop = asyncio.get_running_loop()
        started = loop.time()
        arena = Arena(stage, scenario.behaviour)
        error: BaseException | None = None
        flaws: list[str] = []
        try:
            async with asyncio.timeout(scenario.behaviour.deadline):
                await arena.open()
                await scenario.play(arena)
        except TimeoutError as late:
            error = late if str(late) else TimeoutError(f"its deadline of {scenario.behaviour.deadline:g} s passed")
        except Exception as raised:
            error = raised
        try:
            if not isinstance(error, TimeoutError):
                record = await arena.settle()
                flaws += [] if record.complete else [record.reason]
        finally:
            await self._undo(arena)
        flaws += stage.deaths(arena.namespace)
        verdict, reason = judge(error, tuple(flaws))
        took = round(loop.time() - started, 3)
        return Judgement(verdict, reason, took, arena.namespace, stage.name, error=error)

    def _excuse(self, behaviour: Behaviour, stage: Stage) -> Judgement | None:
        """Why a behaviour is not played on this stage, if so."""
        if lacking := sorted(behaviour.needs - stage.cluster.capabilities):
            reason = f"the {stage.cluster.provider} cluster does not offer {', '.join(lacking)}"
            return Judgement(Verdict.SKIP, reason, cluster=stage.name)
        try:
            if behaviour.applies.holds(stage.facts):
                return None
        except Unreadable as unreadable:
            return Judgement(Verdict.SKIP, str(unreadable), cluster=stage.name)
        return Judgement(Verdict.NOT_SUPPORTED, f"applies only if {behaviour.applies}", cluster=stage.name)

    async def _undo(self, arena: Arena) -> None:
        """Clean up, also when we are being cancelled."""
        undo = asyncio.create_task(arena.close(), name=f"undo {arena.namespace}")
        try:
            async with asyncio.timeout(UNDO_WITHIN):
                await asyncio.shield(undo)
        except TimeoutError:
            self.notes.append(f"cleaning up {arena.namespace} took longer than {UNDO_WITHIN:g} s")
        except asyncio.CancelledError:
            await asyncio.wait([undo], timeout=UNDO_WITHIN)
            raise
        except Exception as error:
            self.notes.append(f"cleaning up {arena.namespace} failed: {error}")
