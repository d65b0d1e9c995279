"""`hintbound diff`: what changes from one version, or one run, to another."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hintbound.errors import CannotStart

if TYPE_CHECKING:
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
    click.echo(f"from {old.name} to {new.name}")
    for change in changes:
        click.echo(f"\n{change['turn']}: {change['behaviour']}")
        for key in ("must", "why", "affects", "advice", "before", "after"):
            if change[key]:
                said = ", ".join(change[key]) if key == "affects" else change[key]
                click.echo(f"  {key:<8} {said}")
    known = {outcome.behaviour for outcome in (*old.outcomes, *new.outcomes)}
    click.echo(f"\n{len(changes)} of {len(known)} behaviours differ.")


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


def _change(change: Change, advice: dict[str, Any]) -> dict[str, Any]:
    outcome = change.outcome
    behaviour = advice.get(outcome.behaviour)
    return {
        "turn": str(change.turn),
        "behaviour": outcome.behaviour,
        "must": outcome.must,
        "why": outcome.why,
        "affects": [str(who) for who in behaviour.affects] if behaviour else [],
        "advice": behaviour.advice if behaviour else "",
        "before": _said(change.before),
        "after": _said(change.after),
    }


def _said(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not known"
    known = f"; {outcome.expected}" if outcome.expected else ""
    return f"{outcome.verdict}{': ' if outcome.reason else ''}{outcome.reason}{known}"
