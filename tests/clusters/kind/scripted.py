"""Programs that answer as a test wants: `docker` and `kind` where neither is needed, nor there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class Scripted:
    """A folder to be all of PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self._asked = folder / "asked"

    def program(self, name: str, answers: Mapping[str, str | tuple[int, str]]) -> None:
        """`answers`: by a shell pattern of the arguments, what is said, or exit code and complaint; whatever
        matches none is a mistake of the test's."""
        cases = []
        for pattern, answer in answers.items():
            code, said = answer if isinstance(answer, tuple) else (0, answer)
            quoted = pattern.replace(" ", "\\ ").replace("=", "\\=")
            to = ">&2" if code else ""
            cases.append(f"{quoted}) /bin/cat {to} <<'END'\n{said}\nEND\nexit {code};;")
        script = "\n".join(
            ["#!/bin/sh", f'echo "{name} $*" >> {self._asked}', 'case "$*" in', *cases, "esac", "exit 99"]
        )
        draft = self.folder / f".{name}"
        draft.write_text(script)
        draft.chmod(0o755)
        draft.rename(self.folder / name)  # a shell may be reading the old one

    @property
    def asked(self) -> list[str]:
        """Every command line, in the order of the calls."""
        return self._asked.read_text().splitlines() if self._asked.exists() else []
