"""Runs to write reports of."""

from __future__ import annotations

from typing import Any

from hintbound.protocol import Level, Profile, Severity, Verdict
from hintbound.report import ClusterInfo, ComponentInfo, Outcome, Run, SubjectInfo, run_verdict

EXPECTATION = "NominatedNodeNameForExpectation"
CLEARING = "ClearingNominatedNodeNameAfterBinding"
FROM_METRICS = "kubernetes_feature_enabled on /metrics"


def outcome(verdict: Verdict, behaviour: str = "", **about: Any) -> Outcome:
    name = behaviour or f"NNN-{verdict.name}"
    values: dict[str, Any] = {
        "behaviour": name,
        "must": f"The sentence of {name}.",
        "level": Level.CORE,
        "verdict": verdict,
        "reason": "" if verdict is Verdict.PASS else f"because of {name}",
        "file": f"suites/scheduler/hints/test_hints.py::test_{name.lower().replace('-', '_')}",
        "duration_seconds": 1.5,
        "repro": f"hintbound run --cluster embedded:1.35 {name}",
    }
    return Outcome(**(values | about))


def cluster(name: str = "shared", **gates: bool) -> ClusterInfo:
    gates = gates or {EXPECTATION: True, CLEARING: True, "Another": False}
    return ClusterInfo(
        name,
        (
            ComponentInfo("etcd", "etcd", "3.6.5", None, "etcd has no gates"),
            ComponentInfo("kube-apiserver", "kube-apiserver", "v1.35.4", gates, FROM_METRICS),
        ),
        ("AUDIT", "FAKE_NODES"),
        ("etcd runs without fsync",),
    )


def run(*outcomes: Outcome, **about: Any) -> Run:
    values: dict[str, Any] = {
        "id": "20261130T090000.000Z-abcdef",
        "suite_version": "0.1.0",
        "started": "2026-11-30T09:00:00.000000Z",
        "finished": "2026-11-30T09:00:12.500000Z",
        "duration_seconds": 12.5,
        "cluster_spec": "embedded:1.35",
        "provider": "embedded",
        "profile": Profile.CORE,
        "jobs": 4,
        "seed": 7,
        "command": ("hintbound", "run", "--cluster", "embedded:1.35", "--profile", "core"),
        "python": "3.11.7",
        "platform": "linux/amd64",
        "clusters": (cluster(),),
        "outcomes": outcomes,
        "verdict": run_verdict(outcomes),
    }
    return Run(**(values | about))


def one_of_each() -> Run:
    return run(
        outcome(Verdict.PASS),
        outcome(Verdict.NOT_SUPPORTED, applies=f"gate(apiserver, {CLEARING})"),
        outcome(Verdict.SKIP),
        outcome(Verdict.UNKNOWN, evidence=("the audit recorder of shared lagged",)),
        outcome(
            Verdict.FAIL,
            must="A pod | with a hint\nis bound to <that> node.",
            why="A scan of all nodes is saved.",
            source="KEP-5278",
            affects=("nominator", "operator"),
            advice="Hint <again>.",
            reason="pod ns/p was bound to n2, not to n1",
            severity=Severity.VIOLATION,
            evidence=(
                "pod ns/p at 7 (modified): nominatedNodeName n1",
                "```",
                "bound by system:kube-scheduler",
            ),
        ),
        notes=("one | note",),
    )


def subject(**about: Any) -> SubjectInfo:
    values: dict[str, Any] = {
        "name": "mine",
        "kind": "Scheduler",
        "file": "vendor/subject.yaml",
        "scheduler_name": "my-scheduler",
        "command": ("./run", "{kubeconfig}"),
        "kubernetes_version": "1.35",
        "gates": {EXPECTATION: True},
        "features": ("Hints", "Preemption"),
    }
    return SubjectInfo(**(values | about))
