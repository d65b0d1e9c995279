"""Progress: a line that moves for people, plain lines for logs."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from hintbound.assets import progress


def test_log_hears_begin_end_and_that_work_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.05)

    with progress.Plain().task("building etcd") as task:
        task.amount(1_000_000, 4_000_000)
        task.note("17 packages")
        time.sleep(0.2)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "hintbound: building etcd ..."
    assert re.fullmatch(r"hintbound: building etcd \.\.\. \d+ s, 1 of 4 MB, 17 packages", lines[1])
    assert re.fullmatch(r"hintbound: building etcd: done in \d+ s", lines[-1])


def test_failed_work_is_not_called_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), progress.Plain().task("building etcd"):
        raise ZeroDivisionError

    assert "done" not in capsys.readouterr().err


def test_terminal_shows_elapsed_time_and_text_as_it_is() -> None:
    screen = io.StringIO()

    console = Console(file=screen, force_terminal=True, width=110, _environ={"TERM": "xterm"})

    with progress.Terminal(console).task("building [x]") as task:
        task.amount(1, 2)
        task.note("[bold]17 packages")

    assert "building [x]" in screen.getvalue()
    assert "[bold]17 packages" in screen.getvalue()
    assert re.search(r"0:00:0\d", screen.getvalue())


def test_stderr_that_is_no_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())

    assert isinstance(progress.for_stderr(), progress.Plain)
