"""`hintbound diff`: what changes from one run to another."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hintbound.errors import CannotStart


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(before: Path, after: Path, form: str) -> None:
    """Compare two runs: BEFORE and AFTER are run folders, or run.json files.

    Judge a cluster before and after an upgrade, or two versions side by side, and see which sentences change.
    """
    from hintbound.report import run_json
    from hintbound.report.compare import compare

    old, new = run_json.read(_file(before)), run_json.read(_file(after))
    changes = compare(old.outcomes, new.outcomes)
    if form == "json":
        rows = [
            {
                "turn": change.turn,
                "behaviour": change.outcome.behaviour,
                "must": change.outcome.must,
                "before": change.before.verdict if change.before else None,
                "after": change.after.verdict if change.after else None,
            }
            for change in changes
        ]
        click.echo(json.dumps(rows, indent=1))
        return
    click.echo(f"from {old.cluster_spec} ({old.id}) to {new.cluster_spec} ({new.id})")
    for change in changes:
        outcome = change.outcome
        click.echo(f"{change.turn:<19} {outcome.behaviour:<36} {outcome.must}")
        click.echo(f"{'':<19} why it matters: {outcome.why}")
        if change.after and change.after.reason:
            click.echo(f"{'':<19} {change.after.verdict}: {change.after.reason}")
    click.echo(
        f"{len(changes)} of {len({o.behaviour for o in (*old.outcomes, *new.outcomes)})} behaviours differ."
    )


def _file(path: Path) -> Path:
    file = path / "run.json" if path.is_dir() else path
    if not file.is_file():
        raise CannotStart(f"{path} is no run.", next_step="Name a run's folder, e.g. reports/latest.")
    return file
