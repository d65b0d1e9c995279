"""What one may want of an embedded control plane that does not belong into a SPEC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hintbound.clusters.embedded.process import Listener
from hintbound.clusters.protocol import Capability
from hintbound.protocol import ComponentKind
from hintbound.proxy import Rule, Witness
from hintbound.subjects import Subject


@dataclass(frozen=True, slots=True)
class Options:
    """Of one cluster."""

    name: str = "shared"
    """The cluster's name in a run's record."""
    folder_name: str | None = None
    """The name it is registered under; None for a random one."""
    logs: Path | None = None
    """Where components log; None for the cluster's own folder."""
    needs: frozenset[Capability] = frozenset()
    """What will be asked of it; some of it costs programs of its own."""
    subject: Subject | None = None
    """What runs in the place of kube-scheduler."""
    apiserver_port: int = 0
    audit_policy: Path | None = None
    listener: Listener = lambda _event, _process, _facts: None
    rules: Sequence[Rule] = ()
    """Of fault proxies, which stand between the actors that they name and the apiserver."""
    witness: Witness | None = None
    """Is told of all that passes a proxy."""
    flags: Mapping[ComponentKind, Sequence[str]] = field(default_factory=dict)
    """Further flags per kind; they replace ours of the same name."""
