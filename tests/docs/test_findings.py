"""The pages of `docs/findings` hold what programs read from them, and agree with the catalogue."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import psutil
import pytest

from hintbound.clusters import parse
from hintbound.errors import CannotStart
from hintbound.plugin import catalogue
from hintbound.protocol import Verdict
from hintbound.report import findings
from hintbound.report.findings import Finding
from hintbound.report.matrix import Matrix, Row
from tools import replay_findings

DOCS = Path(__file__).parents[2] / "docs"
PAGES = findings.read(DOCS / "findings")


def of(name: str) -> str:
    return (DOCS / "findings" / f"{name}.md").read_text(encoding="utf-8")


def each(finding: Finding) -> str:
    return finding.name


@pytest.fixture(scope="module")
def known() -> set[str]:
    return {entry.behaviour.id for entry in catalogue.collect()}


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    written = DOCS / "matrix.json"
    if not written.is_file():
        pytest.skip("docs/matrix.json is not there yet: make matrix")
    return Matrix.from_json(json.loads(written.read_text(encoding="utf-8")))


def test_the_index_is_current() -> None:
    written = (DOCS / "findings" / findings.INDEX).read_text(encoding="utf-8")
    assert written == replay_findings.index(), "run `python tools/replay_findings.py --index`"


@pytest.mark.parametrize("finding", PAGES, ids=each)
def test_a_page_is_complete_in_itself(finding: Finding) -> None:
    page = of(finding.name)
    assert tuple(re.findall(r"^## (.+)$", page, re.MULTILINE)) == findings.SECTIONS
    others = [other.name for other in PAGES if f"({other.name}.md" in page]
    assert not others, "it sends its reader to another page"


@pytest.mark.parametrize("finding", PAGES, ids=each)
def test_what_a_page_claims_of_a_cluster_is_shown(finding: Finding) -> None:
    assert finding.seen
    for spec in (*finding.seen, *finding.not_seen):
        cluster = parse(findings.cluster(spec))
        assert cluster.provider == "embedded" or (DOCS.parent / cluster.target).is_file(), spec
        assert finding.printed(spec), f"no block in text says what it prints on {spec}"
    for spec in finding.not_seen:
        assert finding.printed(spec) not in [finding.printed(seen) for seen in finding.seen]
    for promise in finding.promises:
        assert set(promise.broken_on) <= set(finding.seen), promise.text


@pytest.mark.parametrize("finding", PAGES, ids=each)
def test_a_bug_is_what_breaks_a_promise(finding: Finding) -> None:
    assert (finding.severity == "bug") == bool(finding.promises)
    for promise in finding.promises:
        assert re.search(r"kubernetes#\d+|KEP-\d+|https://kubernetes\.io/", promise.text), promise.text


@pytest.mark.parametrize("finding", PAGES, ids=each)
def test_a_reproduction_waits_for_what_happens(finding: Finding) -> None:
    assert not re.search(r"\bsleep\b", finding.script)


@pytest.mark.parametrize("finding", PAGES, ids=each)
def test_the_behaviours_of_a_page_exist(finding: Finding, known: set[str]) -> None:
    assert finding.behaviours
    assert set(finding.behaviours) <= known
    assert set(re.findall(r"`(NNN-[A-Z0-9-]+)`", of(finding.name))) == set(finding.behaviours)


@pytest.mark.parametrize("finding", PAGES, ids=each)
def test_the_matrix_says_the_same(finding: Finding, matrix: Matrix) -> None:
    rows: dict[str, Row] = {row.behaviour: row for row in matrix.rows}
    said = rows.get(finding.behaviours[0])
    if said is None:
        pytest.skip("the matrix is older than this behaviour: make matrix")
    for spec in finding.seen:
        if cell := said.cells.get(findings.column(spec)):
            assert cell.verdict is Verdict.PASS, spec
    for spec in finding.not_seen:
        if cell := said.cells.get(findings.column(spec)):
            assert cell.verdict is Verdict.NOT_SUPPORTED, spec


def test_a_source_that_names_a_page_names_one_that_is_there() -> None:
    pages = {finding.name: finding for finding in PAGES}
    for entry in catalogue.collect():
        for name in re.findall(r"docs/findings/([a-z0-9-]+)\.md", entry.behaviour.source):
            assert name in pages, entry.behaviour.id
            assert entry.behaviour.id in pages[name].behaviours, (
                f"{name}.md does not name {entry.behaviour.id}"
            )


@pytest.mark.parametrize(
    ("page", "lacks"),
    [
        ("No title", "no title"),
        ("# A title.\n", "no row 'Seen on'"),
        (of("two-hints-block-each-other").replace("| bug |", "| grave |"), "severity"),
        (of("two-hints-block-each-other").replace("```sh", "```bash"), "0 blocks in sh"),
    ],
)
def test_a_malformed_page_is_named_with_what_it_lacks(page: str, lacks: str) -> None:
    with pytest.raises(CannotStart, match=rf"docs/findings/page\.md: .*{lacks}"):
        findings.parse("page", page)


@pytest.mark.parametrize(
    ("wanted", "output", "absent"),
    [
        (["a  n1", "b …"], "noise\na   n1\nb anything", None),
        (["b …", "a n1"], "a n1\nb anything", "a n1"),
        (["a n1"], "a n11", "a n1"),
        (["p … preemption: …"], "p n1 0/1 nodes. preemption: none", None),
        (["hint: []"], "hint: [n1]", "hint: []"),
        (["", "a…z"], "az", None),
    ],
)
def test_lines_are_looked_for_in_their_order_and_spaces_do_not_count(
    wanted: list[str], output: str, absent: str | None
) -> None:
    assert replay_findings.missing(wanted, output) == absent


def test_a_reproduction_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"

    code, output = replay_findings.play(
        f"tail -f /dev/null & echo $! > {started}; echo said; false; echo more", ""
    )

    assert (code, output) == (1, "said\n")
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(started.read_text())).wait(10)
