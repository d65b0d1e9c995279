"""Short names of the options for those who call pytest themselves: `pytest suites --cluster SPEC`."""

import pytest

from hintbound.plugin.hooks import OPTIONS


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--cluster` for `--hintbound-cluster`, and so on."""
    group = parser.getgroup("hintbound")
    for name, option in OPTIONS.items():
        group.addoption(f"--{name}", **option)
