"""`hintbound diff`: what changes from one version, or one run, to another."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hintbound.errors import CannotStart
from hintbound.protocol import Affected
from hintbound.report.compare import Turn

if TYPE_CHECKING:
    from hintbound.plugin.behaviours import Behaviour
    from hintbound.report.compare import Change
    from hintbound.report.model import Outcome


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(before: str, after: str, form: str) -> None:
    """Tell which behaviours change from BEFORE to AFTER, who is affected, and what to do.

    Each is a version (1.34, 1.35.4, 1.35,@nnn-off), answered offline from the matrix that hintbound ships,
    or a run: its folder, or its run.json.
    """
    from hintbound.plugin import catalogue
    from hintbound.report.compare import compare

    old, new = _side(before), _side(after)
    advice = {entry.behaviour.id: entry.behaviour for entry in catalogue.collect()}
    changes = [_change(change, advice) for change in compare(old.outcomes, new.outcomes)]
    if form == "json":
        click.echo(json.dumps({"before": old.name, "after": new.name, "changes": changes}, indent=1))
        return
    known = {outcome.behaviour for outcome in (*old.outcomes, *new.outcomes)}
    click.echo(f"from {old.name} to {new.name}: {len(changes)} of {len(known)} behaviours differ")
    for line in _grouped(changes):
        click.echo(line)


_NOBODY = "nobody in particular"
_PROSE: Final[dict[str, Any]] = {"width": 100, "break_long_words": False, "break_on_hyphens": False}


def _grouped(changes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """By who is affected; a behaviour that affects several is told with the first and named with the others.
    What cannot be compared stands last."""
    told: dict[str, str] = {}
    comparable = [change for change in changes if change["turn"] != Turn.UNCLEAR]
    for who in (*Affected, _NOBODY):
        group = [change for change in comparable if who in (change["affects"] or [_NOBODY])]
        if group:
            yield f"\n{who.upper()}"
        for change in group:
            behaviour = change["behaviour"]
            if behaviour in told:
                yield f"  {change['turn']}: {behaviour}, see {told[behaviour]}"
                continue
            told[behaviour] = who
            yield from _told(change)
    yield from _unclear([change for change in changes if change["turn"] == Turn.UNCLEAR])


def _told(change: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {change['turn']}: {change['behaviour']}"
    do = "so far" if change["turn"] == Turn.ENDS else "do"
    reasons = change["turn"] in (Turn.BREAKS, Turn.HEALS)
    rows = {
        "must": change["must"],
        "why": change["why"],
        "where": change["applies"],
        do: change["advice"],
        "before": change["before"] if reasons else "",
        "after": change["after"] if reasons else "",
    }
    for name, text in rows.items():
        if text:
            yield textwrap.fill(text, initial_indent=f"    {name:<8}", subsequent_indent=" " * 12, **_PROSE)


def _unclear(changes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for side, words in (("before", "only after"), ("after", "only before")):
        alone = [change["behaviour"] for change in changes if change[side] == _NOT_KNOWN]
        if alone:
            text = f"judged {words} ({len(alone)}): {', '.join(alone)}"
            yield "\n" + textwrap.fill(text, subsequent_indent="  ", **_PROSE)
    both = [change for change in changes if _NOT_KNOWN not in (change["before"], change["after"])]
    if both:
        yield "\ncannot be compared:"
    alike: dict[tuple[str, str], list[str]] = {}
    for change in both:
        alike.setdefault((change["before"], change["after"]), []).append(change["behaviour"])
    for (before, after), behaviours in alike.items():
        text = f"before {before}; after {after} ({len(behaviours)}): {', '.join(behaviours)}"
        yield textwrap.fill(text, initial_indent="  ", subsequent_indent="    ", **_PROSE)


@dataclass(frozen=True, slots=True)
class _Side:
    name: str
    outcomes: list[Outcome]


def _side(text: str) -> _Side:
    """What an argument means: a run where there is a file of that name, else a column of the matrix."""
    from hintbound.report import run_json

    path = Path(text)
    if path.exists() or "/" in text:
        run = run_json.read(path)
        if not run.outcomes:
            raise CannotStart(f"the run {text} judged nothing: {run.reason}.", next_step="Name another run.")
        return _Side(f"{run.cluster_spec} ({run.id})", list(run.outcomes))
    return _column(text)


def _column(text: str) -> _Side:
    from hintbound.report import shipped

    matrix = shipped.matrix()
    if matrix is None:
        raise CannotStart(
            f"{text!r} is no run, and there is no matrix to look it up in.", next_step="Run `make matrix`."
        )
    column = matrix.column(text)
    return _Side(column.id, matrix.outcomes(column))


def _change(change: Change, advice: Mapping[str, Behaviour]) -> dict[str, Any]:
    """As data; what is not in our catalogue, because a package brought it, is told as its run tells it."""
    outcome = change.outcome
    behaviour = advice.get(outcome.behaviour)
    ours = behaviour.applies.in_words() if behaviour and behaviour.applies.text else ""
    return {
        "turn": str(change.turn),
        "behaviour": outcome.behaviour,
        "must": outcome.must,
        "why": outcome.why,
        "applies": ours if behaviour else outcome.applies,
        "affects": list(map(str, behaviour.affects if behaviour else outcome.affects)),
        "advice": behaviour.advice if behaviour else outcome.advice,
        "before": _said(change.before),
        "after": _said(change.after),
    }


_NOT_KNOWN = "not known"


def _said(outcome: Outcome | None) -> str:
    if outcome is None:
        return _NOT_KNOWN
    known = f"; {outcome.expected}" if outcome.expected else ""
    return f"{outcome.verdict}{': ' if outcome.reason else ''}{outcome.reason}{known}"
