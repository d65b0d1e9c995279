"""Fault proxies before the components of a real control plane."""

from __future__ import annotations

import asyncio

from hintbound.clusters import open_cluster, parse
from hintbound.clusters.protocol import Proxied
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.protocol import Actor
from hintbound.proxy import of

RULE = {
    "name": "seen",
    "actor": ["kube-scheduler", "kube-controller-manager", "hintbound-author"],
    "match": {"verb": ["get", "list", "watch"], "resource": ["namespaces", "serviceaccounts"]},
    "do": {"editObjects": [{"set": 'metadata.annotations["example.com/seen"]', "value": "yes"}]},
}


async def test_every_component_works_behind_one_and_the_record_says_so() -> None:
    cluster = open_cluster(parse("embedded:1.35"), name="shared", rules=of(RULE))
    assert isinstance(cluster, Proxied)
    try:
        await cluster.start()  # the scheduler is ready, and has bound a pod
        async with asyncio.timeout(30):  # the controllers work, each with a token of its own
            author = cluster.client(Actor.AUTHOR)
            async for event in cluster.client(Actor.ADMIN).watch(resources.CONFIG_MAPS, namespace="default"):
                if event.object["metadata"].get("name") == "kube-root-ca.crt":
                    break
        hits = cluster.book().tally("seen").hits
        assert hits["kube-controller-manager"] > 0
        assert author.connection.server != cluster.direct(Actor.AUTHOR).connection.server
        assert "kube-controller-manager reads and writes JSON, not protobuf" in cluster.deviations

        through = Client(
            (await cluster.proxy(Actor.OBSERVER)).connection(), actor=Actor.OBSERVER, user_agent="test"
        )
        cluster.book().add(
            {"name": "late", "actor": "hintbound-observer", "do": {"delay": {"seconds": 0.01}}}
        )
        await through.request("GET", resources.PODS.path())
        await through.aclose()
        assert cluster.book().hits("late", Actor.OBSERVER) == 1
    finally:
        await cluster.close()
