"""Every actor may do what its part needs and nothing else."""

from __future__ import annotations

import pytest

from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.kube.resources import Resource
from hintbound.protocol import Actor

pytestmark = pytest.mark.asyncio(loop_scope="session")

_RULES = Resource(
    "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False
)
_EVERYBODY = {"authorization.k8s.io", "authentication.k8s.io"}
"""Groups of the reviews that any authenticated user may ask for."""


async def _rules(cluster: EmbeddedCluster, actor: Actor) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    body = {"apiVersion": _RULES.api_version, "kind": _RULES.kind, "spec": {"namespace": "default"}}
    status = (await cluster.client(actor).create(_RULES, body))["status"]
    allowed = {
        (verb, resource)
        for rule in status["resourceRules"]
        if not set(rule["apiGroups"]) & _EVERYBODY
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }
    paths = {
        (verb, url) for r in status["nonResourceRules"] for verb in r["verbs"] for url in r["nonResourceURLs"]
    }
    return allowed, paths


async def test_nominator_may_patch_the_status_of_pods_and_nothing_else(cluster: EmbeddedCluster) -> None:
    allowed, paths = await _rules(cluster, Actor.NOMINATOR)

    assert allowed == {("patch", "pods/status")}
    assert ("get", "/metrics") not in paths


async def test_author_may_write_pods_but_not_their_status(cluster: EmbeddedCluster) -> None:
    allowed, _ = await _rules(cluster, Actor.AUTHOR)

    assert allowed == {(verb, "pods") for verb in ("create", "get", "update", "patch", "delete")}


async def test_observer_only_reads(cluster: EmbeddedCluster) -> None:
    allowed, paths = await _rules(cluster, Actor.OBSERVER)

    assert allowed == {(verb, what) for verb in ("get", "list", "watch") for what in ("pods", "nodes")}
    assert ("get", "/metrics") in paths
    assert "kubernetes_feature_enabled" in await cluster.client(Actor.OBSERVER).get_text("/metrics")


async def test_admin_may_do_everything(cluster: EmbeddedCluster) -> None:
    allowed, _ = await _rules(cluster, Actor.ADMIN)

    assert ("*", "*") in allowed


async def test_each_actor_is_known_by_its_own_name(cluster: EmbeddedCluster) -> None:
    whoami = Resource(
        "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
    )
    for actor in Actor:
        body = {"apiVersion": whoami.api_version, "kind": whoami.kind}
        answer = await cluster.client(actor).create(whoami, body)

        assert answer["status"]["userInfo"]["username"] == actor
