"""`hintbound equal`: whether clusters of the same version and gates give equal verdicts."""

from __future__ import annotations

from pathlib import Path

import click

from hintbound.errors import CannotStart, cause
from hintbound.protocol import ExitCode


@click.command()
@click.argument("runs", nargs=-1, metavar="FIRST SECOND...")
@click.option("--write", "into", type=click.Path(path_type=Path), help="Write the page into this file, too.")
def command(runs: tuple[str, ...], into: Path | None) -> int:
    """Compare runs pair by pair: FIRST with SECOND, the third with the fourth, and so on.

    Each is a run's folder, or its run.json. A difference is explained where one of both clusters cannot offer
    what the behaviour needs, as the record says. Exits 1 when one is not, or when versions or gates differ.
    """
    from hintbound.report import equality, run_json

    if not runs or len(runs) % 2:
        raise click.UsageError("Runs are compared in pairs: FIRST SECOND, and again.")
    read = [run_json.read(Path(run)) for run in runs]
    pairs = [equality.equality(*pair) for pair in zip(read[::2], read[1::2], strict=True)]
    page = equality.write(pairs)
    click.echo(page, nl=False)
    if into:
        try:
            into.write_text(page, encoding="utf-8")
        except OSError as error:
            raise CannotStart(
                f"{into} cannot be written: {cause(error)}.",
                next_step="Name a file in a folder that is yours.",
            ) from error
    return ExitCode.PASS if all(pair.holds for pair in pairs) else ExitCode.FAIL
