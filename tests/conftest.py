"""For all tests of the suite itself."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell's background jobs ignore Ctrl-C, and so would all that they start: here it must be heard."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
