"""Control planes behind one Protocol: `embedded` (local processes), `kind` (containers), `existing` (the
user's own), and what installed packages provide.

A provider is one module here; `open_cluster` makes the cluster that a SPEC asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from hintbound.clusters.installed import Asked, open_installed
from hintbound.clusters.protocol import (
    ApiserverSpec,
    Capability,
    Cluster,
    Component,
    ComponentState,
    Extras,
    SchedulerSpec,
)
from hintbound.clusters.spec import PROVIDERS, ClusterSpec, parse
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind
from hintbound.proxy import Rule, Witness
from hintbound.subjects import Subject

__all__ = [
    "ApiserverSpec",
    "Asked",
    "Capability",
    "Cluster",
    "ClusterSpec",
    "Component",
    "ComponentState",
    "Extras",
    "SchedulerSpec",
    "from_kind",
    "open_cluster",
    "parse",
]


def from_kind(made: object, asked: Asked | None = None) -> Cluster:
    """A cluster of pytest-kind's, of pytest-kubernetes', or one by name; see `clusters/kind/fixtures.py`.

    Raises CannotStart.
    """
    from hintbound.clusters.kind import fixtures

    return fixtures.from_kind(made, asked)


def open_cluster(
    spec: ClusterSpec,
    *,
    name: str,
    logs: Path | None = None,
    listener: Callable[[str, Any, Any], None] = lambda _event, _process, _facts: None,
    needs: Collection[Capability] = (),
    subject: Subject | None = None,
    rules: Sequence[Rule] = (),
    flags: Mapping[ComponentKind, Sequence[str]] | None = None,
    witness: Witness | None = None,
) -> Cluster:
    """A cluster that has not been started. `listener` is told of every turn in a component's life; `needs`
    are the capabilities that will be asked for; `subject` schedules in the place of kube-scheduler.
    `rules`: of fault proxies, which stand between the actors that they name and the apiserver. `flags`: more
    of them per kind of component. `witness`: is told of all that passes a proxy.

    Gets the programs that it needs, by download or build if need be: call it before an event loop runs.
    Raises CannotStart.
    """
    if spec.provider == "existing":
        if rules or flags:
            raise CannotStart(
                "no proxy can stand before the components of an existing cluster, and none takes flags.",
                next_step="Use embedded:VERSION.",
            )
        from hintbound.clusters.existing import ExistingCluster

        existing = ExistingCluster(spec, name=name, logs=logs, listener=listener, subject=subject)
        existing.resolve()
        return existing
    asked = Asked(name, logs, listener, frozenset(needs), subject, rules, flags or {}, witness)
    if spec.provider not in PROVIDERS:
        return open_installed(spec, asked)
    options = asked.options()
    if spec.provider == "kind":
        from hintbound.clusters.kind.cluster import KindCluster

        in_kind = KindCluster(spec, options)
        in_kind.resolve()
        return in_kind
    from hintbound.clusters.embedded.cluster import EmbeddedCluster

    embedded = EmbeddedCluster(spec, options)
    embedded.resolve()
    return embedded
