"""What is told when a control plane does not start: one clear line first, then what its component said."""

from __future__ import annotations

import re
from pathlib import Path

from hintbound.clusters.embedded.process import ComponentDied
from hintbound.errors import CannotStart

_REJECTED_GATE = re.compile(r"[^\"\n]*feature gate[^\"\n]*")


def why_not(error: Exception, folder: Path) -> CannotStart:
    """The error for a control plane that did not start because of this one."""
    if isinstance(error, ComponentDied):
        return _death(error)
    if isinstance(error, OSError):
        what = (error.strerror or str(error)).lower()
        return CannotStart(
            f"cannot prepare a control plane in {folder}: {what}.",
            next_step="Free space there, or set HINTBOUND_STATE.",
        )
    return CannotStart(f"the control plane did not start: {error}")


def _death(death: ComponentDied) -> CannotStart:
    for line in death.lines:
        if found := _REJECTED_GATE.search(line):
            return CannotStart(
                f"{death.name} {death.version} rejects a gate: {found.group().strip()}.",
                next_step="Gates come and go with versions; see `hintbound list versions`.",
            )
    return CannotStart(f"the control plane did not start: {death}")
