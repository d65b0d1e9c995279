"""The errors that end a command with one clear line instead of a traceback."""

from __future__ import annotations

import difflib


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


def one_of(kind: str, wrong: str, right: list[str]) -> CannotStart:
    """The error for a name that is none of the known ones: shows the nearest first, then all."""
    same = {name.casefold(): name for name in right}
    near = difflib.get_close_matches(wrong.casefold(), list(same), n=1)
    hint = f"Did you mean {same[near[0]]!r}? " if near else ""
    return CannotStart(f"unknown {kind} {wrong!r}.", next_step=f"{hint}Known: {', '.join(right)}.")
