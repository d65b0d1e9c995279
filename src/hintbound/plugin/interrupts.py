"""Ctrl-C and SIGTERM: both break a run off once, in order, and neither breaks off the cleaning up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_NO_HANDLER = (signal.SIG_IGN, signal.SIG_DFL, None)


class Interrupts:
    """While it is on, SIGTERM (by which CI systems end a job) is a Ctrl-C."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, object] = {}

    def on(self) -> None:
        """Begin."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            signal.signal(signal.SIGTERM, _break_off)

    def enough(self) -> None:
        """The run is being broken off: from now on both are put off until `off`."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def off(self) -> None:
        """End: both are as they were before."""
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)  # type: ignore[arg-type]
        self._before = {}


def _break_off(_number: int, _frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) in _NO_HANDLER:  # a job that a shell put into the background
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Neither signal breaks off what is done in here."""
    interrupts = Interrupts()
    interrupts.on()
    interrupts.enough()
    try:
        yield
    finally:
        interrupts.off()
