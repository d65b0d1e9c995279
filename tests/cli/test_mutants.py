"""`hintbound run --mutant`: a control plane that is broken on purpose is found out, and told of."""

from __future__ import annotations

import pytest

from tests.cli.programs import Ended, Programs


@pytest.fixture(scope="module")
def never_clears(programs: Programs) -> Ended:
    only = ("--behaviour=NNN-CLEAR-NOTHING-FITS", "--behaviour=NNN-HINT-TAKEN")
    return programs.hintbound("run", "--cluster", "embedded:1.35", "--mutant", "never-clears", *only)


def test_what_it_breaks_fails_and_nothing_else(never_clears: Ended) -> None:
    assert never_clears.verdicts == {"NNN-CLEAR-NOTHING-FITS": "fail", "NNN-HINT-TAKEN": "pass"}
    assert never_clears.code == 1


def test_the_record_names_it_and_tells_that_its_rule_bit(never_clears: Ended) -> None:
    assert never_clears.run["mutant"] == "never-clears"
    assert "--mutant never-clears" in " ".join(never_clears.run["command"])
    assert any("the rule keep-hints bit kube-scheduler" in note for note in never_clears.run["notes"])
    assert "kube-scheduler speaks HTTP/1.1 through a fault proxy" in str(never_clears.run["clusters"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mutant", "never-cleans"], "'never-cleans'. Did you mean 'never-clears'?"),
        (["--seed", "x"], "'x' is not a valid integer"),
        (["--seed", str(2**63)], "'9223372036854775808' is no seed"),
    ],
)
def test_what_is_none_is_one_line_before_anything_starts(
    programs: Programs, options: list[str], said: str
) -> None:
    ended = programs.hintbound("run", "--cluster", "embedded:1.35", *options)

    assert ended.code == 254
    assert said in ended.err
    assert "starting" not in ended.out
