"""One folder for all programs of a module, so that their runs can be shared by its tests."""

from __future__ import annotations

import pytest

from tests.cli.programs import Programs


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("programs"))
