"""Clusters that installed packages provide: `--cluster acme:whatever`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hintbound.clusters.embedded.options import Options
from hintbound.clusters.protocol import Capability, Cluster
from hintbound.clusters.spec import PROVIDERS, ClusterSpec, parse
from hintbound.errors import CannotStart
from hintbound.extensions import Extension, Group, named
from hintbound.protocol import ComponentKind
from hintbound.proxy import Rule, Witness
from hintbound.subjects import Subject


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a new cluster beside what its SPEC says; see `open_cluster`, which takes the same."""

    name: str
    """`shared` or `exclusive`."""
    logs: Path | None
    """Where its components should log."""
    listener: Callable[[str, Any, Any], None]
    """To be told of every turn in a component's life."""
    needs: Collection[Capability]
    """What will be asked for."""
    subject: Subject | None = None
    """Whose scheduler its pods are to name; the cluster's `scheduler_name` must be that then."""

    rules: Sequence[Rule] = ()
    """Of fault proxies, which are to stand between the actors that they name and the apiserver."""
    flags: Mapping[ComponentKind, Sequence[str]] = field(default_factory=dict)
    """Further flags per kind of component."""
    witness: Witness | None = None
    """Is told of all that passes a proxy."""

    def options(self) -> Options:
        """The same, as hintbound's own clusters take it."""
        return Options(
            name=self.name,
            logs=self.logs,
            listener=self.listener,
            needs=frozenset(self.needs),
            subject=self.subject,
            rules=self.rules,
            flags=self.flags,
            witness=self.witness,
        )

    def of_hintbound(self, spec: str) -> Cluster:
        """One of hintbound's own clusters by its SPEC, with all that is asked: for a provider that wraps it.

        Raises CannotStart.
        """
        from hintbound.clusters import open_cluster

        return open_cluster(
            parse(spec),
            name=self.name,
            logs=self.logs,
            listener=self.listener,
            needs=self.needs,
            subject=self.subject,
            rules=self.rules,
            flags=self.flags,
            witness=self.witness,
        )


ClusterFactory = Callable[[str, Asked], Cluster]
"""What an entry point of `hintbound.clusters` stands for: called with what follows the provider's name in
the SPEC, before an event loop runs; gives a cluster that has not been started. CannotStart is its way to
say no."""

_MEMBERS = [name for name in vars(Cluster) if not name.startswith("_")]


def open_installed(spec: ClusterSpec, asked: Asked) -> Cluster:
    """The cluster of a package's provider. Raises CannotStart, also for whatever the package raises."""
    extension = named(Group.CLUSTERS, spec.provider, besides=PROVIDERS)
    factory = load(extension)
    try:
        cluster = factory(spec.target, asked)
        missing = [member for member in _MEMBERS if not hasattr(cluster, member)]
        wrong = [] if missing else sorted(map(str, set(cluster.capabilities) - set(Capability)))
    except CannotStart:
        raise
    except Exception as error:
        raise extension.failed("makes no cluster", error) from error
    if missing:
        kind = type(cluster).__name__
        raise extension.wrong(f"gives {kind}, which is no Cluster: it lacks {', '.join(missing)}.")
    if wrong:
        raise extension.wrong(f"states capabilities that are none: {', '.join(wrong)}.")
    if asked.subject and cluster.scheduler_name != asked.subject.scheduler_name:
        raise CannotStart(
            f"clusters of {spec.provider} do not take a subject: pods would name {cluster.scheduler_name}.",
            next_step="Judge it on embedded:VERSION or existing:CONTEXT.",
        )
    return cluster


def load(extension: Extension) -> ClusterFactory:
    """The factory that an entry point stands for. Raises CannotStart."""
    return extension.load_callable("a SPEC")


def not_started(spec: ClusterSpec, error: Exception) -> Exception:
    """What to raise for an error in starting a cluster: that of a package's own code as one clear line."""
    if spec.provider in PROVIDERS or isinstance(error, CannotStart):
        return error
    return named(Group.CLUSTERS, spec.provider).failed("could not start its cluster", error)
