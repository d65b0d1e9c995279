"""`hintbound matrix`: judge every version with every set of gates and lay the verdicts side by side."""

from __future__ import annotations

import contextlib
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hintbound.errors import CannotStart, cause, one_of
from hintbound.plugin.judges import Judges
from hintbound.protocol import EXIT_CODES, Profile, worst

if TYPE_CHECKING:
    from hintbound.report.matrix import Row

EMULATED = (("1.37.2", "1.34"), ("1.37.2", "1.35"))
"""A binary and the older minor by whose table of gates it is to behave."""


@click.command()
@click.option("--version", "versions", multiple=True, metavar="VERSION", help="[default: every pinned one]")
@click.option("--gate-set", "sets", multiple=True, metavar="NAME", help="[default: every set]")
@click.option(
    "--behaviour", "behaviours", multiple=True, metavar="ID", help="Only these rows, with --update."
)
@click.option("--into", type=click.Path(path_type=Path), default="docs", show_default=True)
@click.option(
    "--at-once", type=click.IntRange(1, 16), default=2, show_default=True, help="Runs side by side."
)
@click.option(
    "--xfails", type=click.Path(path_type=Path), help="Failures that are expected: shown, they fail no run."
)
@click.option("--update", is_flag=True, help="Keep the columns of the matrix there that are not judged now.")
def command(
    versions: tuple[str, ...],
    sets: tuple[str, ...],
    behaviours: tuple[str, ...],
    into: Path,
    at_once: int,
    xfails: Path | None,
    update: bool,
) -> int:
    """Run the suites on every version and set of gates; write matrix.json and matrix.md.

    Exits 1 when a sentence is broken anywhere and 2 when something was not proven.
    """
    from hintbound import __version__, assets
    from hintbound.plugin import catalogue, expected
    from hintbound.report import findings, matrix, matrix_markdown, shipped

    if xfails:
        expected.load(xfails, datetime.now(UTC).date())  # before hours of work, not after
    rows = [_row(e) for e in catalogue.collect() if Profile.ALL.includes(e.behaviour.level)]
    for wanted in behaviours:
        if wanted not in (known := [row.behaviour for row in rows]):
            raise one_of("behaviour", wanted, known, listing="hintbound list behaviours")
    if behaviours and not update:
        raise CannotStart("a matrix of some rows only is none.", next_step="Add --update.")
    before = shipped.read(into) if update else None
    if update and before is None:
        raise CannotStart(
            f"there is no matrix in {into} to update.",
            next_step="Make one: leave out --update and --behaviour.",
        )
    pages = findings.read(into / "findings")
    columns = _columns(versions, sets)
    _writable(into)
    assets.etcd()
    assets.kwok()
    for version in dict.fromkeys(column.partition(" ")[0] for column, _ in columns):
        assets.control_plane(version)  # one after the other: each build takes all cores
        with contextlib.suppress(CannotStart):  # the behaviours that need it will say why
            assets.faulty_scheduler(version)
    options = [f"--behaviour={wanted}" for wanted in behaviours]
    options += ["--xfails", str(xfails)] if xfails else []
    with tempfile.TemporaryDirectory() as scratch, Judges(Path(scratch), at_once) as judges:
        begun = [(column, judges.begin(column, ["--cluster", spec, *options])) for column, spec in columns]
        runs = [(column, judged.result().run) for column, judged in begun]
    result = matrix.build(__version__, rows, runs)
    result = before.updated(result) if before else result
    (into / shipped.FILE).write_text(json.dumps(result.to_json(), indent=1) + "\n", encoding="utf-8")
    (into / matrix_markdown.FILE).write_text(matrix_markdown.write(result, pages), encoding="utf-8")
    return EXIT_CODES[worst(run.verdict for _, run in runs)]


def _writable(folder: Path) -> None:
    """Make the folder and see that it takes files: before hours of work, not after. Raises CannotStart."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        why = cause(error)
        raise CannotStart(
            f"nothing can be written into {folder}: {why}.", next_step="Name another folder: --into DIR."
        ) from error


def _columns(versions: tuple[str, ...], sets: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each cluster's id and SPEC, at least one. Raises CannotStart."""
    from hintbound import assets
    from hintbound.clusters.gatesets import GATE_SETS

    for wanted in sets:
        if wanted.lstrip("@") not in GATE_SETS:
            raise one_of("gate set", wanted, list(GATE_SETS))
    chosen = {wanted.lstrip("@") for wanted in sets} or set(GATE_SETS)
    exact = list(dict.fromkeys(map(assets.resolve_version, versions))) or assets.versions()
    columns = [
        (f"{version} @{name}", f"embedded:{version}" + ("" if name == "default" else f",@{name}"))
        for version in exact
        for name, gate_set in GATE_SETS.items()
        if name in chosen and gate_set.since <= int(version.split(".")[1])
    ]
    if not columns:
        raise CannotStart(
            f"no gate set of {', '.join(sorted(chosen))} exists in {', '.join(exact)}.",
            next_step="`hintbound list gate-sets` tells from which version on each does.",
        )
    if not sets:
        columns += [
            (f"{version} @emulate-{older}", f"embedded:{version},emulate={older}")
            for version, older in EMULATED
            if version in exact
        ]
    return columns


def _row(entry: object) -> Row:
    from hintbound.plugin.catalogue import Entry
    from hintbound.report.matrix import Row

    assert isinstance(entry, Entry)
    behaviour = entry.behaviour
    return Row(
        behaviour.id,
        behaviour.must,
        behaviour.why,
        behaviour.level,
        str(behaviour.severity),
        behaviour.applies.text,
        behaviour.source,
        entry.file,
        tuple(behaviour.affects),
        behaviour.advice,
        {},
        behaviour.provisional,
    )
