"""Ctrl-C, SIGTERM and a closed terminal (SIGHUP) break a run off once, in order, and never its cleaning up.

asyncio's own answer to a second Ctrl-C, an exception thrown into the running loop, can lose a wake-up and so
hang the cleaning up for ever; here the loop is only ever asked.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from hintbound.protocol import Seconds

_BOTH = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_ON_ITS_WAY: Final[Seconds] = 1.0
"""How long a KeyboardInterrupt may take to whoever answers it: measured, some milliseconds."""


class Interrupts:
    """While it is on, SIGTERM (by which CI systems end a job) and Ctrl-C do the same."""

    def __init__(self) -> None:
        self.asked = False
        """Whether the work on the loop was asked to end."""
        self._heard = False
        self._enough = False
        self._deaf_until = 0.0
        self._ask: Callable[[Callable[[], None]], None] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def on(self) -> None:
        """Begin."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _BOTH}

    def enough(self) -> None:
        """The run is being broken off: further signals change nothing."""
        self._enough = True

    def off(self) -> None:
        """End: both are as they were before."""
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before = {}

    @contextlib.contextmanager
    def asking(self, ask: Callable[[Callable[[], None]], None]) -> Iterator[None]:
        """While a loop runs: a signal asks it, by this, to end. `ask` is given what to call once it hears."""
        self._ask = ask
        try:
            yield
        finally:
            self._ask = None

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._enough or self._heard or now < self._deaf_until:
            return
        if self._ask is None or self.asked:  # no loop runs, or something in it holds it up
            # A second one would break off those who are answering the first. Who swallows one gets the next.
            self._deaf_until = now + _ON_ITS_WAY
            raise KeyboardInterrupt
        self.asked = True
        self._ask(self._hear)

    def _hear(self) -> None:
        self._heard = True


@contextlib.contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Neither signal breaks off what is done in here."""
    interrupts = Interrupts()
    interrupts.enough()
    interrupts.on()
    try:
        yield
    finally:
        interrupts.off()
