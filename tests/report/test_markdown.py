from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hintbound.protocol import Severity, Verdict
from hintbound.report import CheckInfo, ClusterInfo, ComponentInfo, markdown
from tests.report.runs import CLEARING, EXPECTATION, cluster, one_of_each, outcome, run

ONE_OF_EACH = Path(__file__).with_name("one_of_each.md")


def test_a_run_with_every_verdict_reads_like_this() -> None:
    assert markdown.write(one_of_each()) == ONE_OF_EACH.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verdicts", "about", "heading"),
    [
        (["pass"], {}, "Pass: the one judged behaviour holds on Kubernetes 1.35.4."),
        (["pass", "pass", "skip"], {}, "Pass: all 2 judged behaviours hold on Kubernetes 1.35.4."),
        (["fail", "fail", "pass"], {}, "Fail: 2 of 3 judged behaviours do not hold on Kubernetes 1.35.4."),
        (["unknown", "pass"], {}, "Unknown: 1 of 2 behaviours could not be judged on Kubernetes 1.35.4."),
        (["skip"], {}, "Unknown: nothing was judged on Kubernetes 1.35.4."),
        (["not-supported"], {"clusters": ()}, "Unknown: nothing was judged."),
        (
            ["pass"],
            {"verdict": Verdict.UNKNOWN, "reason": "interrupted by Ctrl-C"},
            "Unknown: 1 behaviour passed on Kubernetes 1.35.4; interrupted by Ctrl-C.",
        ),
    ],
)
def test_the_first_line_is_the_verdict(verdicts: list[str], about: dict[str, object], heading: str) -> None:
    written = replace(run(*(outcome(Verdict(verdict)) for verdict in verdicts)), **about)  # type: ignore[arg-type]

    assert markdown.write(written).splitlines()[0] == f"# {heading}"


def test_no_text_breaks_out_of_its_table_cell() -> None:
    odd = "a | b\n| c |\n\n# heading <script> `x|y`"
    lines = markdown.write(
        run(outcome(Verdict.FAIL, "NNN-|X`", must=odd, reason=odd), cluster_spec=odd)
    ).splitlines()

    (row,) = [line for line in lines if line.startswith("| ❌")]
    assert row.replace("\\|", "").count("|") == 6
    assert "# heading &lt;script>" in row
    assert not [line for line in lines if line.startswith("# heading")]


def test_gates_of_behaviours_that_ask_for_them_are_shown_per_program() -> None:
    asked = outcome(Verdict.PASS, applies="gate(scheduler, SchedulerAsyncAPICalls)")
    scheduler = ComponentInfo(
        "kube-scheduler", "kube-scheduler", "v1.35.4", {"SchedulerAsyncAPICalls": False}
    )
    clusters = (
        replace(cluster(), components=(*cluster().components, scheduler)),
        replace(cluster("exclusive", **{EXPECTATION: False, CLEARING: True})),
    )

    text = markdown.write(run(asked, clusters=clusters))

    assert "| kube-apiserver (shared) | kube-scheduler | kube-apiserver (exclusive) |" in text
    assert f"| `{EXPECTATION}` | **on** | absent | off |" in text
    assert "| `SchedulerAsyncAPICalls` | absent | off | absent |" in text


def test_a_hazard_is_named_as_one() -> None:
    text = markdown.write(run(outcome(Verdict.FAIL, severity=Severity.HAZARD)))

    assert "### NNN-FAIL (hazard: legal but harmful)" in text


def test_a_deviation_of_one_cluster_names_it() -> None:
    clusters = (ClusterInfo("shared", deviations=("A", "B")), ClusterInfo("exclusive", deviations=("B",)))

    text = markdown.write(run(outcome(Verdict.PASS), clusters=clusters))

    assert "* A (cluster shared)\n* B\n" in text


def test_a_selection_is_told() -> None:
    text = markdown.write(run(outcome(Verdict.PASS), selection=("suites/a", "suites/b")))

    assert "| Profile | core, only `suites/a`, `suites/b` |" in text
    why = "the run was limited to a selection, and a selection proves no profile"
    assert f"| Level core | **partial** ({why}): 1 pass |" in text


@pytest.mark.parametrize(
    ("verdicts", "about", "why"),
    [
        ([Verdict.PASS], {"finished": ""}, "the run did not come to its end"),
        ([Verdict.PASS, Verdict.SKIP], {}, "what was skipped or could not be judged is not proven"),
        ([Verdict.NOT_SUPPORTED], {}, "nothing was judged"),
    ],
)
def test_a_partial_level_says_why(verdicts: list[Verdict], about: dict[str, object], why: str) -> None:
    text = markdown.write(run(*map(outcome, verdicts), **about))

    assert f"| Level core | **partial** ({why}): " in text


def test_gates_that_the_owner_set_are_shown_by_name_and_by_set() -> None:
    knows = {"ContextualLogging": True, "SchedulerAsyncAPICalls": True, "Unset": True}
    component = ComponentInfo("kube-scheduler", "kube-scheduler", "v1.35.4", knows)
    spec = "embedded:1.35.4,@async-api-on,kube-scheduler.ContextualLogging=true,emulate=1.34"

    text = markdown.write(
        run(outcome(Verdict.PASS), cluster_spec=spec, clusters=(ClusterInfo("shared", (component,)),))
    )

    assert "| `ContextualLogging` | **on** |" in text
    assert "| `SchedulerAsyncAPICalls` | **on** |" in text
    assert "Unset" not in text


def test_an_unjudged_behaviour_says_whom_it_concerns() -> None:
    about: dict[str, Any] = {"affects": ("nominator",), "advice": "Hint again."}
    text = markdown.write(run(outcome(Verdict.SKIP, **about), outcome(Verdict.NOT_SUPPORTED, **about)))

    assert text.count("  * **Concerns:** nominator. Where the sentence holds: Hint again.\n") == 1


def test_what_the_checks_judged_and_found_is_one_line() -> None:
    checks = (
        CheckInfo("never-both", 7),
        CheckInfo("victim-deleted-once", 3, 1, {"kubernetes#134249 is known of this version": 2}),
    )

    row = next(
        line
        for line in markdown.write(run(outcome(Verdict.PASS), checks=checks)).splitlines()
        if "Checks" in line
    )

    assert row == (
        "| Checks | 2 checks judged 10 lives of pods; victim-deleted-once found 1; victim-deleted-once "
        "found 2 more that fail nobody: kubernetes#134249 is known of this version |"
    )
