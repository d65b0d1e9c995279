"""The matrix keeps what the runs said, finds a column as a person names it, and can be read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hintbound.errors import CannotStart
from hintbound.protocol import Level, Verdict
from hintbound.report import ExpectedFailure, Run
from hintbound.report.compare import Turn, compare
from hintbound.report.findings import Finding, Promise
from hintbound.report.matrix import Matrix, Row, build
from hintbound.report.matrix_markdown import BROKEN, write
from tests.report.runs import CLEARING, EXPECTATION, cluster, outcome, run


def row(
    behaviour: str, file: str = "suites/scheduler/hints/test_a.py::test_a", severity: str = "violation"
) -> Row:
    return Row(
        behaviour,
        f"{behaviour} | holds.",
        "Because.",
        Level.CORE,
        severity,
        "",
        "KEP-5278",
        file,
        ("nominator",),
        "Look.",
        {},
    )


def judged(spec: str, *, on: bool, **verdicts: Verdict) -> Run:
    outcomes = [outcome(verdict, name.replace("_", "-")) for name, verdict in verdicts.items()]
    gates = cluster("shared", **{EXPECTATION: on, CLEARING: on})
    return run(*outcomes, cluster_spec=spec, clusters=(gates,))


@pytest.fixture
def matrix() -> Matrix:
    return build(
        "0.1.0",
        [row("NNN-A"), row("NNN-B", "suites/apiserver/test_b.py::test_b", "hazard"), row("NNN-NEW")],
        [
            ("1.34.0 @default", judged("embedded:1.34.0", on=False, NNN_A=Verdict.FAIL, NNN_B=Verdict.PASS)),
            ("1.34.4 @default", judged("embedded:1.34.4", on=False, NNN_A=Verdict.PASS, NNN_B=Verdict.PASS)),
            (
                "1.34.4 @nnn-on",
                judged("embedded:1.34.4,@nnn-on", on=True, NNN_A=Verdict.PASS, NNN_B=Verdict.NOT_SUPPORTED),
            ),
        ],
    )


def test_an_update_lays_its_columns_anew_and_keeps_the_others(matrix: Matrix) -> None:
    newer = build(
        "0.2.0",
        [row("NNN-A"), row("NNN-C")],
        [
            ("1.34.4 @default", judged("embedded:1.34.4", on=False, NNN_A=Verdict.FAIL, NNN_C=Verdict.PASS)),
            ("1.35.4 @default", judged("embedded:1.35.4", on=True, NNN_A=Verdict.PASS)),
        ],
    )

    updated = matrix.updated(newer)

    assert updated.suite_version == "0.2.0"
    assert [column.id for column in updated.columns] == [
        "1.34.0 @default",
        "1.34.4 @default",
        "1.34.4 @nnn-on",
        "1.35.4 @default",
    ]
    first, second = updated.rows
    assert (first.behaviour, second.behaviour) == ("NNN-A", "NNN-C"), "what no longer exists goes"
    assert {name: cell.verdict for name, cell in first.cells.items()} == {
        "1.34.0 @default": Verdict.FAIL,
        "1.34.4 @default": Verdict.FAIL,
        "1.34.4 @nnn-on": Verdict.PASS,
        "1.35.4 @default": Verdict.PASS,
    }
    assert list(second.cells) == ["1.34.4 @default"]


def test_the_matrix_survives_its_file(matrix: Matrix) -> None:
    again = Matrix.from_json(json.loads(json.dumps(matrix.to_json())))

    assert [column.id for column in again.columns] == [column.id for column in matrix.columns]
    assert again.rows[1].cells["1.34.0 @default"] == matrix.rows[1].cells["1.34.0 @default"]
    assert again.columns[2].gates == {EXPECTATION: True, CLEARING: True}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("1.34", "1.34.4 @default"),
        ("1.34.0", "1.34.0 @default"),
        ("1.34,@nnn-on", "1.34.4 @nnn-on"),
        ("1.34.4 @nnn-on", "1.34.4 @nnn-on"),
    ],
)
def test_a_column_is_found_as_a_person_names_it(matrix: Matrix, wanted: str, found: str) -> None:
    assert matrix.column(wanted).id == found


@pytest.mark.parametrize("wanted", ["1.3", "1.35", "1.34,@nnn-off", "", "latest"])
def test_a_cluster_that_was_not_judged_is_told_with_those_that_were(matrix: Matrix, wanted: str) -> None:
    with pytest.raises(CannotStart, match=r"Known: 1\.34\.0 @default"):
        matrix.column(wanted)


def test_columns_can_be_compared(matrix: Matrix) -> None:
    before, after = matrix.column("1.34.0"), matrix.column("1.34,@nnn-on")

    changes = compare(matrix.outcomes(before), matrix.outcomes(after))

    assert [(change.turn, change.outcome.behaviour) for change in changes] == [
        (Turn.HEALS, "NNN-A"),
        (Turn.ENDS, "NNN-B"),
    ]


def test_another_format_is_refused() -> None:
    with pytest.raises(CannotStart, match="no matrix of the format"):
        Matrix.from_json({"format": "other"})


def finding(*promises: Promise) -> Finding:
    return Finding(
        "a-finding", "It does other.", (), (), "bug", "all", ("NNN-A", "NNN-B"), promises, "none", "", ()
    )


def test_the_page_shows_folders_signs_hazards_findings_sources_and_failures(matrix: Matrix) -> None:
    page = write(matrix, [finding()])

    assert "## suites/apiserver\n" in page
    assert (
        "| `NNN-A` | **✗** | ✓ | ✓ | NNN-A \\| holds. [finding](findings/a-finding.md) "
        "[KEP-5278](https://kep.k8s.io/5278) |" in page
    )
    assert "| `NNN-B` | ✓ | ✓ | · | NNN-B \\| holds. *(hazard)* [finding](findings/a-finding.md) " in page
    assert "| `NNN-NEW` |  |  |  | NNN-NEW \\| holds. [KEP-5278]" in page
    assert "* `NNN-A` on `embedded:1.34.0`: fail: because of NNN-A" in page
    assert "| 3 | `embedded:1.34.4,@nnn-on` | on | on |" in page
    assert "Broken promises\n" not in page
    assert BROKEN not in page.partition("## The clusters")[2]


def test_a_failure_that_was_expected_is_shown_as_such() -> None:
    known = outcome(
        Verdict.FAIL, "NNN-A", expected=ExpectedFailure("We know.", "2999-12-31", where="xfails.yaml:4")
    )
    runs = [("1.34.0 @default", run(known, cluster_spec="embedded:1.34.0"))]
    matrix = build("0.1.0", [row("NNN-A")], runs)

    assert Matrix.from_json(json.loads(json.dumps(matrix.to_json()))) == matrix
    assert matrix.outcomes(matrix.columns[0])[0].expected == known.expected
    page = write(matrix, [])
    assert "| `NNN-A` | (✗) |" in page
    assert (
        "`NNN-A` on `embedded:1.34.0`: fail: because of NNN-A (expected until 2999-12-31: We know.)" in page
    )


def test_a_promise_is_broken_where_its_behaviour_was_seen_on_a_version_that_made_it(matrix: Matrix) -> None:
    of_b = Promise("KEP-1: B never holds.", ("1.34.4", "1.34.4,@nnn-on"), "NNN-B")
    of_a = Promise("KEP-1: A never holds.", ("1.34.0",), "NNN-A")

    page = write(matrix, [finding(of_b, of_a)])

    # Neither on 1.34.0, which did not promise it, nor with the gates that make the sentence void.
    assert "| `NNN-B` | ✓ | ✓† | · |" in page
    line = "| 1.34.4 | KEP-1: B never holds. | [It does other.](findings/a-finding.md) | `NNN-B` |"
    assert line in page
    # What was awaited to be broken and was not is no broken promise: A fails on 1.34.0.
    assert "| `NNN-A` | **✗** | ✓ | ✓ |" in page
    assert "A never holds" not in page


@pytest.mark.parametrize(
    ("source", "links"),
    [
        ("KEP-5278 C6, kubernetes#135007; measured", ["kep.k8s.io/5278", "kubernetes/issues/135007"]),
        ("kubernetes#134249, #134730: earlier", ["issues/134249", "issues/134730"]),
        ("RFC 6902 test; measured 1.33.13", []),
    ],
)
def test_a_row_links_what_its_source_names(matrix: Matrix, source: str, links: list[str]) -> None:
    sourced = replace(matrix, rows=(replace(matrix.rows[0], source=source),))

    row = next(line for line in write(sourced, []).splitlines() if line.startswith("| `NNN-B`"))

    assert [link for link in links if link in row] == links
    assert row.count("https://") == len(links)


def test_a_provisional_row_is_marked_and_reads_back() -> None:
    rows = [replace(row("NNN-A"), provisional=True), row("NNN-B")]
    runs = [("1.37.2 @default", judged("embedded:1.37.2", on=True, NNN_A=Verdict.PASS, NNN_B=Verdict.PASS))]
    made = build("0.1.0", rows, runs)

    assert Matrix.from_json(json.loads(json.dumps(made.to_json()))) == made
    lines = [line for line in write(made, []).splitlines() if line.startswith("| ") and "holds." in line]
    assert ["*(provisional)*" in line for line in lines] == [True, False]
