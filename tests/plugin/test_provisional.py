"""A provisional behaviour that fails is told everywhere, and no run fails by it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import yaml

from tests.plugin.sessions import Sessions

SUITE = """
@one("T-NEW", provisional=True)
async def test_new(arena):
    assert 1 == 2, "changed"

@one("T-PASS")
async def test_pass(arena): pass
"""
KNOWN = "expected: the behaviour is provisional, upstream may still change it"


def test_it_fails_no_run_and_is_shown_everywhere(sessions: Sessions) -> None:
    done = sessions.run(SUITE)

    assert (done.code, done.run["verdict"], done.verdicts["T-NEW"]) == (0, "pass", "fail")
    assert "expected-fail T-NEW" in done.out
    assert KNOWN in done.out
    assert done.folder is not None
    report = (done.folder / "report.md").read_text()
    assert "core, provisional" in report
    assert f"**Known:** {KNOWN}\n" in report
    published = yaml.safe_load((done.folder / "report.yaml").read_text())
    assert [b["id"] for b in published["behaviours"] if b.get("provisional")] == ["T-NEW"]
    assert published["profiles"][0]["core"]["result"] == "partial"
    (case,) = ET.parse(done.folder / "junit.xml").findall(".//testcase[@name='T-NEW']")
    assert case.find("skipped") is not None
    assert case.find("failure") is None


def test_it_passes_as_any_other_and_says_what_it_is(sessions: Sessions) -> None:
    done = sessions.run(SUITE.replace("1 == 2", "1 == 1"))

    assert (done.code, done.verdicts["T-NEW"]) == (0, "pass")
    assert done.folder is not None
    assert "core, provisional" in (done.folder / "report.md").read_text()


def test_what_was_not_proven_stays_unknown(sessions: Sessions) -> None:
    done = sessions.run(SUITE.replace('assert 1 == 2, "changed"', 'raise Unproven("too little traffic")'))

    assert (done.code, done.run["verdict"], done.verdicts["T-NEW"]) == (2, "unknown", "unknown")


def test_it_hides_no_other_failure(sessions: Sessions) -> None:
    done = sessions.run(SUITE.replace("(arena): pass", "(arena): assert 3 == 4"))

    assert (done.code, done.run["verdict"]) == (1, "fail")
