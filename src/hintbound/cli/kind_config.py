"""`hintbound kind-config`: kind configs with the gates set, for `kind create cluster --config`."""

from __future__ import annotations

from pathlib import Path

import click

from hintbound.errors import CannotStart, cause, one_of


@click.command()
@click.argument("minor", metavar="[1.35]", default="1.35")
@click.argument("gate_set", metavar="[GATE-SET]", default="default")
@click.option("--write", "into", type=click.Path(path_type=Path), help="Write all of them into this folder.")
def command(minor: str, gate_set: str, into: Path | None) -> None:
    """Print the config of a minor and a set of gates, or write all of them."""
    from hintbound.clusters.kind import configs

    known = configs.names()
    if into is not None:
        try:
            into.mkdir(parents=True, exist_ok=True)
            for number, name in known:
                (into / configs.file_name(number, name)).write_text(configs.text(number, name))
        except OSError as error:
            raise CannotStart(
                f"the configs cannot be written into {into}: {cause(error)}.",
                next_step="Name a folder that is yours.",
            ) from error
        click.echo(f"{len(known)} configs are in {into}.")
        return
    minors = [f"1.{number}" for number in configs.IMAGES]
    if minor not in minors:
        raise one_of("minor", minor, minors)
    chosen = (int(minor.removeprefix("1.")), gate_set.lstrip("@"))
    if chosen not in known:
        raise CannotStart(
            f"there is no gate set {gate_set!r} for {minor}.", next_step="See `hintbound list gate-sets`."
        )
    click.echo(configs.to_edit(*chosen), nl=False)
