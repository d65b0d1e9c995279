"""Processes that work for this one: as many as there are processors, ended with it, and missed when they die.

The standard pools leave a task that was lost with its process unanswered, or keep Ctrl-C waiting until what
was begun is done.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NoReturn

from hintbound.errors import CannotStart

Task = tuple[str, tuple[Any, ...]]
"""The name of a method of what the processes have, and its arguments."""

_BY_COPY: Final = "fork" if sys.platform == "linux" else "spawn"
_LOOKS_UP: Final = 1.0
"""So often, in seconds, an idle process looks whether the one that it works for is still there."""


class WorkerDied(Exception):
    """A process ended in the middle of a task; what it had found is lost."""


class Pool:
    """Processes, each with something of its own that does the tasks."""

    def __init__(self, processes: list[multiprocessing.process.BaseProcess], pipes: list[Connection]) -> None:
        self._processes = processes
        self._pipes = pipes

    def __len__(self) -> int:
        return len(self._pipes)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Each task with what came of it, in the order in which they are done; tasks are taken as they are
        needed. Raises WorkerDied, and what a task raises."""
        waiting, busy = iter(tasks), {}
        for pipe in self._pipes:
            if (task := next(waiting, None)) is not None:
                self._send(pipe, task)
                busy[pipe] = task
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                result = self._received(ready)
                task = busy.pop(ready)
                if (following := next(waiting, None)) is not None:
                    self._send(ready, following)
                    busy[ready] = following
                yield task, result

    def each(self, task: Task) -> list[Any]:
        """What comes of a task that every process does. Raises as `run` does."""
        for pipe in self._pipes:
            self._send(pipe, task)
        return [self._received(pipe) for pipe in self._pipes]

    def _send(self, pipe: Connection, task: Task) -> None:
        try:
            pipe.send(task)
        except OSError:
            self._mourn(pipe)

    def _received(self, pipe: Connection) -> Any:
        try:
            done, result = pipe.recv()
        except (EOFError, OSError):
            self._mourn(pipe)
        if not done:
            raise result
        return result

    def _mourn(self, pipe: Connection) -> NoReturn:
        process = self._processes[self._pipes.index(pipe)]
        process.join()
        code = process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        raise WorkerDied(f"a process that judged for us ended {how}: was it short of memory?")

    def end(self) -> None:
        """At once, whatever they do."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()


@contextmanager
def pool(count: int, make: Callable[..., Any], *arguments: Any) -> Iterator[Pool]:
    """So many processes, each with a `make(number, *arguments)`; all are ended afterwards."""
    context: Any = multiprocessing.get_context(_BY_COPY)
    made = Pool([], [])
    try:
        for number in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve,
                args=(theirs, [*made._pipes, ours], os.getpid(), make, number, arguments),
                daemon=True,
            )
            process.start()
            theirs.close()
            made._processes.append(process)
            made._pipes.append(ours)
        yield made
    finally:
        made.end()


def _serve(
    pipe: Connection,
    not_ours: list[Connection],
    master: int,
    make: Callable[..., Any],
    number: int,
    arguments: tuple[Any, ...],
) -> None:
    """Do tasks until the other end is closed."""
    for ends in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, signal.SIG_IGN)  # they go to the one that we work for, too, which ends us
    if _BY_COPY == "fork":
        for other in not_ours:  # else none of us would notice that it is gone
            other.close()
    worker: Any = None
    answer = _tried(make, number, *arguments)
    try:
        if answer[0]:
            worker = answer[1]
        while True:
            while not pipe.poll(_LOOKS_UP):
                if os.getppid() != master:
                    raise EOFError
            name, details = pipe.recv()
            pipe.send(_tried(getattr(worker, name), *details) if worker is not None else answer)
    except (EOFError, OSError):  # nobody is there any more
        if worker is not None:
            worker.abandoned()
    os._exit(0)


def _tried(call: Callable[..., Any], *arguments: Any) -> tuple[bool, Any]:
    """Whether something could be done, and what came of it: its answer, or the error."""
    try:
        return True, call(*arguments)
    except CannotStart as error:
        return False, error
    except Exception:
        return False, RuntimeError(f"in a process that judged for us:\n{traceback.format_exc()}")
