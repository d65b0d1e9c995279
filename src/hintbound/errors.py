"""The errors that end a command with one clear line instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Final

_NEAREST: Final = 3
"""So many names that resemble a wrong one are shown where there are too many to show all."""


class CannotStart(Exception):
    """What was asked for cannot be begun: bad input or a missing part. Ends a command with exit code 254.

    The message names the thing and the cause; `next_step` says what to do about it.
    """

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __reduce__(self) -> tuple[Callable[..., CannotStart], tuple[str, str]]:
        return _again, (self.message, self.next_step)

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".rstrip()


def _again(message: str, next_step: str) -> CannotStart:
    """The same error in another process."""
    return CannotStart(message, next_step=next_step)


def cause(error: Exception) -> str:
    """Why the system refused, as a part of a sentence: `no such file or directory`."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def line_of(error: BaseException, ours: Callable[[FrameType], bool]) -> str:
    """`FILE:LINE` of the innermost of our frames in which an error came up; empty when none took part."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    place = ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if ours(trace.tb_frame):
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def one_of(kind: str, wrong: str, right: Sequence[str], *, listing: str = "") -> CannotStart:
    """The error for a name that is none of the known ones: shows the nearest first, then all.

    `listing`: the command that lists them, named instead of all when there are too many to read.
    """
    same = {name.casefold(): name for name in right}
    near = difflib.get_close_matches(wrong.casefold(), list(same), n=_NEAREST if listing else 1)
    hint = f"Did you mean {' or '.join(repr(same[name]) for name in near)}? " if near else ""
    known = f"`{listing}` lists all." if listing else f"Known: {', '.join(right)}."
    return CannotStart(f"unknown {kind} {wrong!r}.", next_step=f"{hint}{known}")
