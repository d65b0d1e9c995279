"""`hintbound run --subject` on real control planes: a good scheduler, a bad one, and none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.programs import Ended, Programs

CLUSTER = "embedded:1.35"
FIRST_FIT = Path(__file__).parents[1] / "subjects" / "first-fit"
JUDGED = {
    "NNN-BIND-CLEARS": "pass",
    "NNN-CLEAR-BINDING-REFUSED": "skip",
    "NNN-CLEAR-NOTHING-FITS": "fail",
    "NNN-HINT-CORDONED": "pass",
    "NNN-HINT-EQUAL-YIELDS": "fail",
    "NNN-HINT-GHOST": "pass",
    "NNN-HINT-HIGHER-IGNORES": "pass",
    "NNN-HINT-TAKEN": "fail",
    "NNN-HINT-TAKEN-UNSCORED": "not-supported",
    "NNN-PREEMPT-EVENT": "not-supported",
    "NNN-RESTART-HINT-WHILE-DOWN": "fail",
}
"""What a scheduler that knows nothing of hints comes to."""


def only(*behaviours: str) -> list[str]:
    return [f"--behaviour={behaviour}" for behaviour in behaviours]


@pytest.fixture(scope="module")
def first_fit(programs: Programs) -> Ended:
    return programs.hintbound("run", "--subject", FIRST_FIT, "--cluster", CLUSTER, *only(*JUDGED))


def test_a_scheduler_that_ignores_hints_is_found_out(first_fit: Ended) -> None:
    assert (first_fit.code, first_fit.verdicts) == (1, JUDGED), first_fit.out + first_fit.err
    reasons = {behaviour: outcome["reason"] for behaviour, outcome in first_fit.outcomes.items()}
    assert reasons["NNN-HINT-EQUAL-YIELDS"].startswith("awaited: rival-3 to be Unschedulable; came instead: ")
    assert reasons["NNN-HINT-TAKEN-UNSCORED"] == "it needs Metrics, which first-fit does not declare"
    assert reasons["NNN-CLEAR-BINDING-REFUSED"].endswith("cannot be read; declare it in subject.yaml")


def test_its_report_names_it_and_how_to_judge_it_again(first_fit: Ended) -> None:
    report = (first_fit.folder / "report.md").read_text()
    assert "| Subject | first-fit, Scheduler of `first-fit`, " in report
    assert "declares Conditions, Hints, Reservations |" in report
    names = {c["name"]: c["version"] for c in first_fit.run["clusters"][0]["components"]}
    assert (names["first-fit"], "kube-scheduler" in names) == ("unknown", False)
    whom = f"--subject {FIRST_FIT}/subject.yaml"
    again = f"--cluster embedded:1.35.4 {whom} --profile all --behaviour NNN-HINT-TAKEN"
    assert again in (first_fit.folder / "repro.sh").read_text()


def test_kube_scheduler_as_a_subject_comes_to_the_same_verdicts(programs: Programs) -> None:
    some = only(
        "NNN-CLEAR-NOTHING-FITS",
        "NNN-HINT-EQUAL-YIELDS",
        "NNN-HINT-EXTENDER-REFUSES",
        "NNN-HINT-TAKEN-UNSCORED",
        "NNN-PREBIND-SHOWN-ASYNC",
        "NNN-PREEMPT-BUDGET-AVOIDED",
        "NNN-RESTART-PREEMPTOR-KEPT",
    )
    plain = programs.hintbound("run", "--cluster", CLUSTER, *some)
    subject = programs.hintbound("run", "--subject", "kube-scheduler", "--cluster", CLUSTER, *some)
    assert subject.verdicts == plain.verdicts == dict.fromkeys(plain.verdicts, "pass"), subject.out
    told = [
        {c["name"]: (c["version"], c["gates"]) for c in ended.run["clusters"][0]["components"]}
        for ended in (plain, subject)
    ]
    assert told[0] == told[1]


def test_one_that_dies_ends_in_its_own_words_and_254(programs: Programs) -> None:
    file = programs.folder / "dies.yaml"
    file.write_text(
        "apiVersion: hintbound.dev/v1alpha1\nkind: Scheduler\nmetadata: {name: mine}\nspec:\n"
        '  schedulerName: mine\n  command: [sh, -c, "echo no licence; exit 3"]\n'
    )
    ended = programs.hintbound("run", "--subject", file, "--cluster", CLUSTER)
    assert ended.code == 254
    first, *log = ended.err.splitlines()
    assert first.startswith(f"hintbound: {file}:6: the subject mine exited with 3. The last lines of ")
    assert log == ["  no licence"]
