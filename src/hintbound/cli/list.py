"""`hintbound list`: what there is to judge, and on what."""

from __future__ import annotations

import json
from typing import Any

import click


@click.group()
def command() -> None:
    """List behaviours, Kubernetes versions or sets of gates."""


@command.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(["text", "yaml", "json"]), default="text", show_default=True
)
def behaviours(paths: tuple[str, ...], form: str) -> None:
    """Every behaviour with its sentence. PATHS are suites, by default hintbound's own."""
    from hintbound.plugin import catalogue

    entries = catalogue.collect(paths)
    if form == "yaml":
        click.echo(catalogue.to_yaml(entries), nl=False)
    elif form == "json":
        click.echo(json.dumps([catalogue.plain(entry) for entry in entries], indent=1))
    else:
        for entry in entries:
            provisional = " (provisional)" if entry.behaviour.provisional else ""
            click.echo(
                f"{entry.behaviour.id:<36} {entry.behaviour.level:<9} {entry.behaviour.must}{provisional}"
            )


@command.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def versions(form: str) -> None:
    """The pinned Kubernetes versions; any other can be pinned with `hintbound assets pin`."""
    from hintbound import assets

    default = assets.resolve_version(assets.DEFAULT_VERSION)
    rows: list[dict[str, Any]] = [{"version": v, "default": v == default} for v in assets.versions()]
    if form == "json":
        click.echo(json.dumps(rows))
        return
    for row in rows:
        click.echo(f"{row['version']}{'  (default)' if row['default'] else ''}")


@command.command("gate-sets")
def gate_sets() -> None:
    """The sets of feature gates that a SPEC may name: embedded:1.35,@clearing-only."""
    from hintbound.clusters.gatesets import GATE_SETS

    for name, gate_set in GATE_SETS.items():
        gates = ", ".join(f"{gate}={str(on).lower()}" for gate, on in gate_set.gates.items())
        click.echo(f"@{name:<22} from 1.{gate_set.since} on: {gates or 'nothing is set'}")
