"""Writes every report of a run; one that cannot be written costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from hintbound.report import conformance, junit, markdown, repro, run_json
from hintbound.report.folder import RunFolder, writing
from hintbound.report.model import Run


@dataclass(frozen=True, slots=True)
class Writer:
    """One report: its file and the pure function that makes its text."""

    file: str
    write: Callable[[Run], str]
    executable: bool = False


WRITERS: Final = (
    Writer(conformance.FILE, conformance.write),
    Writer(junit.FILE, junit.write),
    Writer(markdown.FILE, markdown.write),
    Writer(repro.FILE, repro.write, executable=True),
)


def write_all(run: Run, folder: RunFolder, *, writers: tuple[Writer, ...] = WRITERS) -> Run:
    """Write all reports. Gives the run with a note for each that could not be; its verdict is never changed.

    `run.json` comes first, so that the result is on disk whatever happens next, and again if there are notes.

    Raises:
        CannotStart: `run.json` itself cannot be written; it then still says unknown, as it did at the start.
    """
    with writing(folder.path):
        folder.write(run_json.FILE, run_json.write(run))
    notes: list[str] = []
    for writer in writers:
        try:
            folder.write(writer.file, writer.write(run), executable=writer.executable)
        except Exception as error:
            notes.append(f"{writer.file} could not be written: {type(error).__name__}: {error}")
    if not notes:
        return run
    noted = replace(run, notes=(*run.notes, *notes))
    with writing(folder.path):
        folder.write(run_json.FILE, run_json.write(noted))
    return noted
