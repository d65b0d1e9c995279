"""`run.json`: the result of a run as data, from which every other report can be written again."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import orjson

from hintbound.errors import CannotStart
from hintbound.report.model import Run

FILE: Final = "run.json"


def write(run: Run) -> str:
    """The run as indented JSON, the verdict in its first lines."""
    return orjson.dumps(run.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def read(path: Path) -> Run:
    """Read a run back, given its folder or the file itself.

    Raises:
        CannotStart: there is none, or it cannot be read.
    """
    file = path / FILE if path.is_dir() else path
    try:
        record = orjson.loads(file.read_bytes())
    except OSError as error:
        raise CannotStart(
            f"{file} cannot be read: {error.strerror or error}.",
            next_step="Name a run folder, e.g. reports/latest.",
        ) from error
    except orjson.JSONDecodeError as error:
        raise CannotStart(
            f"{file} is no JSON: {error}.", next_step="Run again, or use another copy."
        ) from error
    if not isinstance(record, dict):
        raise CannotStart(
            f"{file} is no record of a run.", next_step="Name a run folder, e.g. reports/latest."
        )
    try:
        return Run.from_json(record)
    except CannotStart as error:
        raise CannotStart(f"{file}: {error.message}", next_step=error.next_step) from error
