"""Play mutants, and write down what notices each: docs/kill-matrix.json and docs/kill-matrix.md.

    python tools/kill_matrix.py [NAME...] [--at-once 1] [--into docs]

With names only those are played; of the others the matrix that is there is kept. Exits 1 when nothing notices
a mutant, or nothing kills a core behaviour or a check.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # what tests break is a proof, too

from hintbound import __version__, mutants  # noqa: E402
from hintbound.checks import judging  # noqa: E402
from hintbound.errors import CannotStart  # noqa: E402
from hintbound.plugin import catalogue  # noqa: E402
from hintbound.plugin.judges import Judges  # noqa: E402
from hintbound.protocol import ExitCode, Level  # noqa: E402
from hintbound.report import kill_matrix  # noqa: E402
from hintbound.report.kill_matrix import Killed, KillMatrix  # noqa: E402
from tests.checks import breaks, test_families  # noqa: E402, F401 - the latter fills the former
from tests.cli import kubelet_breaks, test_suites_can_fail  # noqa: E402


def played(wanted: list[mutants.Mutant], at_once: int) -> Iterator[Killed]:
    """Each in a run of its own, as they end. Raises CannotStart."""
    with tempfile.TemporaryDirectory() as scratch, Judges(Path(scratch), at_once) as judges:
        begun = [
            (one, judges.begin(one.name, ["--cluster", one.cluster, "--mutant", one.name])) for one in wanted
        ]
        for one, judged in begun:
            yield kill_matrix.killed(one.name, one.title, one.like, judged.result().run)


def matrix_of(mutants_played: Iterable[Killed], entries: Sequence[catalogue.Entry]) -> KillMatrix:
    """With all that else proves that sentences can be broken."""
    return KillMatrix(
        __version__,
        tuple(sorted(mutants_played, key=lambda one: one.mutant)),
        tuple(entry.behaviour.id for entry in entries if entry.behaviour.level is Level.CORE),
        tuple(check.name for check in judging.ours()),
        tuple(sorted({*test_suites_can_fail.BREAKS, *kubelet_breaks.BREAKS})),
        tuple(sorted(breaks.BREAKS)),
    )


def main() -> int:
    """Play, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--into", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    known = {one.name: one for one in mutants.all_mutants()}
    wanted = [mutants.named(name) for name in options.names] or list(known.values())
    entries = catalogue.collect()
    about = {entry.behaviour.id: entry.file for entry in entries}
    there = options.into / kill_matrix.JSON
    by_name: dict[str, Killed] = {}
    if options.names and there.exists():
        by_name = {one.mutant: one for one in kill_matrix.read(there).mutants if one.mutant in known}
    for one in played(wanted, options.at_once):
        by_name[one.mutant] = one
        matrix = matrix_of(by_name.values(), entries)  # after each: an hour of work is not lost to a Ctrl-C
        there.write_text(json.dumps(matrix.to_json(), indent=1) + "\n")
        (options.into / kill_matrix.PAGE).write_text(kill_matrix.markdown(matrix, about=about))
    for told in matrix.unproven:
        print(told, file=sys.stderr)
    return ExitCode.FAIL if matrix.unproven else ExitCode.PASS


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as error:
        print(f"hintbound: {error}", file=sys.stderr)
        sys.exit(ExitCode.CANNOT_START)
