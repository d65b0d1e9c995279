"""Paths: what is asked for is what is named, or an error."""

from __future__ import annotations

import pytest

from hintbound.kube import resources
from hintbound.kube.resources import CLUSTER_ROLES, LEASES, NODES, PODS, Resource


def test_paths_are_those_of_the_apiserver() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("a") == "/api/v1/namespaces/a/pods"
    assert PODS.path("a", "p", "status") == "/api/v1/namespaces/a/pods/p/status"
    assert NODES.path(name="n") == "/api/v1/nodes/n"
    assert LEASES.path("a", "l") == "/apis/coordination.k8s.io/v1/namespaces/a/leases/l"


def test_names_are_escaped_but_for_what_a_path_may_hold() -> None:
    assert CLUSTER_ROLES.path(name="system:node").endswith("/clusterroles/system:node")
    assert NODES.path(name="../a?b#c d%").endswith("/nodes/..%2Fa%3Fb%23c%20d%25")


def test_subresource_with_a_path_stays_a_path() -> None:
    assert NODES.path(name="n", subresource="proxy/metrics").endswith("/nodes/n/proxy/metrics")


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        (NODES, {"namespace": "a"}),
        (PODS, {"name": "p"}),
        (PODS, {"namespace": "a", "subresource": "status"}),
        (PODS, {"namespace": "a", "name": ""}),
        (PODS, {"namespace": ""}),
    ],
)
def test_a_path_that_would_mean_something_else_is_refused(resource: Resource, path: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=resource.plural):
        resource.path(**path)


def test_a_manifest_names_its_resource() -> None:
    assert resources.of({"apiVersion": "v1", "kind": "Pod"}) is PODS
    assert resources.of({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}) is LEASES
    with pytest.raises(KeyError, match="Widget"):
        resources.of({"apiVersion": "v1", "kind": "Widget"})
