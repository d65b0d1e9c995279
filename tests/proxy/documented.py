"""The rules in docs/proxy.md: what a reader copies is what is tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).parents[2] / "docs" / "proxy.md"


def blocks() -> list[str]:
    """The texts of all YAML blocks."""
    return re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def documented(name: str) -> dict[str, Any]:
    """One rule."""
    rules: list[dict[str, Any]] = [rule for block in blocks() for rule in yaml.safe_load(block)["rules"]]
    return next(rule for rule in rules if rule["name"] == name)
