"""The folder of one run: made before anything else, so that a killed run never looks like one that passed."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hintbound.errors import CannotStart
from hintbound.protocol import Verdict
from hintbound.report import run_json
from hintbound.report.model import STILL_RUNNING, Run

LATEST: Final = "latest"


def new_run_id(now: datetime | None = None) -> str:
    """A name for a run: its UTC start, then a few random letters. Names sort as the runs began."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where one run keeps everything: records, component logs, reports."""

    id: str
    path: Path

    @classmethod
    def create(cls, root: Path, *, now: datetime | None = None) -> RunFolder:
        """Make a new folder under `root`, and `root` if need be. `become_latest` lets `latest` point at it.

        Raises:
            CannotStart: `root` cannot be written, or the disk is full.
        """
        with writing(root):
            root.mkdir(parents=True, exist_ok=True)
            while True:
                run_id = new_run_id(now)
                with contextlib.suppress(FileExistsError):
                    (root / run_id).mkdir()
                    (root / run_id / "logs").mkdir()
                    return cls(run_id, root / run_id)

    @property
    def history(self) -> Path:
        """The record that all recorders share."""
        return self.path / "history.ndjson"

    @property
    def audit(self) -> Path:
        """The apiservers' audit lines as they wrote them."""
        return self.path / "audit.ndjson"

    @property
    def logs(self) -> Path:
        """The components' logs."""
        return self.path / "logs"

    def begin(self, run: Run) -> Run:
        """Write a provisional `run.json` that says unknown. Gives what was written.

        Raises:
            CannotStart: the folder cannot be written, or the disk is full.
        """
        provisional = replace(run, id=self.id, verdict=Verdict.UNKNOWN, reason=run.reason or STILL_RUNNING)
        with writing(self.path):
            self.write(run_json.FILE, run_json.write(provisional))
        return provisional

    def become_latest(self) -> None:
        """Let `latest` point here: for a run that has started, not one that could not.

        Raises:
            CannotStart: the folder cannot be written, or the disk is full.
        """
        with writing(self.path):
            point_latest_at(self.path)

    def write(self, name: str, text: str, *, executable: bool = False) -> Path:
        """Write one file whole or not at all: a reader sees the old text or the new one.

        Raises:
            OSError: it cannot be written; what was there before is unchanged.
        """
        target = self.path / name
        scratch = target.with_name(f".{name}.{secrets.token_hex(4)}")
        try:
            with scratch.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if executable:
                scratch.chmod(0o755)
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        return target


def point_latest_at(folder: Path) -> None:
    """Let `latest` beside the folder name it: a symlink swapped in one step, or a text file at need.

    Two runs that do so at once leave one of the two, whole. A `latest` that is a folder is left alone.
    """
    latest = folder.parent / LATEST
    scratch = latest.with_name(f".{LATEST}.{secrets.token_hex(4)}")
    try:
        try:
            scratch.symlink_to(folder.name, target_is_directory=True)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise
            scratch.write_text(f"{folder.name}\n", encoding="utf-8")
        with contextlib.suppress(IsADirectoryError):
            scratch.replace(latest)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()


_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write below `path` into one clear line."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise CannotStart(
                f"the report folder {path} cannot be written: the disk is full.",
                next_step="Free some space, or choose another folder for reports.",
            ) from error
        raise CannotStart(
            f"the report folder {path} cannot be written: {error.strerror or error}.",
            next_step="Choose a folder for reports that is writable.",
        ) from error
