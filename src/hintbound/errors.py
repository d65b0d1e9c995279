"""The errors that end a command with one clear line instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
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

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".rstrip()


def one_of(kind: str, wrong: str, right: Sequence[str], *, listing: str = "") -> CannotStart:
    """The error for a name that is none of the known ones: shows the nearest first, then all.

    `listing`: the command that lists them, named instead of all when there are too many to read.
    """
    same = {name.casefold(): name for name in right}
    near = difflib.get_close_matches(wrong.casefold(), list(same), n=_NEAREST if listing else 1)
    hint = f"Did you mean {' or '.join(repr(same[name]) for name in near)}? " if near else ""
    known = f"`{listing}` lists all." if listing else f"Known: {', '.join(right)}."
    return CannotStart(f"unknown {kind} {wrong!r}.", next_step=f"{hint}{known}")
