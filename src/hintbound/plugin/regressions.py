"""A public bug that a behaviour reproduces: where it shows, where not, and what else sees it.

Stands as data on the test, for `explain`, the catalogue, and `tools/track_record.py`, which plays it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

_ATTRIBUTE: Final = "__hintbound_regression__"
_BUG: Final = re.compile(r"(kubernetes|enhancements)#\d+")

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Regression:
    """What the track record says of one bug."""

    bug: str
    """`kubernetes#134249`: repository and number."""
    about: str
    """What it is, in one line."""
    shows: tuple[str, ...]
    """SPECs of clusters that have it: the behaviour fails there."""
    absent: tuple[str, ...]
    """SPECs of clusters that have not: it passes there."""
    checks: tuple[str, ...]
    """Checks of `hintbound check` that find it, too: in the record of each cluster that has it, and in the
    history."""
    mutants: tuple[str, ...]
    """Where no pinned release has it any more: mutants of a release that bring it back on the wire."""
    history: str
    """Where no pinned release has it any more: the test (`FILE::TEST`) that has these checks find it in a
    history written by hand."""
    means: str
    """How it is brought about without a race."""
    note: str
    """What a reader must know not to be misled, e.g. that the release of the report is not pinned."""


def regression(
    bug: str,
    about: str,
    *,
    shows: Sequence[str] = (),
    absent: Sequence[str] = (),
    checks: Sequence[str] = (),
    mutants: Sequence[str] = (),
    history: str = "",
    means: str,
    note: str = "",
) -> Callable[[Test], Test]:
    """Say which bug a behaviour of level `regression` is about. Raises ValueError, at import, for what the
    track record cannot hold: a bug that shows on no cluster, with no mutant and in no history is not
    reproduced."""
    if not _BUG.fullmatch(bug):
        raise ValueError(f"regression {bug!r}: write kubernetes#NUMBER or enhancements#NUMBER")
    if not shows and not mutants and not (history and checks):
        raise ValueError(f"regression {bug}: no cluster or mutant shows it, no check finds it in a history")
    if not absent and not note:
        raise ValueError(f"regression {bug}: say in a note why no cluster is without it")
    value = Regression(
        bug,
        " ".join(about.split()),
        tuple(shows),
        tuple(absent),
        tuple(checks),
        tuple(mutants),
        history,
        " ".join(means.split()),
        " ".join(note.split()),
    )

    def put(test: Test) -> Test:
        setattr(test, _ATTRIBUTE, value)
        return test

    return put


def regression_of(test: object) -> Regression | None:
    """The bug that stands on a test function, if any."""
    found = getattr(test, _ATTRIBUTE, None)
    return found if isinstance(found, Regression) else None
