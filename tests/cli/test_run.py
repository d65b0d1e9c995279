"""`hintbound run` on real control planes: every verdict, exit code and what is left behind."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hintbound import data
from tests.cli.programs import PATIENCE, Ended, Programs

CLUSTER = "embedded:1.35"
MIXED = """
@one("T-PASS", needs=[Capability.FAKE_NODES])
async def test_pass(arena):
    (node,) = await arena.nodes(1)
    pod = await arena.pod()
    assert await arena.bound(pod) == node

@one("T-FAIL", needs=[Capability.FAKE_NODES])
async def test_fail(arena):
    (node,) = await arena.nodes(1)
    pod = await arena.pod()
    assert await arena.bound(pod) == "elsewhere"

@one("T-NEVER")
async def test_never(arena):
    pod = await arena.pod(scheduler="nobody")
    await arena.until(pod, lambda pod: "nodeName" in pod["spec"], f"{pod} to be bound", patience=0.5)

@one("T-UNSUPPORTED", applies="not gate(apiserver, ClearingNominatedNodeNameAfterBinding)")
async def test_unsupported(arena):
    assert False

@one("T-ALONE", exclusive=True)
async def test_alone(arena):
    assert arena.cluster == "exclusive"
    await arena.nodes.none()

def test_no_behaviour(tmp_path):
    assert tmp_path.is_dir()
"""
UNKNOWN = """
@one("T-UNPROVEN")
async def test_unproven(arena):
    raise Unproven("the fault never bit")

@one("T-OWN-SCHEDULER-DIES", needs=[Capability.OWN_SCHEDULER])
async def test_own_scheduler_dies(arena):
    scheduler = await arena.own_scheduler()
    await arena.nodes(1)
    os.kill(scheduler.pid, signal.SIGKILL)
    pod = await arena.pod()
    await arena.until(pod, lambda pod: "nodeName" in pod["spec"], f"{pod} to be bound", patience=1.5)

@one("T-SCHEDULER-DIES", exclusive=True)
async def test_scheduler_dies(arena):
    await arena.nodes(1)
    os.kill(arena._stage.cluster.component("kube-scheduler").pid, signal.SIGKILL)
    pod = await arena.pod()
    await arena.until(pod, lambda pod: "nodeName" in pod["spec"], f"{pod} to be bound", patience=1.5)

@one("T-AFTER-A-DEATH", exclusive=True)
async def test_after_a_death(arena):
    pod = await arena.pod()
    await arena.until(pod, lambda pod: "nodeName" in pod["spec"], f"{pod} to be bound", patience=0.5)

@one("T-DEADLINE", deadline=1.5)
async def test_deadline(arena):
    await arena.bound(await arena.pod(scheduler="nobody"))

@one("T-BESIDE", needs=[Capability.FAKE_NODES])
async def test_beside(arena):
    (node,) = await arena.nodes(1)
    assert await arena.bound(await arena.pod()) == node
"""


@pytest.fixture(scope="module")
def mixed(programs: Programs) -> Ended:
    return programs.hintbound("run", programs.suite("mixed", MIXED), "--cluster", CLUSTER, "--profile", "all")


@pytest.fixture(scope="module")
def unknown(programs: Programs) -> Ended:
    suite = programs.suite("unknown", UNKNOWN)
    return programs.hintbound("run", suite, "--cluster", CLUSTER, "--profile", "all")


VERDICTS = {
    "T-PASS": "pass",
    "T-FAIL": "fail",
    "T-NEVER": "fail",
    "T-UNSUPPORTED": "not-supported",
    "T-ALONE": "pass",
}


def test_every_verdict_is_shown_reported_and_summed_up(mixed: Ended) -> None:
    assert (mixed.code, mixed.run["verdict"]) == (1, "fail"), mixed.out + mixed.err
    assert mixed.verdicts == mixed.lines == VERDICTS
    assert "verdict: fail (2 pass, 2 fail, 0 unknown, 0 skip, 1 not-supported) in" in mixed.out
    assert "tests that are no behaviours: 1 passed" in mixed.out
    assert "kube-apiserver: ClearingNominatedNodeNameAfterBinding is on" in mixed.out
    assert mixed.err == ""


def test_a_failure_tells_who_and_which_version_and_what_came_instead(mixed: Ended) -> None:
    failed, never = mixed.outcomes["T-FAIL"], mixed.outcomes["T-NEVER"]
    assert failed["reason"].startswith("assert 't-fail-")
    assert failed["reason"].endswith("-n1' == 'elsewhere'")
    told = "\n".join(failed["evidence"])
    assert "nodeName=t-fail-" in told
    assert "(create pods/binding by system:kube-scheduler: 201)" in told
    assert never["reason"].startswith("awaited for 0.5 s: pod-1 to be bound; came instead: phase=Pending, ")


def test_the_run_folder_holds_all_that_a_reader_needs(mixed: Ended) -> None:
    names = {path.name for path in mixed.folder.iterdir()}
    assert names >= {
        "run.json",
        "history.ndjson",
        "audit.ndjson",
        "report.yaml",
        "junit.xml",
        "report.md",
        "repro.sh",
        "logs",
    }
    assert {path.name for path in (mixed.folder / "logs").iterdir()} == {"shared", "exclusive"}
    versions = {c["name"]: c["version"] for c in mixed.run["clusters"][0]["components"]}
    assert versions["kube-scheduler"] == "v1.35.4"
    assert mixed.run["notes"] == []


def test_plain_pytest_gives_the_same_verdicts_and_exit_code(programs: Programs, mixed: Ended) -> None:
    suite = programs.folder / "mixed" / "suite"
    plain = programs.pytest(suite, "--hintbound-cluster", CLUSTER, "--hintbound-profile=all")
    assert (plain.code, plain.verdicts) == (mixed.code, mixed.verdicts), plain.out + plain.err
    assert f"hintbound: fail; report: {plain.folder}/report.md" in plain.out


def test_what_proves_nothing_is_unknown_and_never_failed(unknown: Ended) -> None:
    assert (unknown.code, unknown.run["verdict"]) == (2, "unknown"), unknown.out + unknown.err
    assert unknown.verdicts == {
        "T-UNPROVEN": "unknown",
        "T-OWN-SCHEDULER-DIES": "unknown",
        "T-SCHEDULER-DIES": "unknown",
        "T-AFTER-A-DEATH": "unknown",
        "T-DEADLINE": "unknown",
        "T-BESIDE": "pass",
    }


def test_a_death_is_named_in_the_reason_also_of_scenarios_after_it(unknown: Ended) -> None:
    reasons = {behaviour: outcome["reason"] for behaviour, outcome in unknown.outcomes.items()}
    assert reasons["T-OWN-SCHEDULER-DIES"].endswith("; kube-scheduler-1 died by itself (SIGKILL)")
    assert reasons["T-SCHEDULER-DIES"].endswith("; kube-scheduler died by itself (SIGKILL)")
    assert reasons["T-AFTER-A-DEATH"].endswith("; kube-scheduler died by itself (SIGKILL)")


def test_a_deadline_names_what_was_awaited(unknown: Ended) -> None:
    assert unknown.outcomes["T-DEADLINE"]["reason"].startswith(
        "its deadline of 1.5 s passed while it was awaiting: pod-1 to be bound (so far: phase=Pending,"
    )


def test_plain_pytest_on_our_suites_knows_the_short_options(programs: Programs) -> None:
    words = ["--cluster", CLUSTER, "--profile", "core", "--jobs", "4"]
    only = [f"--behaviour={behaviour}" for behaviour in ("NNN-FIELD-VALIDATED", "NNN-HINT-TAKEN")]
    plain = programs.pytest(data.folder("suites"), *words, *only)
    assert plain.code == 0, plain.out + plain.err
    assert plain.verdicts == {"NNN-FIELD-VALIDATED": "pass", "NNN-HINT-TAKEN": "pass"}
    assert all(outcome["file"].startswith("suites/") for outcome in plain.run["outcomes"])
    assert plain.run["clusterSpec"].startswith(f"{CLUSTER}.")  # the exact version, so that it can be repeated
    assert plain.run["jobs"] == 4


def test_a_gate_that_a_component_rejects_ends_in_its_own_words_and_254(programs: Programs) -> None:
    ended = programs.hintbound("run", "apiserver", "--cluster", f"{CLUSTER},NoSuchGate=true")
    assert ended.code == 254
    assert "NoSuchGate" in ended.err
    assert ended.err.startswith("hintbound: ")
    assert "Traceback" not in ended.err
    assert ended.run["reason"].startswith("could not start: ")


def test_an_interrupted_run_leaves_a_report_and_nothing_running(programs: Programs) -> None:
    suite = programs.suite(
        "waits", "@one('T-WAITS')\nasync def test_waits(arena):\n    await asyncio.sleep(60)\n"
    )
    popen, reports = programs.start("run", suite, "--cluster", CLUSTER)
    try:
        deadline = time.monotonic() + PATIENCE
        while not any(b"scenario-started" in path.read_bytes() for path in histories(reports)):
            assert popen.poll() is None, popen.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        popen.send_signal(signal.SIGINT)
        out, err = popen.communicate(timeout=60)
    finally:
        popen.kill()
    ended = Ended(popen.returncode, out, err, reports)
    assert (ended.code, ended.run["reason"]) == (130, "interrupted"), out + err
    assert ended.verdicts == {"T-WAITS": "unknown"}
    assert (ended.folder / "report.md").is_file()
    assert programs.hintbound_says("cluster", "list") == "no cluster is up."


@pytest.fixture
def existing(programs: Programs) -> Iterator[str]:
    """The SPEC of a cluster that is there already, as a person's kubeconfig names it."""
    programs.hintbound_says("cluster", "up", CLUSTER, "--name", "mine")
    programs.kubeconfig = Path(programs.hintbound_says("cluster", "kubeconfig", "mine"))
    yield "existing:hintbound"
    programs.hintbound_says("cluster", "down", "mine")


def test_an_existing_cluster_is_judged_by_what_it_offers_and_left_as_it_was(
    programs: Programs, existing: str
) -> None:
    only = [f"--behaviour={behaviour}" for behaviour in ON_EXISTING]
    ended = programs.hintbound("run", "scheduler", "--cluster", existing, *only)
    assert ended.code == 0, ended.out + ended.err
    said = {name: o["reason"] or o["verdict"] for name, o in ended.outcomes.items()}
    assert said == ON_EXISTING
    for name, words in ON_EXISTING.items():
        assert ended.lines[name] == ("pass" if words == "pass" else "skip")
        assert words in ended.out
    assert ended.run["notes"] == []


ON_EXISTING = {
    "NNN-BIND-CLEARS": "pass",
    "NNN-CLEAR-NO-NODES": "the existing cluster does not offer NO_NODES",
    "NNN-CLEAR-NOTHING-FITS": "the existing cluster does not offer AUDIT",
    "NNN-HINT-EQUAL-YIELDS": "pass",
    "NNN-HINT-TAKEN": "pass",
    "NNN-HINT-TAKEN-UNSCORED": "the existing cluster does not offer OWN_SCHEDULER",
    "NNN-PREEMPT-NOMINATES-WAITS-BINDS": "pass",
}


def histories(reports: Path) -> list[Path]:
    return list(reports.glob("2*/history.ndjson"))
