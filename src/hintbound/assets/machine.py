"""What this machine is called in Go's and Kubernetes' terms, which name every release by it."""

from __future__ import annotations

import platform
from typing import Final

from hintbound.errors import CannotStart

_ARCHITECTURES: Final = {
    "x86_64": "amd64",
    "amd64": "amd64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
}


def os_arch() -> tuple[str, str]:
    """Operating system and architecture, e.g. `("linux", "amd64")`. Raises CannotStart for others."""
    system, machine = platform.system().lower(), platform.machine().lower()
    if system not in ("linux", "darwin") or machine not in _ARCHITECTURES:
        raise CannotStart(
            f"there are no Kubernetes binaries for {system or 'this system'}/{machine or 'unknown'}.",
            next_step="Run hintbound on Linux or macOS, amd64 or arm64.",
        )
    return system, _ARCHITECTURES[machine]
