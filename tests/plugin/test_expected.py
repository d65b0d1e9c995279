"""Failures that a vendor expects: what they change, what they never change, and how the file is read."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from hintbound.errors import CannotStart
from hintbound.plugin.expected import load
from hintbound.protocol import ComponentKind
from tests.plugin.fakes import FakeStage
from tests.plugin.sessions import Ran, Sessions

SUITE = """
@one("T-FAIL")
async def test_fail(arena):
    assert 1 == 2, "broken"

@one("T-PASS")
async def test_pass(arena): pass

@one("T-UNKNOWN", deadline=5)
async def test_unknown(arena):
    raise Unproven("too little traffic")

@one("T-VOID", applies="gate(apiserver, Absent)")
async def test_void(arena): pass
"""
HEAD = "apiVersion: hintbound.dev/v1alpha1\nkind: ExpectedFailures\nexpected:\n"
KNOWN = "- {behaviour: T-FAIL, reason: We know., issue: 'https://example.com/17', expires: 2999-12-31}\n"


def file(folder: Path, entries: str, head: str = HEAD) -> Path:
    path = folder / "xfails.yaml"
    path.write_text(head + entries)
    return path


def ran(sessions: Sessions, entries: str, *options: str, suite: str = SUITE) -> Ran:
    return sessions.run(suite, "--xfails", str(file(sessions.folder, entries)), *options)


def only(*ids: str) -> list[str]:
    return [word for one in ids for word in ("--behaviour", one)]


@pytest.fixture(autouse=True)
def _gates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeStage, "gates", {ComponentKind.APISERVER: {"On": True}})


def test_an_expected_failure_fails_nothing_and_is_shown_everywhere(sessions: Sessions) -> None:
    done = ran(sessions, KNOWN, *only("T-FAIL", "T-PASS"))
    known = "expected until 2999-12-31: We know. (https://example.com/17)"

    assert (done.code, done.run["verdict"], done.verdicts["T-FAIL"]) == (0, "pass", "fail")
    (outcome,) = [o for o in done.run["outcomes"] if o["behaviour"] == "T-FAIL"]
    assert outcome["expected"] == {
        "reason": "We know.",
        "expires": "2999-12-31",
        "issue": "https://example.com/17",
        "where": f"{sessions.folder}/xfails.yaml:4",
    }
    assert "expected-fail T-FAIL" in done.out
    assert f"    broken (assert 1 == 2)\n    {known}\n" in done.out
    assert "verdict: pass, not conformant: failures that were expected (1 pass, 0 fail," in done.out
    assert done.folder is not None
    report = (done.folder / "report.md").read_text()
    assert report.startswith(
        "# Pass, but not conformant: 1 of 2 judged behaviours does not hold, as was expected"
    )
    assert f"**Known:** {known}, by `{sessions.folder}/xfails.yaml:4`" in report
    assert "**partial** (" in report
    assert "): 1 pass, 1 expected-fail |" in report
    published = yaml.safe_load((done.folder / "report.yaml").read_text())
    core = published["profiles"][0]["core"]
    assert (core["result"], core["expectedFailedBehaviours"]) == ("partial", ["T-FAIL"])
    assert (core["statistics"]["failed"], core["statistics"]["expectedFailed"]) == (0, 1)
    assert published["behaviours"][0]["expected"]["issue"] == "https://example.com/17"
    suite = ET.parse(done.folder / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert f"EXPECTED_FAIL: {known}: broken" in str(suite.find(".//skipped").attrib)  # type: ignore[union-attr]
    assert f"--xfails {sessions.folder}/xfails.yaml" in (done.folder / "repro.sh").read_text()


def test_under_plain_pytest_it_is_an_xfail(sessions: Sessions) -> None:
    listed = file(sessions.folder, KNOWN)
    done = sessions.pytest(SUITE, f"--hintbound-xfails={listed}", "--hintbound-behaviour=T-FAIL", "-rx")
    assert done.code == 0
    assert "1 xfailed" in done.out
    assert "expected until 2999-12-31: We know." in done.out


def test_an_expected_failure_hides_no_other(sessions: Sessions) -> None:
    suite = SUITE + "\n@one('T-OTHER')\nasync def test_other(arena): assert False\n"
    done = ran(sessions, KNOWN, suite=suite)
    assert done.code == 1
    assert done.folder is not None
    heading = (done.folder / "report.md").read_text().splitlines()[0]
    assert heading == (
        "# Fail: 1 of 3 judged behaviours does not hold on Kubernetes 1.35.4; 1 more fail as was expected; "
        "1 more could not be judged."
    )


def test_what_is_unknown_or_void_is_not_turned_into_anything(sessions: Sessions) -> None:
    entries = KNOWN + KNOWN.replace("T-FAIL", "T-UNKNOWN") + KNOWN.replace("T-FAIL", "T-VOID")
    done = ran(sessions, entries)
    assert done.code == 2
    assert done.verdicts == {
        "T-FAIL": "fail",
        "T-PASS": "pass",
        "T-UNKNOWN": "unknown",
        "T-VOID": "not-supported",
    }
    assert [o["behaviour"] for o in done.run["outcomes"] if o["expected"]] == ["T-FAIL"]
    assert done.run["notes"] == []


def test_after_its_last_day_a_failure_counts_again_and_says_so(sessions: Sessions) -> None:
    done = ran(sessions, KNOWN.replace("2999-12-31", "2001-02-03"), *only("T-FAIL"))
    assert (done.code, done.verdicts) == (1, {"T-FAIL": "fail"})
    assert done.reason("T-FAIL") == (
        f"broken (assert 1 == 2); it was expected ({sessions.folder}/xfails.yaml:4), "
        "but that expired on 2001-02-03"
    )
    assert "but that expired on 2001-02-03" in done.out


@pytest.mark.parametrize(("today", "expected"), [(date(2027, 1, 31), True), (date(2027, 2, 1), False)])
def test_the_last_day_counts(tmp_path: Path, today: date, expected: bool) -> None:
    from hintbound.plugin.applies import Facts
    from hintbound.plugin.judgement import Judgement
    from hintbound.protocol import Verdict

    known = load(file(tmp_path, "- {behaviour: A-B, reason: x, expires: 2027-01-31}\n"), today)
    judged = known.judged("A-B", Judgement(Verdict.FAIL, "broken"), Facts())
    assert (judged.expected is not None) is expected


def test_an_entry_that_outlived_its_reason_is_a_warning(sessions: Sessions) -> None:
    entries = KNOWN.replace("T-FAIL", "T-PASS") + KNOWN.replace("T-FAIL", "T-PAST")
    entries += KNOWN.replace("T-FAIL", "NNN-HINT-TAKEM") + KNOWN.replace("T-FAIL", "NNN-HINT-TAKEN")
    entries += KNOWN.replace("T-FAIL", "ELSE-WHERE")
    done = ran(sessions, entries, *only("T-PASS"))
    at = f"{sessions.folder}/xfails.yaml"
    assert done.code == 0
    assert done.run["notes"] == [
        f"{at}:4: T-PASS is an expected failure and passes: remove the entry",
        f"{at}:5: there is no behaviour T-PAST: did you mean T-PASS? Else remove the entry",
        f"{at}:6: there is no behaviour NNN-HINT-TAKEM: did you mean NNN-HINT-TAKEN? Else remove the entry",
    ]
    assert f"note: {at}:4: T-PASS is an expected failure and passes" in done.out
    assert done.folder is not None
    assert "T-PASS is an expected failure and passes" in (done.folder / "report.md").read_text()


def test_an_id_of_nobody_is_told_when_the_vendors_whole_suite_was_there(sessions: Sessions) -> None:
    listed = file(sessions.folder, KNOWN.replace("T-FAIL", "ELSE-WHERE"))
    done = sessions.run(
        SUITE, "--xfails", str(listed), *only("T-PASS"), paths=[str(sessions.folder / "suite")]
    )
    assert done.run["notes"] == [f"{listed}:4: there is no behaviour ELSE-WHERE: correct or remove the entry"]


@pytest.mark.parametrize(
    ("clusters", "code"),
    [
        ("['gate(apiserver, On)']", 0),
        ("['gate(apiserver, Off)', 'version(apiserver, \"==1.35\")']", 0),
        ("['gate(apiserver, Off)', 'version(apiserver, \"<1.35\")']", 1),
        ("['gate(scheduler, On)']", 1),
    ],
)
def test_a_failure_is_expected_only_on_the_clusters_it_names(
    sessions: Sessions, clusters: str, code: int
) -> None:
    entry = KNOWN.replace("}\n", f", clusters: {clusters}}}\n")
    done = ran(sessions, entry, *only("T-FAIL"))
    assert done.code == code
    unread = "is not known: the gates of kube-scheduler cannot be read"
    assert (unread in done.reason("T-FAIL")) is ("scheduler" in clusters)


def test_a_pass_where_no_failure_was_expected_is_nothing_to_tell_of(sessions: Sessions) -> None:
    entry = KNOWN.replace("}\n", ", clusters: ['gate(apiserver, Off)']}\n").replace("T-FAIL", "T-PASS")
    assert ran(sessions, entry, *only("T-PASS")).run["notes"] == []


WRONG = {
    "an unknown key": (KNOWN.replace("reason", "cause"), ":4: unknown key of expected[0] 'cause'"),
    "no expiry": ("- {behaviour: T-FAIL, reason: x}\n", ":4: expected[0] has no 'expires'."),
    "no reason": (
        "- {behaviour: T-FAIL, reason: '', expires: 2999-01-01}\n",
        ":4: expected[0].reason is empty.",
    ),
    "a day that is none": (
        KNOWN.replace("2999-12-31", "2027-02-31"),
        ":4: expected[0].expires cannot be read",
    ),
    "a day in words": (KNOWN.replace("2999-12-31", "soon"), ":4: expected[0].expires is 'soon', not a day."),
    "an issue that is none": (KNOWN.replace("https://example.com/17", "17"), ":4: '17' is no address."),
    "an issue that cannot be read": (
        KNOWN.replace("https://example.com/17", "https://[::1"),
        ":4: 'https://[::1' is no address. Write https://...",
    ),
    "twice the same": (KNOWN + KNOWN, ":5: T-FAIL stands there twice, first at "),
    "a condition that is none": (
        KNOWN.replace("}\n", ",\n   clusters: [sometimes]}\n"),
        ":5: 'sometimes': sometimes is not in the language",
    ),
    "a contradiction": (
        KNOWN.replace("}\n", ",\n   clusters: ['gate(scheduler, X) and not gate(scheduler, X)']}\n"),
        ":5: 'gate(scheduler, X) and not gate(scheduler, X)' never holds: ",
    ),
    "no clusters": (KNOWN.replace("}\n", ", clusters: []}\n"), ":4: clusters is empty."),
    "no list": ("  T-FAIL: x\n", ":4: expected is a mapping, not a list."),
    "no YAML": ("- {behaviour: [\n", ": not YAML: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_wrong_is_named_with_its_line_before_anything_starts(
    sessions: Sessions, case: str
) -> None:
    entries, said = WRONG[case]
    done = ran(sessions, entries)
    assert done.code == 254
    assert done.error.startswith(f"{sessions.folder}/xfails.yaml:")
    assert said in done.error
    assert "\n" not in done.error
    assert (sessions.stages, done.folder) == ([], None)


def test_a_file_of_another_kind_or_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"xfails\.yaml:2: unknown kind 'Subject'\. Known: ExpectedF"):
        load(file(tmp_path, "- x", HEAD.replace("ExpectedFailures", "Subject")), date(2027, 1, 1))
    with pytest.raises(CannotStart, match=r"nowhere\.yaml cannot be read: no such file or directory"):
        load(tmp_path / "nowhere.yaml", date(2027, 1, 1))
