"""What the shipped matrix tells of a behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound import data
from hintbound.errors import CannotStart
from hintbound.protocol import Level, Verdict
from hintbound.report.matrix import Cell, Column, Matrix, Row
from hintbound.report.shipped import by_default, matrix

SIGNS = {"+": Verdict.PASS, "-": Verdict.NOT_SUPPORTED, "!": Verdict.FAIL, "?": Verdict.UNKNOWN}


def told(clusters: str) -> str:
    """What is told of a behaviour whose cells are `VERSION@GATES SIGN, ...`."""
    signs = dict(cluster.split() for cluster in clusters.split(", "))
    cells = {name.replace("@", " @"): Cell(SIGNS[sign]) for name, sign in signs.items()}
    row = Row("NNN-ANY", "M.", "W.", Level.CORE, "hazard", "", "KEP", "f", (), "", cells)
    return by_default("NNN-ANY", Matrix("1", tuple(Column(name, "", "", {}) for name in cells), (row,)))


@pytest.mark.parametrize(
    ("clusters", "words"),
    [
        (
            "1.33.13@default -, 1.34.0@default -, 1.34.4@default -, 1.35.4@default +",
            "1.33-1.34 no, 1.35+ yes",
        ),
        ("1.33.13@default -, 1.34.0@default +, 1.34.4@default -", "1.33 no, 1.34.0 yes, 1.34.4+ no"),
        ("1.34.4@default -, 1.34.4@nnn-on +, 1.35.4@default +", "1.34 no (yes with @nnn-on), 1.35+ yes"),
        ("1.35.4@default !, 1.37.2@default ?", "1.35 yes, but broken, 1.37+ not judged"),
        ("1.37.2@default -, 1.37.2@emulate-1.34 +", "1.37+ no"),
    ],
)
def test_releases_that_answer_alike_stand_together(clusters: str, words: str) -> None:
    assert told(clusters) == words


def test_a_behaviour_that_the_matrix_does_not_know_is_not_talked_about() -> None:
    assert by_default("NNN-ANY", Matrix("1", (), ())) == ""


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (b"{", r"matrix\.json is no JSON: .+ Make it anew: hintbound matrix\."),
        (b"\xff", r"matrix\.json is no JSON: .+ Make it anew: hintbound matrix\."),
        (b"[]", r"matrix\.json: this is no matrix of the format"),
        (
            b'{"format": "hintbound.dev/matrix/v1alpha1"}',
            r"matrix\.json: the matrix is damaged: KeyError\('columns'\)\. Make it anew",
        ),
    ],
)
def test_a_matrix_that_cannot_be_read_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bytes, said: str
) -> None:
    (tmp_path / "matrix.json").write_bytes(stored)
    monkeypatch.setattr(data, "folder", lambda _name: tmp_path)
    with pytest.raises(CannotStart, match=said) as refused:
        matrix()
    assert "\n" not in str(refused.value)


def test_a_matrix_that_is_not_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "folder", lambda _name: tmp_path)
    assert matrix() is None
