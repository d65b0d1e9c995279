"""An API that is off by default comes with the gate that is of no use without it."""

from __future__ import annotations

import pytest

from hintbound.clusters.embedded.components import Tuning, gated_apis

ON = {"GenericWorkload": True}
FLAG = ["--runtime-config=scheduling.k8s.io/v1beta1=true"]


@pytest.mark.parametrize(
    ("version", "tuning", "flags"),
    [
        ("1.37.2", Tuning(ON), FLAG),
        ("1.38.0-alpha.1.5+0123456789abcd", Tuning(ON), FLAG),
        ("1.37.2", Tuning(), []),
        ("1.37.2", Tuning({"GenericWorkload": False}), []),
        ("1.36.3", Tuning(ON), []),
        ("1.37.2", Tuning(ON, emulated="1.36"), []),
    ],
)
def test_the_api_of_pod_groups_is_served_where_it_exists(
    version: str, tuning: Tuning, flags: list[str]
) -> None:
    assert gated_apis(version, tuning) == flags
