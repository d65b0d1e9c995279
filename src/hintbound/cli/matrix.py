"""`hintbound matrix`: judge every version with every set of gates and lay the verdicts side by side."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from hintbound.clusters.embedded.guard import Guard
from hintbound.errors import CannotStart, cause, one_of
from hintbound.protocol import EXIT_CODES, ExitCode, worst

if TYPE_CHECKING:
    from hintbound.report.matrix import Row
    from hintbound.report.model import Run

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
    rows = [_row(entry) for entry in catalogue.collect()]
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
    with tempfile.TemporaryDirectory() as scratch, _Judges(Path(scratch), at_once, options) as judges:
        runs = [(column, judged.result()) for column, judged in judges.begin(columns)]
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


class _Judges:
    """One run for each column, in processes of their own, some side by side. None of them outlives us."""

    def __init__(self, scratch: Path, at_once: int, options: Iterable[str]) -> None:
        self._scratch = scratch
        self._options = ["--profile", "all", *options]
        self._pool = ThreadPoolExecutor(at_once)
        self._guard = Guard()
        self._running: set[subprocess.Popen[str]] = set()
        self._ended = False
        self._lock = threading.Lock()
        """Of the two: no run begins once all have been asked to end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """After an error or an interrupt the runs are asked to end, which removes their clusters."""
        try:
            if kind is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                with self._lock:
                    self._ended = True
                    for run in self._running:
                        run.send_signal(signal.SIGINT)
            self._pool.shutdown()
        finally:
            self._guard.release()

    def begin(self, columns: Iterable[tuple[str, str]]) -> list[tuple[str, Future[Run]]]:
        """Each column's id with its run, which may last a while. Raises CannotStart where it cannot begin."""
        return [(column, self._pool.submit(self._judge, column, spec)) for column, spec in columns]

    def _judge(self, column: str, spec: str) -> Run:
        from hintbound.report import run_json

        reports = self._scratch / column.replace(" ", "-")
        command = [sys.executable, "-m", "hintbound", "run", *self._options, "--cluster", spec]
        with self._lock:
            if self._ended:
                raise CannotStart(f"{spec} was not judged: the others have been ended.")
            run = subprocess.Popen(
                [*command, "--reports", str(reports)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                process_group=self._guard.group,
            )
            self._running.add(run)
        with run:
            out, err = run.communicate()
        with self._lock:
            self._running.discard(run)
        if run.returncode not in (ExitCode.PASS, ExitCode.FAIL, ExitCode.UNKNOWN):
            said = (err.strip() or out.strip() or f"exit code {run.returncode}").splitlines()[-1]
            raise CannotStart(f"{spec} could not be judged: {said.removeprefix('hintbound: ')}")
        result = run_json.read(reports / "latest" / "run.json")
        click.echo(f"{column}: {result.verdict} in {result.duration_seconds:.0f} s", err=True)
        return result


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
