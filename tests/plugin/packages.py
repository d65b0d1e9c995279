"""Packages that add something to hintbound, as pip would have installed them."""

from __future__ import annotations

import itertools
import sys
import textwrap
from pathlib import Path

import pytest

from hintbound.plugin import suites

_numbers = itertools.count(1)


class Packages:
    """Installs packages for the time of a test; each has modules of a name that nothing else has."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        self.made: list[str] = []

    def install(self, source: str, name: str = "acme-hintbound", **points: str) -> Path:
        """A package of one module with this source. Gives the module's file.

        `points`: by group (`checks`), what stands in it, with `{m}` for the module's name.
        """
        module = f"acme_{next(_numbers)}"
        self.made.append(module)
        root = self._folder / module
        info = root / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        sections = (f"[hintbound.{group}]\n{value.format(m=module)}\n" for group, value in points.items())
        (info / "entry_points.txt").write_text("\n".join(sections))
        file = root / module / "__init__.py"
        file.parent.mkdir()
        file.write_text(textwrap.dedent(source))
        self._monkeypatch.syspath_prepend(root)
        return file

    def forget(self) -> None:
        """As if none had been imported, or asked for."""
        suites._asked.clear()
        for name in [name for name in sys.modules if name.partition(".")[0] in self.made]:
            del sys.modules[name]
