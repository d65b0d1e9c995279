"""Write wars and churn: writers that undo each other, and hints that never come to rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from hintbound.checks.hints import HintChange, hint_changes
from hintbound.checks.model import Context, Violation, check_life
from hintbound.checks.traits import Trait
from hintbound.history.join import PodLife
from hintbound.protocol import Seconds, Severity

MOST_TURNS: Final = 4
"""So often two writers may undo each other's hint of one pod. A preemption over a nominator's hint is no
such turn; who answers it with the hint of before makes the first."""

MOST_IN_A_MINUTE: Final = 30

MOST_REPEATS: Final = 2
"""Room may have come back since: a nominator that finds so may decide the same anew."""
MINUTE: Final[Seconds] = 60.0


def _changed(life: PodLife, context: Context) -> bool:
    return bool(hint_changes(life))


def _turns(changes: Sequence[HintChange]) -> Iterator[HintChange]:
    """Changes that undo what somebody else had set: another writer, and the value of before comes back."""
    for first, second in pairwise(changes):
        theirs, ours = first.writer, second.writer
        if theirs and ours and theirs.user != ours.user and second.after == first.before:
            yield second


@check_life(
    "no-write-war",
    must="Two writers do not undo each other's hints again and again.",
    concerns=_changed,
    needs=Trait.HINTED,
    about="pods whose hint changed",
)
def no_write_war(life: PodLife, context: Context) -> Iterator[Violation]:
    """Of what instruments of a test do to each other nothing is said."""
    turns = list(_turns(hint_changes(life)))
    writers = sorted({turn.writer.user for turn in turns if turn.writer})
    if len(turns) > MOST_TURNS and not context.instruments.issuperset(writers):
        pod = f"pod {life.namespace}/{life.name}"
        said = f"the hint of {pod} was undone {len(turns)} times by {' and '.join(writers)}"
        yield Violation(said, tuple(turn.version for turn in turns[:5]))


@check_life(
    "hints-come-to-rest",
    must=f"The hint of a pod changes at most {MOST_IN_A_MINUTE} times within a minute.",
    severity=Severity.HAZARD,
    concerns=_changed,
    needs=Trait.HINTED,
    about="pods whose hint changed",
)
def hints_come_to_rest(life: PodLife, context: Context) -> Iterator[Violation]:
    """Each change is a write to etcd, and wakes every scheduler and autoscaler that watches pods."""
    changes = hint_changes(life)
    for position in range(MOST_IN_A_MINUTE, len(changes)):
        first, last = changes[position - MOST_IN_A_MINUTE].version, changes[position].version
        if last.mono - first.mono < MINUTE:
            said = f"{last} is the {MOST_IN_A_MINUTE + 1}th hint within {last.mono - first.mono:.0f} s"
            yield Violation(said, (last, first))
            return


def _repeats(life: PodLife, context: Context) -> list[HintChange]:
    """Hints that a nominator wrote although somebody else had cleared or replaced the very same one of its
    own."""
    mine: dict[str, set[str]] = defaultdict(set)
    lost: dict[str, set[str]] = defaultdict(set)
    found = []
    for change in hint_changes(life):
        user = change.writer.user if change.writer is not None else ""
        for nominator in context.nominators - {user}:
            if change.writer is not None and change.before in mine[nominator]:
                lost[nominator].add(change.before)
        if user in context.nominators and change.after:
            if change.after in lost[user]:
                found.append(change)
            mine[user].add(change.after)
    return found


@check_life(
    "lost-hint-not-repeated",
    must=f"A nominator writes a hint that another writer took away at most {MOST_REPEATS} times again.",
    severity=Severity.HAZARD,
    concerns=lambda life, context: any(
        change.after and change.writer and change.writer.user in context.nominators
        for change in hint_changes(life)
    ),
    needs=Trait.HINTED,
    about="pods that a nominator hinted",
)
def lost_hint_not_repeated(life: PodLife, context: Context) -> Iterator[Violation]:
    """A scheduler takes away what it could not follow: who writes the same again has not asked why, as a
    server-side apply in a loop (measured: it brings the hint back each time)."""
    repeats = _repeats(life, context)
    if len(repeats) > MOST_REPEATS:
        last = repeats[-1]
        said = (
            f"{last.version} was hinted to {last.after} again, though it was taken away {len(repeats)} times"
        )
        yield Violation(said, tuple(change.version for change in repeats[-5:][::-1]))


CHECKS = (no_write_war, hints_come_to_rest, lost_hint_not_repeated)
