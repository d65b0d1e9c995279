"""Shows long work on stderr: a moving line with the elapsed time on a terminal, plain lines in CI."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hintbound.protocol import Seconds

PLAIN_INTERVAL: Final[Seconds] = 30
"""How often a plain log says that work still goes on: CI kills jobs that stay silent."""


class Task(Protocol):
    """One piece of long work."""

    def note(self, text: str) -> None:
        """Say what it is at."""

    def amount(self, done: int, total: int | None) -> None:
        """Say how far it is, in bytes."""


class Show(Protocol):
    """Where progress goes."""

    def say(self, line: str) -> None:
        """One line that stays."""

    def task(self, title: str) -> AbstractContextManager[Task]:
        """Show work inside; on leaving well, its duration."""


def for_stderr() -> Show:
    """The way of showing that suits stderr."""
    return Terminal(Console(stderr=True)) if sys.stderr.isatty() else Plain()


class Plain:
    """Lines for a log."""

    def say(self, line: str) -> None:
        """One line that stays."""
        sys.stderr.write(f"hintbound: {line}\n")
        sys.stderr.flush()

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        """A line at the start, at the end, and every PLAIN_INTERVAL in between."""
        begin, done = time.monotonic(), threading.Event()
        work = _Noted()
        self.say(f"{title} ...")

        def remind() -> None:
            while not done.wait(PLAIN_INTERVAL):
                self.say(f"{title} ... {time.monotonic() - begin:.0f} s{work.state()}")

        reminder = threading.Thread(target=remind, daemon=True)
        reminder.start()
        try:
            yield work
        finally:
            done.set()
            reminder.join()
        self.say(f"{title}: done in {time.monotonic() - begin:.0f} s")


class Terminal:
    """A line that moves."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, line: str) -> None:
        """One line that stays."""
        self._console.print(escape(line), highlight=False)

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        """A spinner with a bar, the elapsed time and the last note."""
        begin = time.monotonic()
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}[/dim]"),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            identity = bar.add_task(escape(title), total=None, note="")
            yield _Moving(bar, identity)
        self.say(f"{title}: done in {time.monotonic() - begin:.0f} s")


class _Noted:
    def __init__(self) -> None:
        self._note = self._amount = ""

    def note(self, text: str) -> None:
        self._note = text

    def amount(self, done: int, total: int | None) -> None:
        self._amount = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"

    def state(self) -> str:
        return "".join(f", {text}" for text in (self._amount, self._note) if text)


class _Moving:
    def __init__(self, bar: Progress, identity: int) -> None:
        self._bar, self._identity = bar, identity

    def note(self, text: str) -> None:
        self._bar.update(self._identity, note=escape(text))  # type: ignore[arg-type]

    def amount(self, done: int, total: int | None) -> None:
        self._bar.update(self._identity, completed=done, total=total)  # type: ignore[arg-type]
