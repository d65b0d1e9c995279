"""kind clusters that fixtures of others made: `kind_cluster` of pytest-kind, `k8s` of pytest-kubernetes."""

from __future__ import annotations

from hintbound.clusters.embedded.options import Options
from hintbound.clusters.installed import Asked
from hintbound.clusters.kind.cluster import KindCluster
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart


def from_kind(made: object, asked: Asked | None = None) -> KindCluster:
    """A Cluster for what somebody made, which stays theirs: it is never deleted, and left as it was found.

    `made`: a KindCluster of pytest-kind, a KindManager of pytest-kubernetes that has created its cluster, or
    the cluster's name. `asked`: what a provider of `hintbound.clusters` is asked for. The answer's `spec`
    can be given to `hintbound run --cluster`. Raises CannotStart.
    """
    options = Options() if asked is None else asked.options()
    cluster = KindCluster(ClusterSpec("kind", cluster=_name(made)), options)
    cluster.resolve()
    return cluster


def _name(made: object) -> str:
    if isinstance(made, str) and made:
        return made
    # Neither package is imported here. Of pytest-kubernetes, managers of other tools look the same.
    tool = getattr(made, "get_binary_name", lambda: "kind")()
    name = getattr(made, "cluster_name", None) or getattr(made, "name", None)
    if tool != "kind" or not isinstance(name, str) or not name:
        raise CannotStart(
            f"{type(made).__name__} is no kind cluster.",
            next_step="Give a KindCluster of pytest-kind, a KindManager of pytest-kubernetes, or a name.",
        )
    return name
