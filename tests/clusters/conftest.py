"""A state folder of its own for each test, and one real control plane that many tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No cluster of this machine is seen or touched."""
    folder = tmp_path / "state"
    monkeypatch.setenv("HINTBOUND_STATE", str(folder))
    return folder
