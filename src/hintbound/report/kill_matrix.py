"""Which mutant is noticed by which behaviours and checks: the proof that the suites can fail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from hintbound import data
from hintbound.errors import CannotStart, cause
from hintbound.protocol import Verdict
from hintbound.report.model import LEGAL, Run

JSON: Final = "kill-matrix.json"
PAGE: Final = "kill-matrix.md"
FORMAT: Final = "hintbound.dev/kill-matrix/v1alpha1"
ALIKE: Final = 0.5
"""From this on a run looks like a mutant: of all that either breaks, so much is broken by both."""


@dataclass(frozen=True, slots=True)
class Killed:
    """One mutant and what noticed it."""

    mutant: str
    title: str
    like: str
    cluster: str
    """With the exact version."""
    behaviours: tuple[str, ...]
    """Those whose own assertion failed."""
    checks: tuple[str, ...]
    """Those that found a broken sentence, of which a hazard is one, in the record of any scenario."""
    bites: tuple[str, ...] = ()
    """What its rules did."""

    @property
    def survived(self) -> bool:
        """Whether nothing noticed."""
        return not self.behaviours and not self.checks


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """All mutants, and what else proves that a sentence can be broken."""

    suite_version: str
    mutants: tuple[Killed, ...]
    core: tuple[str, ...]
    """Every core behaviour."""
    checks: tuple[str, ...]
    """Every check."""
    broken_scenarios: tuple[str, ...]
    """Behaviours of which a test breaks the scenario itself, and sees it fail (tests/cli/*_breaks.py)."""
    broken_records: tuple[str, ...]
    """Checks that find what is broken in a record written by hand (tests/checks/breaks*.py)."""

    @property
    def unproven(self) -> list[str]:
        """Core behaviours and checks that nothing kills, and mutants that nothing notices."""
        killed = {name for mutant in self.mutants for name in (*mutant.behaviours, *mutant.checks)}
        killed |= {*self.broken_scenarios, *self.broken_records}
        told = [f"nothing kills {name}" for name in (*self.core, *self.checks) if name not in killed]
        return told + [f"nothing notices {mutant.mutant}" for mutant in self.mutants if mutant.survived]

    def to_json(self) -> dict[str, Any]:
        """As the file keeps it."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> KillMatrix:
        """Read it back. Raises ValueError, KeyError, TypeError."""
        if record["format"] != FORMAT:
            raise ValueError(f"its format is {record['format']!r}, not {FORMAT!r}")
        values = {key: _tuple(value) for key, value in record.items() if key != "format"}
        values["mutants"] = tuple(
            Killed(**{key: _tuple(value) for key, value in mutant.items()}) for mutant in record["mutants"]
        )
        return cls(**values)


def killed(mutant: str, title: str, like: str, run: Run) -> Killed:
    """What noticed a mutant in the run that it was played in."""
    return Killed(
        mutant,
        title,
        like,
        run.cluster_spec,
        tuple(
            sorted(o.behaviour for o in run.outcomes if o.verdict is Verdict.FAIL and not _by_check(o.reason))
        ),
        alarmed(run),
        tuple(note for note in run.notes if ": the rule " in note),
    )


def alarmed(run: Run) -> tuple[str, ...]:
    """The checks that found something in a run, hazards too; not what a scenario did on purpose, and no bug
    that is known of its scheduler's version."""
    return tuple(check.name for check in run.checks if check.found or LEGAL in check.excused)


def _by_check(reason: str) -> bool:
    return reason.startswith("the check ")


def looks_like(run: Run, known: KillMatrix) -> list[tuple[str, float]]:
    """The mutants that break what this run broke, most alike first, with how alike they are (0 to 1).

    Only what the run judged counts: a mutant may break more.
    """
    judged = {o.behaviour for o in run.outcomes if o.verdict in (Verdict.PASS, Verdict.FAIL)}
    failed = {o.behaviour for o in run.outcomes if o.verdict is Verdict.FAIL} | set(alarmed(run))
    if not failed:
        return []
    found = []
    for mutant in known.mutants:
        breaks = {*(set(mutant.behaviours) & judged), *mutant.checks}
        alike = len(breaks & failed) / len(breaks | failed)
        if alike >= ALIKE:
            found.append((mutant.mutant, alike))
    return sorted(found, key=lambda one: -one[1])


def shipped() -> KillMatrix | None:
    """The matrix that came with hintbound; None where nobody made one. Raises CannotStart."""
    try:
        return read(data.folder("docs") / JSON)
    except FileNotFoundError:
        return None


def read(file: Path) -> KillMatrix:
    """Read one. Raises FileNotFoundError, CannotStart."""
    try:
        return KillMatrix.from_json(json.loads(file.read_bytes()))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CannotStart(
            f"{file} cannot be read: {cause(error)}.", next_step="Make it anew: make mutants."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise CannotStart(
            f"{file} is no kill matrix: {error}.", next_step="Make it anew: make mutants."
        ) from error


def markdown(matrix: KillMatrix, *, about: Mapping[str, str]) -> str:
    """The page. `about`: the file of each behaviour."""
    lines = [
        "# What notices what: the kill matrix",
        "",
        "Generated by `make mutants`; do not edit. A mutant is a control plane that breaks the protocol on",
        "purpose: real components behind a fault proxy, with a gate the wrong way round, or of a release",
        "with the bug. `hintbound list mutants` has all; `hintbound run --profile all --mutant NAME` plays",
        "one.",
        "",
        f"{len(matrix.mutants)} mutants; {_how_many(matrix.core, matrix)} core behaviours and "
        f"{_how_many(matrix.checks, matrix)} checks are killed by one at least.",
        "What none kills is killed by a scenario that is broken (tests/cli), or by a record written by hand",
        "(tests/checks).",
        "",
        "## Mutants",
        "",
        "| mutant | what it does | stands for | behaviours | checks |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in matrix.mutants:
        shown = ", ".join(f"`{name}`" for name in one.checks) or "-"
        cells = (f"`{one.mutant}`", one.title, one.like, str(len(one.behaviours)), shown)
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        *_unproven(matrix),
        "## Checks",
        "",
        "| check | killed by | by hand |",
        "| --- | --- | --- |",
    ]
    lines += [_row(name, "checks", matrix, name in matrix.broken_records) for name in matrix.checks]
    lines += [
        "",
        "## Behaviours",
        "",
        "| behaviour | killed by | its own scenario, broken |",
        "| --- | --- | --- |",
    ]
    names = sorted(
        {*matrix.core, *(name for one in matrix.mutants for name in one.behaviours)} & about.keys()
    )
    lines += [_row(name, "behaviours", matrix, name in matrix.broken_scenarios) for name in names]
    return "\n".join(lines) + "\n"


def _how_many(names: Sequence[str], matrix: KillMatrix) -> str:
    killed_ones = {name for one in matrix.mutants for name in (*one.behaviours, *one.checks)}
    return f"{len(killed_ones & set(names))} of {len(names)}"


def _unproven(matrix: KillMatrix) -> list[str]:
    return ["**Unproven:** " + "; ".join(matrix.unproven) + ".", ""] if matrix.unproven else []


def _row(name: str, what: str, matrix: KillMatrix, otherwise: bool) -> str:
    by = ", ".join(f"`{one.mutant}`" for one in matrix.mutants if name in getattr(one, what))
    return f"| {name} | {by or '-'} | {'yes' if otherwise else '-'} |"


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
