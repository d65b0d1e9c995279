"""What the matrix that hintbound ships tells of a behaviour."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from hintbound import data
from hintbound.clusters.gatesets import GATE_SETS
from hintbound.errors import CannotStart, cause
from hintbound.protocol import Verdict
from hintbound.report.matrix import Cell, Matrix

FILE: Final = "matrix.json"


def matrix() -> Matrix | None:
    """The shipped matrix; None where there is none (a checkout in which nobody made it). Raises
    CannotStart."""
    try:
        return read(data.folder("docs"))
    except FileNotFoundError:
        return None


def read(folder: Path) -> Matrix | None:
    """The matrix in a folder; None where there is none. Raises CannotStart."""
    file = folder / FILE
    try:
        return Matrix.from_json(json.loads(file.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotStart(
            f"{file} cannot be read: {cause(error)}.",
            next_step="Make it anew: hintbound matrix.",
        ) from error
    except CannotStart as error:
        raise CannotStart(f"{file}: {error.message}", next_step=error.next_step) from error
    except ValueError as error:
        raise CannotStart(
            f"{file} is no JSON: {error}.", next_step="Make it anew: hintbound matrix."
        ) from error


def by_default(behaviour: str, known: Matrix) -> str:
    """To which releases a behaviour applies with their default gates, and which gate sets turn it on where
    they do not: `1.33 no, 1.34 no (yes with @nnn-on), 1.35+ yes`. Empty when the matrix does not know it."""
    cells = next((row.cells for row in known.rows if row.behaviour == behaviour), {})
    minors: dict[str, dict[str, str]] = {}
    for column in known.columns:
        version, _, gates = column.id.partition(" @")
        if gates == "default" and column.id in cells:
            minors.setdefault(version.rpartition(".")[0], {})[version] = _answer(version, cells)
    answers: list[tuple[str, str]] = []
    for minor, patches in minors.items():
        alike = len(set(patches.values())) == 1
        answers += [(minor, next(iter(patches.values())))] if alike else list(patches.items())
    return ", ".join(_runs(answers))


_APPLIES = (Verdict.PASS, Verdict.FAIL)


def _answer(version: str, cells: Mapping[str, Cell]) -> str:
    default = cells[f"{version} @default"].verdict
    if default is not Verdict.NOT_SUPPORTED:
        return {Verdict.PASS: "yes", Verdict.FAIL: "yes, but broken"}.get(default, "not judged")
    columns = (f"{version} @{gates}" for gates in GATE_SETS)
    on = [column for column in columns if column in cells and cells[column].verdict in _APPLIES]
    return f"no (yes with {', '.join(column.split()[1] for column in on)})" if on else "no"


def _runs(answers: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Neighbours of the same answer stand once; the last also holds for what comes after it."""
    runs = [[label for label, _ in run] for _, run in groupby(answers, key=itemgetter(1))]
    for labels in runs:
        answer = dict(answers)[labels[0]]
        if labels is runs[-1]:
            yield f"{labels[0]}+ {answer}"
        else:
            yield f"{labels[0]}{f'-{labels[-1]}' if len(labels) > 1 else ''} {answer}"
