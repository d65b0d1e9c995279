"""A history for each test, and no fake stage left over from another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hintbound.history.store import Store
from tests.plugin.fakes import FakeStage, a_store
from tests.plugin.packages import Packages
from tests.plugin.sessions import Sessions


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with a_store(tmp_path) as store:
        yield store


@pytest.fixture(autouse=True)
def _no_fakes_left_over() -> Iterator[None]:
    FakeStage.opened = []
    yield
    FakeStage.opened = []


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Sessions:
    monkeypatch.setattr("hintbound.plugin.session.Stage", FakeStage)
    monkeypatch.delenv("HINTBOUND_REPORTS", raising=False)
    return Sessions(tmp_path, capsys)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    made = Packages(tmp_path / "installed", monkeypatch)
    yield made
    made.forget()
