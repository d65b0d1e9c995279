"""The matrix: every behaviour on every cluster, as one value that is stored, shown, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from hintbound.errors import CannotStart, one_of
from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    NOMINATED_NODE_NAME_FOR_EXPECTATION,
    Level,
    Verdict,
)
from hintbound.report.model import ExpectedFailure, Outcome, Run

FORMAT: Final = "hintbound.dev/matrix/v1alpha1"
SHOWN_GATES: Final = (NOMINATED_NODE_NAME_FOR_EXPECTATION, CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING)
"""The gates that a column names; all others are in the run's own report."""


@dataclass(frozen=True, slots=True)
class Column:
    """One cluster: a version and a set of gates."""

    id: str
    """`1.35.4 @nnn-on`."""
    spec: str
    """What to pass to `--cluster` to judge it again."""
    version: str
    """Of its kube-apiserver, as it says itself."""
    gates: Mapping[str, bool]
    """Those of SHOWN_GATES that it knows, as its components say themselves."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one behaviour came to on one cluster."""

    verdict: Verdict
    reason: str = ""
    expected: ExpectedFailure | None = None
    """What was said beforehand of its failure."""


@dataclass(frozen=True, slots=True)
class Row:
    """One behaviour on every cluster."""

    behaviour: str
    must: str
    why: str
    level: Level
    severity: str
    applies: str
    source: str
    file: str
    affects: tuple[str, ...]
    advice: str
    cells: Mapping[str, Cell]
    """By a column's id."""
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """All of it."""

    suite_version: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def column(self, wanted: str) -> Column:
        """The column of an id, or of a version (`1.35`: its newest) with its gates. Raises CannotStart."""
        known = [column.id for column in self.columns]
        version, _, gates = wanted.partition("@")
        tail = f"@{gates or 'default'}"
        fits = [c for c in self.columns if c.id.endswith(f" {tail}") and _of(c.id, version.strip(" ,"))]
        if not fits:
            raise one_of("cluster in the matrix", wanted, known)
        return fits[-1]

    def outcomes(self, column: Column) -> list[Outcome]:
        """What a column holds, as a run would give it."""
        return [
            Outcome(
                behaviour=row.behaviour,
                must=row.must,
                level=row.level,
                verdict=row.cells[column.id].verdict,
                reason=row.cells[column.id].reason,
                expected=row.cells[column.id].expected,
                why=row.why,
                source=row.source,
                applies=row.applies,
                file=row.file,
                provisional=row.provisional,
            )
            for row in self.rows
            if column.id in row.cells
        ]

    def updated(self, newer: Matrix) -> Matrix:
        """This one with the columns of a newer one in the place of its own; the rows are the newer one's.

        A behaviour that came since has no cell in the columns that were not judged again.
        """
        ours = {row.behaviour: row.cells for row in self.rows}
        judged = {column.id: column for column in newer.columns}
        columns = [judged.pop(column.id, column) for column in self.columns]
        rows = (replace(row, cells={**ours.get(row.behaviour, {}), **row.cells}) for row in newer.rows)
        return Matrix(newer.suite_version, (*columns, *judged.values()), tuple(rows))

    def to_json(self) -> dict[str, Any]:
        """As `matrix.json` keeps it."""
        return {
            "format": FORMAT,
            "suiteVersion": self.suite_version,
            "columns": [
                {"id": c.id, "spec": c.spec, "version": c.version, "gates": dict(c.gates)}
                for c in self.columns
            ],
            "rows": [_row_to_json(row) for row in self.rows],
        }

    @classmethod
    def from_json(cls, record: Any) -> Matrix:
        """Read it back. Raises CannotStart for what is no matrix of this format."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise CannotStart(
                f"this is no matrix of the format {FORMAT}.", next_step="Make one: hintbound matrix."
            )
        try:
            columns = tuple(Column(**column) for column in record["columns"])
            return cls(record["suiteVersion"], columns, tuple(map(_row_from_json, record["rows"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CannotStart(
                f"the matrix is damaged: {error!r}.", next_step="Make it anew: hintbound matrix."
            ) from error


def build(suite_version: str, catalogue: Iterable[Row], runs: Sequence[tuple[str, Run]]) -> Matrix:
    """Lay the runs beside each other: rows from `catalogue` (without cells), columns by the runs' ids."""
    columns = tuple(_column(name, run) for name, run in runs)
    cells: dict[str, dict[str, Cell]] = {}
    for name, run in runs:
        for outcome in run.outcomes:
            cells.setdefault(outcome.behaviour, {})[name] = Cell(
                outcome.verdict, outcome.reason, outcome.expected
            )
    rows = tuple(
        replace(row, cells=cells.get(row.behaviour, {}))
        for row in sorted(catalogue, key=lambda row: (row.file, row.behaviour))
    )
    return Matrix(suite_version, columns, rows)


def _column(name: str, run: Run) -> Column:
    gates: dict[str, bool] = {}
    version = ""
    for _, component in run.components():
        version = version or (component.version if component.kind == "kube-apiserver" else "")
        for gate in SHOWN_GATES:
            if component.gates and gate in component.gates:
                gates.setdefault(gate, component.gates[gate])
    return Column(name, run.cluster_spec, version.removeprefix("v"), gates)


def _of(column: str, version: str) -> bool:
    exact = column.partition(" ")[0]
    return exact == version or exact.startswith(f"{version}.")


def _row_to_json(row: Row) -> dict[str, Any]:
    cells = {column: _cell_to_json(cell) for column, cell in row.cells.items()}
    return {
        "behaviour": row.behaviour,
        "must": row.must,
        "why": row.why,
        "level": str(row.level),
        "severity": row.severity,
        "applies": row.applies,
        "source": row.source,
        "file": row.file,
        "affects": list(row.affects),
        "advice": row.advice,
        **({"provisional": True} if row.provisional else {}),
        "cells": cells,
    }


def _cell_to_json(cell: Cell) -> dict[str, Any]:
    record: dict[str, Any] = {"verdict": str(cell.verdict)}
    if cell.reason and cell.verdict is not Verdict.NOT_SUPPORTED:  # the row says that already
        record["reason"] = cell.reason
    return record | ({"expected": asdict(cell.expected)} if cell.expected else {})


def _cell_from_json(record: Mapping[str, Any]) -> Cell:
    expected = ExpectedFailure(**record["expected"]) if "expected" in record else None
    return Cell(Verdict(record["verdict"]), record.get("reason", ""), expected)


def _row_from_json(record: Mapping[str, Any]) -> Row:
    cells = {column: _cell_from_json(cell) for column, cell in record["cells"].items()}
    known = {**record, "level": Level(record["level"]), "affects": tuple(record["affects"]), "cells": cells}
    return Row(**known)
