"""Lines as kube-apiserver 1.35.4 wrote them for these acts; see `join.py` for what they do not say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hintbound.history import Event, Kind, PodLife, Source, Store, lives
from hintbound.protocol import MARKER_LABEL
from tests.history.lines import audit, pod, watched

STATUS = {"kind": "Status", "status": "Success"}


class Record:
    """Writes what a watch and an audit log show, in the order of the calls."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.events: list[Event] = []

    def watch(self, kind: Kind, item: dict[str, Any]) -> None:
        self.events.append(watched(self.store, kind, item))

    def audit(self, verb: str, **about: Any) -> None:
        event = audit(verb, **about)
        target = event["objectRef"]
        answer = event.get("responseObject") or {}
        metadata = answer.get("metadata") or {} if answer.get("kind") == "Pod" else {}
        self.events.append(
            self.store.append(
                event["stage"],
                source=Source.AUDIT,
                resource="/".join(filter(None, (target["resource"], target.get("subresource")))),
                namespace=target["namespace"],
                name=target["name"],
                uid=metadata.get("uid") or target.get("uid", ""),
                resource_version=metadata.get("resourceVersion", ""),
                data=event,
            )
        )

    def lives(self) -> list[PodLife]:
        return lives(self.events)

    def life(self) -> PodLife:
        (life,) = self.lives()
        return life

    def writers(self) -> list[str]:
        return [f"{v.type} {v.rv} <- {v.writer or '?'}" for life in self.lives() for v in life.versions]


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    with Store(tmp_path / "history.ndjson") as store:
        yield Record(store)


def test_each_version_finds_its_writer_by_resource_version(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", hint="n1"))
    record.audit("patch", subresource="status", user="nominator", answer=pod(rv="2", hint="n1"), at=2)
    record.audit("create", user="author", code=201, answer=pod(rv="1"), at=1)

    assert record.writers() == [
        "added 1 <- create pods by author: 201",
        "modified 2 <- patch pods/status by nominator: 200",
    ]


def test_a_patch_that_changed_nothing_is_nobodys_writer(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", hint="n1"))
    record.audit("create", answer=pod(rv="1"), at=1)
    record.audit("patch", subresource="status", user="echo", answer=pod(rv="2", hint="n1"), at=3)
    record.audit("patch", subresource="status", user="first", answer=pod(rv="2", hint="n1"), at=2)

    assert record.writers()[1] == "modified 2 <- patch pods/status by first: 200"
    assert [request.user for request in record.life().requests] == ["hintbound-author", "first", "echo"]


def test_a_refused_or_tried_write_is_nobodys_writer(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.audit("update", user="refused", code=409, answer=pod(rv="1"), at=1)
    record.audit("patch", user="tried", answer=pod(rv="1"), body={"dryRun": ["All"]}, at=2)

    assert record.writers() == ["added 1 <- ?"]
    assert [request.user for request in record.life().requests] == ["refused", "tried"]


def test_a_write_whose_client_died_before_the_answer_may_have_made_a_version(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", hint="n1"))
    record.watch(Kind.MODIFIED, pod(rv="3", node="n1"))
    record.audit("create", user="author", code=201, answer=pod(rv="1"), at=1)
    record.audit("patch", subresource="status", user="killed", code=504, answer=STATUS, at=2, uid="u1")
    record.audit("create", subresource="binding", user="killed", code=504, answer=STATUS, at=3, uid="u1")

    assert record.writers()[1:] == [
        "modified 2 <- patch pods/status by killed: 504",
        "modified 3 <- create pods/binding by killed: 504",
    ]


def test_the_version_on_a_node_was_made_by_the_binding_though_its_answer_carries_no_version(
    record: Record,
) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", node="n1"))
    record.audit("create", subresource="binding", user="late", code=409, answer=STATUS, at=3, uid="u1")
    record.audit("create", subresource="binding", user="scheduler", code=201, answer=STATUS, at=2, uid="u1")

    life = record.life()
    assert record.writers()[1] == "modified 2 <- create pods/binding by scheduler: 201"
    assert life.binding is not None
    assert life.binding.user == "scheduler"
    assert life.bound is life.versions[1]


def test_an_old_style_binding_is_found_by_the_name_in_its_body(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", node="n1"))
    body = {"kind": "Binding", "metadata": {"name": "p", "uid": "u1"}}
    record.audit("create", resource="bindings", user="scheduler", code=201, body=body, answer=STATUS, at=2)

    assert record.writers()[1] == "modified 2 <- create bindings by scheduler: 201"


def test_deleting_without_grace_made_both_the_mark_and_the_removal(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1", node="n1"))
    record.watch(Kind.MODIFIED, pod(rv="2", node="n1", deleting=True))
    record.watch(Kind.DELETED, pod(rv="3", node="n1", deleting=True))
    record.audit("delete", user="preemptor", answer=pod(rv="3", node="n1", deleting=True), at=2)

    assert record.writers()[1:] == [
        "modified 2 <- delete pods by preemptor: 200",
        "deleted 3 <- delete pods by preemptor: 200",
    ]


def test_an_eviction_made_the_condition_and_the_mark(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1", node="n1"))
    record.watch(Kind.MODIFIED, pod(rv="2", node="n1", conditions={"DisruptionTarget": "True"}))
    record.watch(
        Kind.MODIFIED, pod(rv="3", node="n1", conditions={"DisruptionTarget": "True"}, deleting=True)
    )
    record.audit("create", subresource="eviction", user="drain", code=201, answer=STATUS, at=2)

    assert record.writers()[1:] == [
        "modified 2 <- create pods/eviction by drain: 201",
        "modified 3 <- create pods/eviction by drain: 201",
    ]


def test_a_deleted_collection_made_the_mark(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1", node="n1"))
    record.watch(Kind.MODIFIED, pod(rv="2", node="n1", deleting=True))
    answer = {"kind": "PodList", "items": [pod(rv="1", node="n1")]}
    record.audit("deletecollection", name="", user="namespace-controller", answer=answer, at=2)

    assert record.writers()[1] == "modified 2 <- deletecollection pods by namespace-controller: 200"


def test_taking_the_last_finalizer_made_the_removal(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", deleting=True))
    record.watch(Kind.DELETED, pod(rv="3", deleting=True))
    record.audit("delete", user="author", answer=pod(rv="2", deleting=True), at=2)
    record.audit("patch", user="finalizer", answer=pod(rv="2", deleting=True), at=3)

    assert record.writers()[1:] == [
        "modified 2 <- delete pods by author: 200",
        "deleted 3 <- patch pods by finalizer: 200",
    ]


def test_pods_of_one_name_are_lives_of_their_own_with_their_own_requests(record: Record) -> None:
    record.watch(Kind.ADDED, pod(uid="old", rv="1"))
    record.audit("patch", user="too-early", code=404, answer=STATUS, at=0)
    record.audit("create", user="author", code=201, answer=pod(uid="old", rv="1"), at=1)
    record.audit("patch", user="refused-by-old", code=422, answer=STATUS, at=2)
    record.watch(Kind.DELETED, pod(uid="old", rv="2"))
    record.audit("delete", user="author", answer=pod(uid="old", rv="2"), at=3)
    record.audit("delete", user="nothing-left", code=404, answer=STATUS, at=4)
    record.watch(Kind.ADDED, pod(uid="new", rv="3"))
    record.audit("create", user="author", code=201, answer=pod(uid="new", rv="3"), at=5)
    record.audit("patch", user="refused-by-new", code=422, answer=STATUS, at=6)
    late = {"metadata": {"uid": "old"}}
    record.audit("patch", user="meant-the-old", code=409, body=late, answer=STATUS, at=7)

    old, new = record.lives()

    assert [r.user for r in old.requests] == [
        "author",
        "refused-by-old",
        "author",
        "nothing-left",
        "meant-the-old",
    ]
    assert [r.user for r in new.requests] == ["author", "refused-by-new"]
    assert [str(v.writer) for v in (*old.versions, *new.versions)] == [
        "create pods by author: 201",
        "delete pods by author: 200",
        "create pods by author: 201",
    ]


def test_a_delete_with_a_precondition_belongs_to_the_pod_it_demands(record: Record) -> None:
    record.watch(Kind.ADDED, pod(uid="old", rv="1"))
    record.watch(Kind.ADDED, pod(uid="new", rv="3"))
    body = {"kind": "DeleteOptions", "preconditions": {"uid": "old"}}
    record.audit("delete", user="late", code=409, body=body, answer=STATUS, at=9)

    old, new = record.lives()

    assert [r.user for r in old.requests] == ["late"]
    assert new.requests == ()


def test_unexplained_are_the_versions_that_came_about_and_only_up_to_the_limit(record: Record) -> None:
    record.watch(Kind.LISTED, pod(rv="1"))
    record.watch(Kind.MODIFIED, pod(rv="2", hint="n1"))
    record.watch(Kind.MODIFIED, pod(rv="3", hint="n2"))
    record.watch(Kind.DELETED, pod(rv="4", hint="n2"))
    life = record.life()

    assert [v.rv for v in life.unexplained()] == ["2", "3"]
    assert [v.rv for v in life.unexplained(until=2)] == ["2"]


def test_a_version_reads_as_its_pod_does(record: Record) -> None:
    record.watch(Kind.ADDED, pod(rv="1", hint="n1", conditions={"PodScheduled": "False"}, deleting=True))
    (version,) = record.life().versions

    assert (version.node_name, version.nominated_node_name, version.rv) == ("", "n1", "1")
    assert version.condition("PodScheduled") == {"type": "PodScheduled", "status": "False"}
    assert version.condition("Ready") is None
    assert version.deletion_timestamp
    assert str(version) == "pod ns/p at 1 (added)"


def test_markers_and_other_clusters_pods_are_kept_apart(record: Record) -> None:
    marker = pod("m", uid="m")
    marker["metadata"]["labels"] = {MARKER_LABEL: "true"}
    record.watch(Kind.ADDED, marker)
    for cluster in ("shared", "exclusive"):
        record.events.append(watched(record.store, Kind.ADDED, pod(rv="1"), cluster=cluster))

    assert [life.cluster for life in record.lives()] == ["shared", "exclusive"]
    assert len(lives(record.events, markers=True)) == 3
