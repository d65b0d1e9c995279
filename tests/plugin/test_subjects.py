"""Runs that judge a vendor's scheduler: what is played, what is not and why, and what the record says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound.protocol import ComponentKind
from tests.plugin.fakes import FakeStage
from tests.plugin.sessions import Sessions

SUBJECT = """\
apiVersion: hintbound.dev/v1alpha1
kind: Scheduler
metadata: {name: mine}
spec:
  schedulerName: my-scheduler
  kubernetesVersion: "1.35"
  features: [Hints]
"""
SUITE = """
from hintbound.plugin import Feature

@one("T-ANY")
async def test_any(arena):
    pod = await arena.pod()
    assert (await arena.now(pod))["spec"]["schedulerName"] == "my-scheduler"

@one("T-HINTS", needs=[Feature.HINTS])
async def test_hints(arena):
    assert False, "it takes no hints"

@one("T-METRICS", needs=[Feature.HINTS, Feature.METRICS, Feature.EVENTS])
async def test_metrics(arena):
    assert False

@one("T-OURS", needs=[Capability.FAULTY_SCHEDULER])
async def test_ours(arena):
    assert False

@one("T-GATE", applies="gate(scheduler, Something)")
async def test_gate(arena):
    assert False
"""


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    file = tmp_path / "theirs" / "subject.yaml"
    file.parent.mkdir()
    file.write_text(SUBJECT)
    return file


def test_a_subject_is_judged_by_what_it_declares(
    sessions: Sessions, subject: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeStage, "gates", {ComponentKind.APISERVER: {}})
    ran = sessions.run(SUITE, "--subject", str(subject))
    assert ran.verdicts == {
        "T-ANY": "pass",
        "T-HINTS": "fail",
        "T-METRICS": "not-supported",
        "T-OURS": "not-supported",
        "T-GATE": "skip",
    }
    assert ran.reason("T-METRICS") == "it needs Events, Metrics, which mine does not declare"
    assert ran.reason("T-OURS") == "it is played with a kube-scheduler of our own, not with mine"
    assert ran.reason("T-GATE") == (
        "applies only if gate(scheduler, Something), but the gates of kube-scheduler cannot be read; declare "
        "it in subject.yaml"
    )
    assert "starting embedded for 5 behaviours of profile all, subject mine" in ran.out


def test_without_a_subject_every_feature_is_there(sessions: Sessions) -> None:
    ran = sessions.run(SUITE, "--behaviour", "T-METRICS")
    assert ran.verdicts == {"T-METRICS": "fail"}
    assert ran.run["subject"] is None


def test_the_record_names_the_subject_and_how_to_judge_it_again(sessions: Sessions, subject: Path) -> None:
    ran = sessions.run(SUITE, "--subject", str(subject.parent))
    assert ran.run["subject"] == {
        "name": "mine",
        "kind": "Scheduler",
        "file": str(subject),
        "schedulerName": "my-scheduler",
        "command": [],
        "kubernetesVersion": "1.35",
        "gates": None,
        "features": ["Hints"],
    }
    again = ["--cluster", "embedded", "--subject", str(subject), "--profile", "all"]
    assert ran.run["command"][-len(again) :] == again
    assert ran.folder is not None
    assert f"--subject {subject} --profile all --behaviour T-HINTS" in (ran.folder / "repro.sh").read_text()


def test_the_suites_about_schedulers_are_the_whole_of_it(sessions: Sessions, subject: Path) -> None:
    words = ["--subject", str(subject), "--behaviour", "NNN-BIND-CLEARS"]
    ran = sessions.call(*words)
    assert ran.run["selection"] == ["--behaviour=NNN-BIND-CLEARS"]
    ran = sessions.call(*words[:2], "--behaviour", "NNN-FIELD-VALIDATED")
    assert ran.code == 254
    assert ran.error.startswith("unknown behaviour 'NNN-FIELD-VALIDATED'.")


def test_what_is_no_part_of_them_is_named_where_it_is_to_be_repeated(
    sessions: Sessions, subject: Path
) -> None:
    ran = sessions.call("apiserver/test_validated.py", "--subject", str(subject))
    assert ran.run["selection"] == ["apiserver/test_validated.py"]
    (outcome,) = ran.run["outcomes"]
    assert outcome["repro"].startswith("hintbound run suites/apiserver/test_validated.py --cluster embedded ")


def test_a_file_that_is_wrong_ends_in_one_line(sessions: Sessions, subject: Path) -> None:
    subject.write_text(SUBJECT.replace("[Hints]", "[Hint]"))
    for ran in (
        sessions.run(SUITE, "--subject", str(subject)),
        sessions.pytest(SUITE, f"--hintbound-subject={subject}"),
    ):
        assert (ran.code, ran.folder) == (254, None)
        assert ran.error.startswith(f"{subject}:7: unknown feature 'Hint'. Did you mean 'Hints'?")
