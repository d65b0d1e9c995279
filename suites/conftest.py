"""Short names of the options for those who call pytest themselves: `pytest suites --cluster SPEC`."""

import pytest

from hintbound.plugin.hooks import OPTIONS


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--cluster` for `--hintbound-cluster`, and so on."""
    group = parser.getgroup("hintbound")
    for name, help_text in OPTIONS.items():
        group.addoption(f"--{name}", dest=f"hintbound_{name}", default=None, help=help_text)
