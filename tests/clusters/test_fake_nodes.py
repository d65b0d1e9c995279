"""What a fake node is made of."""

from __future__ import annotations

import yaml

from hintbound.clusters.fake_nodes import FAKE_TAINT, fake_node, stages


def test_node_is_born_ready_with_all_it_can_hold() -> None:
    node = fake_node("n1", cpu="2", memory="1Gi", pods=3, labels={"a": "b"})

    assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n1",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/os": "linux",
        "a": "b",
    }
    assert node["status"]["capacity"] == {"cpu": "2", "memory": "1Gi", "pods": "3"}
    assert node["status"]["allocatable"] == node["status"]["capacity"]
    assert [(c["type"], c["status"]) for c in node["status"]["conditions"]] == [("Ready", "True")]
    assert node["spec"] == {}


def test_node_can_be_left_for_kwok_to_make_ready() -> None:
    assert fake_node("n1", ready=False)["status"]["conditions"] == []


def test_taints_are_copied_not_shared() -> None:
    node = fake_node("n1", taints=[FAKE_TAINT])
    node["spec"]["taints"][0]["effect"] = "NoExecute"

    assert FAKE_TAINT == {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}


def test_stages_are_one_stream_of_named_stages() -> None:
    documents = list(yaml.safe_load_all(stages()))

    assert {document["kind"] for document in documents} == {"Stage"}
    names = [document["metadata"]["name"] for document in documents]
    assert len(names) == len(set(names))
