"""`hintbound list`: what there is to judge, and on what."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from hintbound.errors import CannotStart

if TYPE_CHECKING:
    from hintbound.extensions import Extension
    from hintbound.plugin.catalogue import Entry


@click.group()
def command() -> None:
    """List behaviours, mutants, extensions, Kubernetes versions or sets of gates."""


@command.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(["text", "yaml", "json"]), default="text", show_default=True
)
def behaviours(paths: tuple[str, ...], form: str) -> None:
    """Every behaviour with its sentence. PATHS are suites or names of installed ones.

    By default hintbound's own; as text those of all installed suites, too.
    """
    from hintbound.plugin import catalogue, suites

    entries = catalogue.collect(paths)
    if form == "yaml":
        click.echo(catalogue.to_yaml(entries), nl=False)
    elif form == "json":
        click.echo(json.dumps([catalogue.plain(entry) for entry in entries], indent=1))
    else:
        _told(entries)
        for name in () if paths else suites.names():
            click.echo(f"\n{name}:")
            _told(catalogue.collect([name]))


def _told(entries: Iterable[Entry]) -> None:
    for entry in entries:
        provisional = " (provisional)" if entry.behaviour.provisional else ""
        click.echo(
            f"{entry.behaviour.id:<36} {entry.behaviour.level:<10} {entry.behaviour.must}{provisional}"
        )


@command.command()
def mutants() -> None:
    """Every way to break a control plane on purpose; see `hintbound run --mutant`."""
    from hintbound import mutants as known

    for mutant in known.all_mutants():
        click.echo(f"{mutant.name:<26} {mutant.title}")


@command.command()
def extensions() -> None:
    """What installed packages add: suites, checks, faults, clusters. A broken one is named."""
    from hintbound import checks
    from hintbound.clusters import installed as clusters
    from hintbound.extensions import Group, installed
    from hintbound.plugin import injected, suites

    loaders: dict[Group, Callable[[Extension], object]] = {
        Group.SUITES: suites.folder,
        Group.CHECKS: checks.load,
        Group.FAULTS: injected.load,
        Group.CLUSTERS: clusters.load,
    }
    broken: list[CannotStart] = []
    found = [extension for group in Group for extension in installed(group)]
    for extension in found:
        state = ""
        try:
            loaders[extension.group](extension)
        except CannotStart as error:
            broken.append(error)
            state = "  BROKEN"
        about = f"{extension.group:<19} {extension.name:<24} {extension.distribution:<26}"
        click.echo(f"{about} {extension.value}{state}")
    if not found:
        click.echo("no installed package adds anything; see docs/vendors.md.")
    if broken:
        raise broken[0]


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
