"""What a scenario began and never awaited: a coroutine that did nothing, a task whose failure nobody saw.

Python only warns of both, later and to nobody in particular, and the test passes: it has proven nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hintbound.plugin.judgement import NotSeen, Unproven, leading, sentence
from hintbound.plugin.places import is_asyncio, is_of_suite
from hintbound.protocol import Seconds

_HOOK = "_warn_unawaited_coroutine"
"""What the interpreter calls, in the module `warnings`, when a coroutine goes that was never awaited. A
filter of warnings would not do: it is the whole process's, and does not tell whose scenario it was."""

_current: ContextVar[LooseEnds | None] = ContextVar("hintbound_loose_ends", default=None)


class LooseEnds:
    """Of one scenario; `gather` begins it, in the scenario's own task."""

    def __init__(self, test: str) -> None:
        """`test`: the file of the scenario's test. What libraries do in the background is theirs."""
        self._test = test
        self._tasks: list[asyncio.Task[Any]] = []
        self._forgotten: list[str] = []

    def gather(self) -> None:
        """From here on everything that this task, and tasks that it creates, leave behind is taken down."""
        _current.set(self)

    async def end(self, within: Seconds) -> list[str]:
        """Cancel the tasks that still run. Gives their names, with what that means for a test that ended.

        One that the test has cancelled itself may end meanwhile; one that does not still runs.
        """
        left = [task for task in self._tasks if not task.done()]
        running = [task for task in left if not task.cancelling()]
        for task in running:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=within)
        return [
            f"it ended while its task {_named(task)} was still running: await it, or cancel it"
            for task in left
            if task in running or not task.done()
        ]

    @property
    def forgotten(self) -> list[str]:
        """Coroutines that were made and never awaited, so that what they stand for did not happen."""
        return list(dict.fromkeys(self._forgotten))

    @property
    def failures(self) -> list[BaseException]:
        """What its tasks raised and nobody looked at, in the kinds that `judge` knows."""
        return [_unseen(error, _named(task)) for task in self._tasks if (error := _unretrieved(task))]

    def created(self, task: asyncio.Task[Any], frame: FrameType | None) -> None:
        """A task was created by this frame, or by what asyncio was asked for by it."""
        while frame is not None and is_asyncio(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and is_of_suite(frame.f_code.co_filename, self._test):
            self._tasks.append(task)

    def never_awaited(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """A coroutine is gone that was never awaited."""
        origin = getattr(coroutine, "cr_origin", None)
        where = f"{Path(origin[0][0]).name}:{origin[0][1]}: " if origin else ""
        self._forgotten.append(f"{where}{_called(coroutine)} was never awaited, so it did nothing")


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is begun in here has somebody else who ends it."""
    before = _current.set(None)
    try:
        yield
    finally:
        _current.reset(before)


class Watch:
    """While it is on, loose ends of scenarios on this loop are noticed; to be switched by its thread."""

    def __init__(self) -> None:
        self._off: list[Callable[[], None]] = []

    def on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin."""
        ordinary = getattr(warnings, _HOOK)

        def warn(coroutine: Coroutine[Any, Any, Any]) -> None:
            loose = _current.get()
            if loose is None:
                ordinary(coroutine)
            else:
                loose.never_awaited(coroutine)

        depth = sys.get_coroutine_origin_tracking_depth()
        setattr(warnings, _HOOK, warn)
        sys.set_coroutine_origin_tracking_depth(max(1, depth))
        loop.set_task_factory(_create)
        self._off = [
            lambda: setattr(warnings, _HOOK, ordinary),
            lambda: sys.set_coroutine_origin_tracking_depth(depth),
            lambda: loop.set_task_factory(None),
        ]

    def off(self) -> None:
        """End: all is as it was before. May be called twice."""
        while self._off:
            self._off.pop()()


def _create(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
    task = asyncio.Task(coroutine, loop=loop, **more)
    if loose := _current.get():
        loose.created(task, sys._getframe(1))
    return task


def _named(task: asyncio.Task[Any]) -> str:
    """The name that the test gave it, else what it runs."""
    given = not re.fullmatch(r"Task-\d+", task.get_name())
    return task.get_name() if given else _called(task.get_coro())


def _called(coroutine: object) -> str:
    """As a test's author calls it; of which class its code is matters to nobody."""
    return f"{getattr(coroutine, '__name__', coroutine)}()"


def _unretrieved(task: asyncio.Task[Any]) -> BaseException | None:
    """What a task raised, if nobody has asked for it: asyncio's own mark for what it will complain of."""
    unseen = task.done() and not task.cancelled() and getattr(task, "_log_traceback", False)
    return task.exception() if unseen else None


def _unseen(raised: BaseException, task: str) -> BaseException:
    """A failure that the test did not see, as one that it cannot overlook."""
    error = leading(raised)
    assert error is not None
    where = f"in its task {task}, which it never awaited"
    told: BaseException
    if isinstance(error, NotSeen):
        told = NotSeen(f"{where}: {error}")
    elif isinstance(error, AssertionError):
        told = AssertionError(f"{where}: {sentence(error)}")
    elif isinstance(error, pytest.fail.Exception):
        told = AssertionError(f"{where}: {error}")
    elif isinstance(error, Unproven):
        told = Unproven(f"{where}: {error}")
    else:
        told = Unproven(f"{where}, {type(error).__name__} was raised: {error}")
    told.__cause__ = error
    return told
