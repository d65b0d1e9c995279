"""Builds a pin with Go, on a copy of its go.mod in a temporary folder: the pins may be read-only."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hintbound.assets import cache, command, disk
from hintbound.assets.manifest import Made
from hintbound.assets.pins import FLAGS, Pin
from hintbound.assets.progress import Show, Task
from hintbound.assets.toolchain import Toolchain
from hintbound.errors import CannotStart

_SHOWN_LINES: Final = 12
_NETWORK: Final = re.compile(
    r"dial (tcp|udp)|no such host|i/o timeout|connection refused|network is unreachable|TLS handshake|"
    r"server response|proxyconnect|x509:|unexpected EOF|connection reset"
)


def pin(what: Pin, into: Path, toolchain: Toolchain, show: Show) -> Made:
    """Build all programs of a pin into `into`. Raises CannotStart with Go's last lines."""
    with cache.temporary() as scratch:
        for source in (what.folder / "go.mod", what.folder / "go.sum", *what.sources):
            shutil.copyfile(source, scratch / source.name)
        with show.task(f"building {what.title} with Go {toolchain.version}") as task:
            for group in _groups(what, into):
                programs(
                    what.title,
                    *group,
                    ldflags=what.ldflags,
                    tags=what.tags,
                    where=scratch,
                    toolchain=toolchain,
                    task=task,
                )
    return Made(source="build", origin=f"Go {toolchain.version}", go=toolchain.version)


def programs(
    title: str,
    output: str,
    packages: Sequence[str],
    *,
    ldflags: Sequence[str],
    where: Path,
    toolchain: Toolchain,
    task: Task,
    tags: Sequence[str] = (),
    workspace: bool = False,
) -> None:
    """Run one `go build -o output packages` in `where`. A `workspace` is the user's own go.work, kept."""
    counted = 0

    def on_line(line: str) -> None:
        nonlocal counted
        counted += bool(line) and " " not in line
        task.note(f"{counted} packages" if counted and " " not in line else line)

    flags = [*FLAGS, *([f"-tags={','.join(tags)}"] if tags else []), "-ldflags", " ".join(ldflags)]
    with cache.temporary() as work:
        work_file = {} if workspace else {"GOWORK": "off"}
        ended = command.run(
            [toolchain.go, "build", "-v", *flags, "-o", output, *packages],
            cwd=where,
            env=toolchain.environment(GOTMPDIR=str(work), **work_file),
            on_line=on_line,
        )
    if ended.code:
        raise failure(title, ended)


def failure(title: str, ended: command.Ended) -> CannotStart:
    """The error for a Go command that failed: the disk, the network, or Go's own last lines."""
    if disk.FULL_DISK_TEXT in ended.text.lower():
        return disk.full(cache.root())
    said = [line for line in ended.lines if " " in line.strip() and not line.startswith("go: downloading ")]
    if said and _NETWORK.search("\n".join(said[-_SHOWN_LINES:])):
        return CannotStart(
            f"{title} cannot be built: its Go modules cannot be downloaded ({said[-1].strip()}).",
            next_step="Check the network, or set HINTBOUND_ASSETS to a folder with the binaries.",
        )
    lines = "\n  ".join(said[-_SHOWN_LINES:]) or "(it said nothing)"
    return CannotStart(
        f"{title} cannot be built: go ended with {ended.code}:\n  {lines}\n",
        next_step="Correct what Go complains about, or set HINTBOUND_ASSETS to a folder with the binaries.",
    )


def _groups(what: Pin, into: Path) -> list[tuple[str, list[str]]]:
    """One Go command for all programs whose package has their name, one for each of the others."""
    alike = [package for name, package in what.programs.items() if package.rpartition("/")[2] == name]
    others = [(name, package) for name, package in what.programs.items() if package not in alike]
    return [(f"{into}/", alike)] * bool(alike) + [(str(into / name), [package]) for name, package in others]
