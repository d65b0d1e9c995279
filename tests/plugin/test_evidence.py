"""What a reader of a failure is shown."""

from __future__ import annotations

from pathlib import Path

from hintbound.history.events import Event, Kind, Source
from hintbound.history.store import Store
from hintbound.plugin.evidence import MOST_LINES, evidence, summary
from tests.history.lines import pod
from tests.plugin.fakes import a_store


def seen(store: Store, version: dict[str, object], kind: Kind = Kind.MODIFIED) -> None:
    metadata = version["metadata"]
    assert isinstance(metadata, dict)
    store.append(
        kind,
        source=Source.WATCH,
        resource="pods",
        namespace="ns",
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        data=version,
    )


def history(folder: Path, *versions: dict[str, object]) -> list[Event]:
    with a_store(folder) as store:
        for number, version in enumerate(versions):
            seen(store, version, Kind.MODIFIED if number else Kind.ADDED)
        return store.slice(namespace="ns")


def test_evidence_tells_each_change_of_a_pods_life_with_its_version(tmp_path: Path) -> None:
    events = history(
        tmp_path,
        pod(rv="7"),
        pod(rv="8", hint="n1"),
        pod(rv="9", node="n2", conditions={"PodScheduled": "True"}),
    )
    lines = evidence(AssertionError("one line is in the reason already"), events)

    assert lines[0] == "pod p (uid u1):"
    assert [line.partition("version ")[2] for line in lines[1:]] == [
        "7: added, phase=Pending",
        "8: nominatedNodeName=n1",
        "9: nominatedNodeName=(none), nodeName=n2, PodScheduled=True",
    ]


def test_evidence_begins_with_what_the_assertion_said_in_full(tmp_path: Path) -> None:
    lines = evidence(AssertionError("assert 1 == 2\n  - 2\n  + 1"), history(tmp_path, pod()))
    assert lines[:4] == ("assert 1 == 2", "  - 2", "  + 1", "pod p (uid u1):")


def test_pods_that_only_set_the_stage_are_left_out(tmp_path: Path) -> None:
    assert evidence(None, history(tmp_path, pod(uid="scout")), without=["scout"]) == ()


def test_evidence_does_not_grow_without_end(tmp_path: Path) -> None:
    events = history(tmp_path, *(pod(rv=str(number)) for number in range(200)))
    lines = evidence(None, events)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "… 141 more lines; all of it is in history.ndjson"


def test_a_summary_names_what_matters_and_the_version() -> None:
    assert summary(pod(rv="9", node="n2", hint="n1")) == (
        "nodeName=n2, nominatedNodeName=n1, phase=Pending, resourceVersion=9"
    )
