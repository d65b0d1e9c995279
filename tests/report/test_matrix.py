"""The matrix keeps what the runs said, finds a column as a person names it, and can be read."""

from __future__ import annotations

import json

import pytest

from hintbound.errors import CannotStart
from hintbound.protocol import Level, Verdict
from hintbound.report import ExpectedFailure, Run
from hintbound.report.compare import Turn, compare
from hintbound.report.matrix import Matrix, Row, build
from hintbound.report.matrix_markdown import write
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


def test_the_page_shows_folders_signs_hazards_findings_and_failures(matrix: Matrix) -> None:
    page = write(matrix, {"NNN-A": ["a-finding"]})

    assert "## suites/apiserver\n" in page
    assert "| `NNN-A` | **✗** | ✓ | ✓ | NNN-A \\| holds. [finding](findings/a-finding.md) |" in page
    assert "| `NNN-B` | ✓ | ✓ | · | NNN-B \\| holds. *(hazard)* |" in page
    assert "| `NNN-NEW` |  |  |  | NNN-NEW \\| holds. |" in page
    assert "* `NNN-A` on `embedded:1.34.0`: fail: because of NNN-A" in page
    assert "| 3 | `embedded:1.34.4,@nnn-on` | on | on |" in page


def test_a_failure_that_was_expected_is_shown_as_such() -> None:
    known = outcome(
        Verdict.FAIL, "NNN-A", expected=ExpectedFailure("We know.", "2999-12-31", where="xfails.yaml:4")
    )
    runs = [("1.34.0 @default", run(known, cluster_spec="embedded:1.34.0"))]
    matrix = build("0.1.0", [row("NNN-A")], runs)

    assert Matrix.from_json(json.loads(json.dumps(matrix.to_json()))) == matrix
    assert matrix.outcomes(matrix.columns[0])[0].expected == known.expected
    page = write(matrix, {})
    assert "| `NNN-A` | (✗) |" in page
    assert (
        "`NNN-A` on `embedded:1.34.0`: fail: because of NNN-A (expected until 2999-12-31: We know.)" in page
    )
