"""What surrounded the pods of a record."""

from __future__ import annotations

import math
from typing import Any

from hintbound.history.events import Event, Kind, Source
from hintbound.history.setting import setting


def at(mono: float, kind: str, source: Source = Source.ENGINE, **about: Any) -> Event:
    return Event(int(mono * 10), "", mono, source, kind, **about)


def node(mono: float, name: str, kind: str = Kind.MODIFIED) -> Event:
    return at(mono, kind, Source.WATCH, resource="nodes", name=name)


def test_node_is_as_its_latest_version_shows_it() -> None:
    first, second = node(1, "n1", Kind.ADDED), node(3, "n1")
    known = setting([first, second])

    assert known.node_at("n1", 0.5) is None
    assert (found := known.node_at("n1", 2)) is not None
    assert found.event is first
    assert (found := known.node_at("n1", 3)) is not None
    assert found.event is second


def test_node_that_went_is_not_there_until_it_comes_again() -> None:
    known = setting([node(1, "n1", Kind.ADDED), node(2, "n1", Kind.DELETED), node(4, "n1", Kind.ADDED)])

    assert known.node_at("n1", 3) is None
    assert known.node_at("n1", 4) is not None
    assert known.node_at("other", 4) is None


def test_versions_between_two_moments_begin_with_the_one_in_force() -> None:
    events = [node(1, "n1", Kind.ADDED), node(3, "n1"), node(5, "n1", Kind.DELETED)]
    known = setting(events)

    assert [v.event for v in known.nodes_between("n1", 2, 4)] == events[:2]
    assert [v.event for v in known.nodes_between("n1", 3, 9)] == events[1:]
    assert known.nodes_between("n1", 0, 0.5) == []


def test_all_is_quiet_from_when_what_was_broken_last_is_back() -> None:
    down, back = at(1, Kind.COMPONENT_KILLED, name="s"), at(4, Kind.COMPONENT_READY, name="s")

    assert setting([]).quiet_since == 0
    assert math.isinf(setting([down]).quiet_since)
    assert setting([down, back]).quiet_since == 4
    assert setting([at(2, Kind.COMPONENT_READY, name="s")]).quiet_since == 0


def test_fault_that_was_entered_twice_ends_twice() -> None:
    def fault(mono: float, kind: Kind) -> Event:
        return at(mono, kind, data={"fault": "slow"})

    began, ended = Kind.FAULT_BEGAN, Kind.FAULT_ENDED

    assert math.isinf(setting([fault(1, began), fault(2, began), fault(3, ended)]).quiet_since)
    assert setting([fault(1, began), fault(2, began), fault(3, ended), fault(5, ended)]).quiet_since == 5


def test_components_of_others_do_not_matter() -> None:
    down = at(1, Kind.COMPONENT_KILLED, name="kube-scheduler-7")

    assert setting([down], components={"kube-scheduler"}).quiet_since == 0


def test_loss_of_a_recorder_makes_it_not_whole() -> None:
    assert setting([node(1, "n1")]).whole
    assert not setting([node(1, "n1"), at(2, Kind.GAP, Source.WATCH)]).whole


def test_answers_to_clients_are_found_by_what_they_are_about() -> None:
    about = {"namespace": "ns", "name": "p", "resource": "pods/status"}
    asked = at(1, Kind.REQUEST, Source.CLIENT, **about)
    answered, lost = at(2, Kind.RESPONSE, Source.CLIENT, **about), at(3, Kind.LOST, Source.CLIENT, **about)

    assert setting([asked, answered, lost]).answers == {("ns", "p"): [answered, lost]}
