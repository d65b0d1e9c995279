"""What pods take on nodes, as kube-scheduler counts it."""

from __future__ import annotations

from typing import Any

import pytest

from hintbound.checks.fit import repelled, unfathomable
from hintbound.checks.room import demand, lack
from hintbound.history import Event, Kind, Source
from hintbound.history.setting import NodeVersion

GiB = 2**30


def container(cpu: str = "", **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu} if cpu else {}}, **more}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}, "status": {}}


def node(cpu: str = "4", pods: str = "110", **spec: Any) -> NodeVersion:
    metadata = {"name": "n1", "labels": {"zone": "a"}}
    data = {"metadata": metadata, "spec": spec, "status": {"allocatable": {"cpu": cpu, "pods": pods}}}
    return NodeVersion(Event(0, "", 0.0, Source.WATCH, Kind.ADDED, resource="nodes", name="n1", data=data))


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        (pod(container("1"), container("250m")), 1250),
        (pod(container()), 0),
        (pod(container("1"), initContainers=[container("2"), container("1500m")]), 2000),
        (pod(container("1"), initContainers=[container("500m", restartPolicy="Always")]), 1500),
        (
            pod(container("1"), initContainers=[container("1", restartPolicy="Always"), container("3")]),
            4000,
        ),
        (
            pod(container("1"), initContainers=[container("3"), container("1", restartPolicy="Always")]),
            3000,
        ),
        (pod(container("1"), overhead={"cpu": "10m"}), 1010),
        (pod(container("1"), resources={"requests": {"cpu": "3"}}), 3000),
        (pod(container("1"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "1"}), 4000),
        (pod(container("1"), resources={"requests": {"memory": "1Gi"}}), 1000),
        (pod(container("0.0001"), container("0.0001")), 1),
    ],
)
def test_what_a_pod_asks_for(spec: dict[str, Any], cpu: int) -> None:
    assert demand(spec).amounts.get("cpu", 0) == cpu


def test_other_resources_are_counted_in_whole_units() -> None:
    requests = {"memory": "1.5Gi", "acme.io/gpu": "2"}

    found = demand(pod({"resources": {"requests": requests}}))

    assert found.amounts == {"memory": 3 * GiB // 2, "acme.io/gpu": 2}


def _lack(wanted: dict[str, Any], *there: dict[str, Any], on: NodeVersion) -> str:
    return lack(demand(wanted), [demand(one) for one in there], on)


def test_room_is_what_the_node_has_without_what_is_there() -> None:
    big = pod(container("3"))

    assert _lack(pod(container("1")), big, on=node()) == ""
    assert _lack(pod(container("1001m")), big, on=node()) == "cpu: 1001m beside 3000m, of 4000m"


def test_pod_that_asks_for_nothing_fits_where_too_much_is_taken() -> None:
    assert _lack(pod(container()), pod(container("5")), on=node()) == ""


def test_pods_are_counted() -> None:
    small = pod(container())

    assert _lack(small, small, on=node(pods="2")) == ""
    assert _lack(small, small, small, on=node(pods="2")) == "2 pods are there, of 2"


def test_what_the_node_does_not_tell_of_is_not_counted() -> None:
    assert _lack(pod({"resources": {"requests": {"acme.io/gpu": "1"}}}), on=node()) == ""


@pytest.mark.parametrize(
    ("ours", "theirs", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80, "protocol": "TCP"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"containerPort": 80}, {"containerPort": 80}, False),
    ],
)
def test_ports_of_the_host(ours: dict[str, Any], theirs: dict[str, Any], clash: bool) -> None:
    sidecar = container(ports=[theirs], restartPolicy="Always")

    found = _lack(pod(container(ports=[ours])), pod(container(), initContainers=[sidecar]), on=node())

    assert bool(found) is clash


@pytest.mark.parametrize(
    ("spec", "on", "kept_away"),
    [
        ({}, {}, False),
        ({"nodeSelector": {"zone": "a"}}, {}, False),
        ({"nodeSelector": {"zone": "b"}}, {}, True),
        ({}, {"unschedulable": True}, True),
        ({"tolerations": [{"operator": "Exists"}]}, {"unschedulable": True}, False),
        ({}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, True),
        ({}, {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}, False),
        (
            {"tolerations": [{"key": "k", "value": "v"}]},
            {"taints": [{"key": "k", "effect": "NoSchedule"}]},
            True,
        ),
        (
            {"tolerations": [{"key": "k", "value": "v"}]},
            {"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            False,
        ),
        (
            {"tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}]},
            {"taints": [{"key": "k", "effect": "NoSchedule"}]},
            True,
        ),
    ],
)
def test_labels_taints_and_cordons_keep_pods_away(
    spec: dict[str, Any], on: dict[str, Any], kept_away: bool
) -> None:
    assert repelled(pod(container(), **spec), node(**on)) is kept_away


def waiting(message: str) -> dict[str, Any]:
    told = pod(container())
    told["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}
    return told


@pytest.mark.parametrize(
    "plain",
    [
        pod(container()),
        pod(container(), volumes=[{"name": "v", "emptyDir": {}}]),
        waiting("no nodes available to schedule pods"),
        waiting("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."),
        waiting(
            "0/3 nodes are available: 1 Too many pods, 2 node(s) had untolerated taint {a: b}. preemption: "
            "0/3 nodes are available: 3 No preemption victims found for incoming pod."
        ),
    ],
)
def test_where_a_plain_pod_fits_can_be_said(plain: dict[str, Any]) -> None:
    assert unfathomable(plain) == ""


@pytest.mark.parametrize(
    "more",
    [
        pod(container(), affinity={"nodeAffinity": {}}),
        pod(container(), topologySpreadConstraints=[{}]),
        pod(container(), volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
        pod(container(), resourceClaims=[{}]),
        pod(container(), schedulingGates=[{"name": "g"}]),
        waiting("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."),
        waiting("0/2 nodes are available: 1 Insufficient cpu, 1 acme says no."),
        waiting("binding volumes: context deadline exceeded"),
    ],
)
def test_where_a_pod_with_more_wishes_fits_cannot(more: dict[str, Any]) -> None:
    assert unfathomable(more)
