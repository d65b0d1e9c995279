"""Plays scenarios: many at once on a shared control plane, the exclusive ones one by one on a second one
meanwhile.

One event loop serves the whole session. pytest asks for one verdict after the other; while it awaits one, the
scenarios that come next are already under way.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hintbound.checks import ChecksFailed, Registered
from hintbound.clusters.protocol import Capability
from hintbound.errors import CannotStart
from hintbound.plugin.applies import Unreadable
from hintbound.plugin.arena import Arena
from hintbound.plugin.behaviours import Behaviour
from hintbound.plugin.checking import Checked, Sum
from hintbound.plugin.heartbeat import Heartbeat
from hintbound.plugin.interrupts import Interrupts, interrupts_put_off
from hintbound.plugin.judgement import DeadlinePassed, Judgement, NotSeen, judge, leading
from hintbound.plugin.loose_ends import LooseEnds, Watch
from hintbound.plugin.stage import Stage
from hintbound.protocol import Seconds, Verdict
from hintbound.subjects import Subject

UNDO_WITHIN: Seconds = 15.0
"""How long a scenario's cleanup may take; it never changes the verdict."""
DEAF_AFTER: Seconds = 5.0
"""How long a task that was cancelled may take to end; what takes longer is left behind."""
CLOSE_WITHIN: Seconds = 60.0
"""How long a stage may take to close."""
INTERRUPTED = "interrupted"
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

    @property
    def judged(self) -> Judgement | None:
        """What it came to; None as long as it has not ended."""
        return self.result.result() if self.result is not None and self.result.done() else None


class Engine:
    """Owns the event loop of one session and plays its scenarios."""

    def __init__(
        self, *, jobs: int, interrupts: Interrupts | None = None, checks: Sequence[Registered] = ()
    ) -> None:
        self._jobs = jobs
        self._checks = checks
        self._interrupts = interrupts or Interrupts()
        self._runner = asyncio.Runner()
        self._lanes: dict[str, deque[Scenario]] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._heartbeat = Heartbeat()
        self._watch = Watch()
        self.checked = Sum()
        self.notes: list[str] = []
        """What went wrong in cleaning up; belongs into the report, changes no verdict."""

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run this on the session's loop until it is done; everything else on the loop goes on meanwhile.

        An interrupt cancels it and raises KeyboardInterrupt; what else is on the loop is left to `close`.
        """
        try:
            result = self._runner.run(self._interruptible(work))
        except asyncio.CancelledError:
            if not self._interrupts.asked:
                raise
        if self._interrupts.asked:
            raise KeyboardInterrupt
        return result

    async def _interruptible(self, work: Coroutine[Any, Any, Result]) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def ask(heard: Callable[[], None]) -> None:
            loop.call_soon_threadsafe(heard)
            loop.call_soon_threadsafe(task.cancel)

        with self._interrupts.asking(ask):
            return await work

    def queue(self, scenarios: Iterable[Scenario]) -> None:
        """Take the scenarios of this session, in the order in which verdicts will be asked for."""
        for scenario in scenarios:
            self._lanes.setdefault(scenario.lane, deque()).append(scenario)

    @property
    def lanes(self) -> Sequence[str]:
        """The stages that the queued scenarios want."""
        return [name for name in (SHARED, EXCLUSIVE) if name in self._lanes]

    async def begin(self, stages: Sequence[Stage]) -> None:
        """Start playing on stages that have been started; who finds no stage of its name gets the first."""
        loop = asyncio.get_running_loop()
        self._watch.on(loop)
        self._workers.append(asyncio.create_task(self._heartbeat.beat(), name="heartbeat"))
        by_name = {stage.name: stage for stage in stages}
        shared: list[asyncio.Task[None]] = []
        for lane in self.lanes:
            queue = self._lanes[lane]
            for scenario in queue:
                scenario.result = loop.create_future()
            stage = by_name.get(lane, stages[0])
            if lane == SHARED:
                jobs = range(min(self._jobs, len(queue)))
                work = [self._work(stage, queue) for _ in jobs]
                shared = [
                    asyncio.create_task(one, name=f"{lane} {number}") for number, one in enumerate(work)
                ]
                self._workers += shared
            else:
                before = shared if stage is stages[0] else []
                alone = self._work(stage, queue, after=before)
                self._workers.append(asyncio.create_task(alone, name=lane))

    async def verdict(self, scenario: Scenario) -> Judgement:
        """The judgement of one scenario, when it is there."""
        assert scenario.result is not None, "the engine has not begun"
        return await asyncio.shield(scenario.result)

    def close(self, stages: Sequence[Stage]) -> None:
        """End what still plays (its cleanup runs), close the stages and the loop. An interrupt is put off
        meanwhile."""
        with interrupts_put_off():
            try:
                self._runner.run(self._end(stages))
            finally:
                self._watch.off()
                if not self._runner.run(self._abandon_the_deaf()):
                    self._runner.close()

    async def _end(self, stages: Sequence[Stage]) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers.clear()
        closing = [asyncio.create_task(stage.close(), name=f"close {stage.name}") for stage in stages]
        if not closing:
            return
        _, late = await asyncio.wait(closing, timeout=CLOSE_WITHIN)
        for stage, task in zip(stages, closing, strict=True):
            if task in late:
                self.notes.append(f"closing {stage.name} took longer than {CLOSE_WITHIN:g} s")
            elif error := task.exception():
                self.notes.append(f"closing {stage.name} failed: {error!r}")
            self.notes += stage.notes

    async def _abandon_the_deaf(self) -> int:
        """Cancel what a scenario left on the loop; how many do not end for it. The loop is closed without."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        deaf = (await asyncio.wait(left, timeout=DEAF_AFTER))[1] if left else set()
        self.notes += [f"a task would not end: {task.get_name()}" for task in deaf]
        return len(deaf)

    async def _work(
        self, stage: Stage, queue: deque[Scenario], after: Collection[asyncio.Task[None]] = ()
    ) -> None:
        """Play what is queued; `after`: those who play on the same cluster, and must have ended before."""
        while queue:
            scenario = queue.popleft()
            assert scenario.result is not None
            judgement = Judgement(Verdict.UNKNOWN, INTERRUPTED, cluster=stage.name)
            try:
                judgement = await self._play(scenario, stage, after)
            except Exception as error:  # a bug of ours must not leave the item waiting
                why = str(error) if isinstance(error, CannotStart) else f"hintbound broke off: {error!r}"
                judgement = Judgement(Verdict.UNKNOWN, why, cluster=stage.name, error=error)
            finally:
                stage.spoiled |= judgement.verdict in (Verdict.FAIL, Verdict.UNKNOWN)
                scenario.result.set_result(judgement)

    async def _play(
        self, scenario: Scenario, stage: Stage, after: Collection[asyncio.Task[None]]
    ) -> Judgement:
        if excuse := _excuse(scenario.behaviour, stage):
            return excuse
        if after:
            await asyncio.wait(after)
        clock = asyncio.get_running_loop().time
        began = clock()
        arena = Arena(stage, scenario.behaviour)
        loose = LooseEnds(_file(scenario))
        try:
            error = await _act(scenario, arena, loose)
            # Asked before all else: who stands still now may go on in a moment.
            lifeless = await arena.lifeless() if isinstance(leading(error), NotSeen) else []
            unended = await loose.end(DEAF_AFTER)
            if failures := loose.failures:
                error = BaseExceptionGroup("", [*([error] if error else []), *failures])
            unwhole = await _flaws(arena, error)
            checked = Checked() if unwhole or not _settles(error) else arena.checked(self._checks)
            self.checked.add(checked)
            flaws = [*unwhole, *checked.untold, *arena.deaths, *lifeless, *loose.forgotten]
            flaws += unended if error is None else []
            if failing := checked.failing:
                error = BaseExceptionGroup("", [*([error] if error else []), ChecksFailed(failing)])
            if isinstance(leading(error), NotSeen):
                flaws += self._heartbeat.since(began)
            verdict, reason = judge(error, flaws)
            shown = arena.evidence(leading(error)) if verdict in (Verdict.FAIL, Verdict.UNKNOWN) else ()
            shown = (*(line for finding in checked.findings for line in finding.lines()), *shown)
            took = round(clock() - began, 3)
            arena.finished(verdict, reason)
        finally:
            await self._undo(arena)
            arena.forget()
        own = tuple(arena.own_components)
        return Judgement(verdict, reason, took, arena.namespace, stage.name, shown, own, leading(error))

    async def _undo(self, arena: Arena) -> None:
        """Clean up, also when we are being cancelled; what goes wrong in it becomes a note."""
        undo = asyncio.create_task(arena.close(), name=f"undo {arena.namespace}")
        try:
            await asyncio.wait([undo], timeout=UNDO_WITHIN)
        except asyncio.CancelledError:
            await asyncio.wait([undo], timeout=UNDO_WITHIN)
            raise
        finally:
            if not undo.done():
                undo.cancel()
                self.notes.append(f"cleaning up {arena.namespace} took longer than {UNDO_WITHIN:g} s")
            elif not undo.cancelled() and (error := undo.exception()):
                self.notes.append(_told(error))


async def _act(scenario: Scenario, arena: Arena, loose: LooseEnds) -> BaseException | None:
    """Play it; what it raised, unless it was cancelled from outside.

    In a task of its own: a test that cancels its own task, or swallows a cancellation, takes nobody along.
    """
    deadline = scenario.behaviour.deadline
    play = asyncio.create_task(_open_and_play(scenario, arena, loose), name=f"play {arena.namespace}")
    try:
        await asyncio.wait([play], timeout=deadline)
        late = not play.done()
        awaiting = arena.awaiting or "nothing that the arena knows of"
    finally:
        if not play.done():
            play.cancel()
            await asyncio.wait([play], timeout=DEAF_AFTER)
        # Only a KeyboardInterrupt is raised by it, and that has ended the run already: it is not lost.
        broken = play.done() and not play.cancelled() and play.exception() is not None
    if late:
        return DeadlinePassed(f"its deadline of {deadline:g} s passed while it was awaiting: {awaiting}")
    if broken or play.cancelled():
        return asyncio.CancelledError()
    return play.result()


async def _open_and_play(scenario: Scenario, arena: Arena, loose: LooseEnds) -> BaseException | None:
    """What it raised, as a value: a SystemExit that a task raises would end the loop."""
    try:
        await arena.open()
        loose.gather()
        await scenario.play(arena)
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise
    except BaseException as error:  # pytest.fail and pytest.skip raise no Exception
        return error
    return None


def _file(scenario: Scenario) -> str:
    """Where the test stands."""
    return inspect.getsourcefile(inspect.unwrap(scenario.play)) or ""


async def _flaws(arena: Arena, error: BaseException | None) -> list[str]:
    """What is wrong with the record, where it matters to the verdict or to a reader of the evidence."""
    if not _settles(error):
        return []
    try:
        record = await arena.settle()
    except Exception as broken:
        return [f"the record could not be completed: {broken}"]
    return [] if record.complete else [record.reason]


def _settles(error: BaseException | None) -> bool:
    """Whether its record matters: it held, or its sentence was broken."""
    return error is None or isinstance(leading(error), AssertionError)


def _excuse(behaviour: Behaviour, stage: Stage) -> Judgement | None:
    """Why a behaviour is not played on this stage, if so."""
    if stage.subject and (reason := _not_about(stage.subject, behaviour)):
        return Judgement(Verdict.NOT_SUPPORTED, reason, cluster=stage.name)
    applies = f"applies only if {behaviour.applies}"
    unreadable: Unreadable | None = None
    try:
        if not behaviour.applies.holds(stage.facts):
            return Judgement(Verdict.NOT_SUPPORTED, applies, cluster=stage.name)
    except Unreadable as error:
        unreadable = error
    cluster = stage.cluster
    if lacking := sorted(behaviour.needs - cluster.capabilities):
        causes = [cluster.extras.lacking[need] for need in lacking if need in cluster.extras.lacking]
        reason = "; ".join(causes) or f"the {cluster.provider} cluster does not offer {', '.join(lacking)}"
        return Judgement(Verdict.SKIP, reason, cluster=stage.name, elsewhere=Capability.REAL_NODES in lacking)
    if behaviour.exclusive and Capability.RESTART_COMPONENT not in cluster.capabilities:
        reason = f"it needs a control plane of its own, and the {cluster.provider} cluster is shared"
        return Judgement(Verdict.SKIP, reason, cluster=stage.name)
    if unreadable:
        reason = f"{applies}, but {unreadable}"
        reason += f"; declare it in {stage.subject.file.name}" if stage.subject else ""
        return Judgement(Verdict.SKIP, reason, cluster=stage.name)
    return None


def _not_about(subject: Subject, behaviour: Behaviour) -> str:
    """Why a behaviour says nothing about a subject, if so."""
    if behaviour.needs & {Capability.FAULTY_SCHEDULER, Capability.OLDER_MINOR}:
        return f"it is played with a kube-scheduler of our own, not with {subject.name}"
    if lacking := sorted(behaviour.features - subject.features):
        return f"it needs {', '.join(lacking)}, which {subject.name} does not declare"
    return ""


def _told(error: BaseException) -> str:
    """One line about a failed cleanup."""
    causes = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    what = error.message if isinstance(error, BaseExceptionGroup) else "cleaning up"
    return f"{what} failed: {'; '.join(' '.join(str(cause).split()) or repr(cause) for cause in causes)}"
