"""`hintbound run regressions` on real control planes: a bug shows where it is said to, and only there."""

from __future__ import annotations

import pytest

from hintbound.plugin import catalogue
from hintbound.plugin.catalogue import Entry
from tests.cli.programs import Programs

QUICK = ("BUG-KUBERNETES-134249", "BUG-KUBERNETES-138434", "BUG-KUBERNETES-89111")
"""Those that take about a second, where it shows and where not."""


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    return {entry.behaviour.id: entry for entry in catalogue.collect(["regressions"])}


@pytest.mark.parametrize("version", ["1.34.4", "1.37.2"])
def test_bugs_show_where_they_are_said_to(
    programs: Programs, entries: dict[str, Entry], version: str
) -> None:
    only = [f"--behaviour={behaviour}" for behaviour in QUICK]
    ended = programs.hintbound("run", "regressions", "--cluster", f"embedded:{version}", *only)

    assert ended.run["profile"] == "regressions", "it is not for everybody's profile"
    for behaviour in QUICK:
        said = entries[behaviour].regression
        assert said is not None
        assert f"embedded:{version}" in (*said.shows, *said.absent)
        wanted = "fail" if f"embedded:{version}" in said.shows else "pass"
        assert ended.verdicts[behaviour] == wanted, ended.outcomes[behaviour]["reason"]


def test_no_other_profile_has_them(programs: Programs) -> None:
    for profile in ("core", "extended", "all"):
        ended = programs.hintbound("run", "regressions", "--profile", profile)
        assert ended.code == 254
        assert "nothing to judge: no behaviour of profile" in ended.err
