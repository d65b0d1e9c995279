"""Hooks that the plugin calls and that a console (or a vendor's plugin) may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hintbound.errors import CannotStart
    from hintbound.plugin.session import Settings
    from hintbound.plugin.stage import Stage
    from hintbound.report.folder import RunFolder
    from hintbound.report.model import Run


@pytest.hookspec
def pytest_hintbound_starting(settings: Settings, behaviours: int) -> None:
    """So many behaviours were selected, and control planes are being started for them."""


@pytest.hookspec
def pytest_hintbound_started(stage: Stage) -> None:
    """A control plane is ready and its recorders are on."""


@pytest.hookspec
def pytest_hintbound_cannot_start(error: CannotStart) -> None:
    """The run cannot be begun; pytest ends with 254 after this."""


@pytest.hookspec
def pytest_hintbound_finished(run: Run, folder: RunFolder) -> None:
    """The reports are written."""
