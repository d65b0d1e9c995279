"""What a run needs beyond its cluster's own programs, and what becomes of it where that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound import assets
from hintbound.clusters import Capability, Extras, parse
from hintbound.clusters.embedded import extras
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.embedded.options import Options
from hintbound.errors import CannotStart


def cannot(_version: str) -> Path:
    raise CannotStart("faulty-scheduler cannot be built: no Go:\n  go is missing.", next_step="Install Go.")


def test_nothing_is_got_that_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "faulty_scheduler", cannot)
    monkeypatch.setattr(assets, "at_hand", cannot)

    assert extras.gather("1.35.4", {Capability.AUDIT}) == Extras()


def test_what_cannot_be_built_is_lacking_with_the_reason_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "faulty_scheduler", cannot)

    found = extras.gather("1.35.4", {Capability.FAULTY_SCHEDULER})

    assert found.lacking == {
        Capability.FAULTY_SCHEDULER: "faulty-scheduler cannot be built: no Go: go is missing. Install Go."
    }


def test_older_minor_is_not_got_but_only_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "at_hand", lambda _version: None)

    found = extras.gather("1.35.4", {Capability.OLDER_MINOR})

    assert found.lacking == {
        Capability.OLDER_MINOR: "Kubernetes 1.34.4 is not at hand. Get it: hintbound assets fetch 1.34.4."
    }


def test_capabilities_are_what_was_wanted_and_could_be_got(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "faulty_scheduler", cannot)
    plain = EmbeddedCluster(parse("embedded:1.35"))
    wanting = EmbeddedCluster(parse("embedded:1.35"), Options(needs=extras.ON_DEMAND))
    for cluster in (plain, wanting):
        cluster.resolve()

    never = {Capability.REAL_NODES}
    assert frozenset(Capability) - plain.capabilities == extras.ON_DEMAND | never
    missing = frozenset(Capability) - wanting.capabilities - never
    assert missing == wanting.extras.lacking.keys()
    assert Capability.FAULTY_SCHEDULER in missing
