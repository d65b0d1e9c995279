"""`report.yaml`: the ConformanceReport that a vendor hands in, shaped as gateway-api's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import yaml

from hintbound.protocol import Level, Verdict
from hintbound.report.model import ComponentInfo, ExpectedFailure, Outcome, Run, Statistics, SubjectInfo
from hintbound.report.words import sentence

FILE: Final = "report.yaml"
API_VERSION: Final = "hintbound.dev/v1alpha1"

_LISTED: Final = {
    Verdict.FAIL: "failedBehaviours",
    Verdict.UNKNOWN: "unknownBehaviours",
    Verdict.SKIP: "skippedBehaviours",
    Verdict.NOT_SUPPORTED: "notSupportedBehaviours",
}
_EXPECTED: Final = "expectedFailedBehaviours"


def write(run: Run) -> str:
    """The report as YAML; what a reader wants first comes first, the full gate tables last."""
    report: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "ConformanceReport",
        "date": run.finished or run.started,
        "runId": run.id,
        "suiteVersion": run.suite_version,
        "provider": run.provider,
        "mode": run.cluster_spec,
        **({"subject": _subject(run.subject)} if run.subject else {}),
        "verdict": str(run.verdict),
        "summary": sentence(run),
        "profiles": [_profile(run)],
        "behaviours": [_behaviour(outcome) for outcome in run.outcomes],
        "environment": {
            "jobs": run.jobs,
            "extensions": list(run.extensions),
            "seed": run.seed,
            "selection": list(run.selection),
            "clusters": [
                {
                    "name": cluster.name,
                    "capabilities": list(cluster.capabilities),
                    "deviations": list(cluster.deviations),
                }
                for cluster in run.clusters
            ],
        },
        "notes": list(run.notes),
        "components": [_component(cluster.name, part) for cluster, part in run.components()],
    }
    return yaml.safe_dump(report, sort_keys=False, allow_unicode=True, width=110)


def _subject(subject: SubjectInfo) -> dict[str, Any]:
    record = {
        "kind": subject.kind,
        "name": subject.name,
        "file": subject.file,
        "schedulerName": subject.scheduler_name,
        "command": list(subject.command),
        "kubernetesVersion": subject.kubernetes_version,
        "gates": None if subject.gates is None else dict(sorted(subject.gates.items())),
    }
    told = {key: value for key, value in record.items() if value not in ("", [], None)}
    return told | {"features": list(subject.features)}


def _profile(run: Run) -> dict[str, Any]:
    levels = {str(level): _level(run, level) for level in Level if run.of_level(level)}
    return {"name": str(run.profile), **levels}


def _level(run: Run, level: Level) -> dict[str, Any]:
    outcomes = run.of_level(level)
    counts = Statistics.of(outcomes)
    return {
        "result": str(run.result(level)),
        "statistics": {
            "passed": counts.passed,
            "failed": counts.failed,
            "unknown": counts.unknown,
            "skipped": counts.skipped,
            "notSupported": counts.not_supported,
            **({"expectedFailed": counts.expected} if counts.expected else {}),
        },
        **{key: listed for key, listed in _listed(outcomes).items() if listed},
    }


def _listed(outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """The behaviours that did not pass, by how they did not."""
    found: dict[str, list[str]] = {key: [] for key in (*_LISTED.values(), _EXPECTED)}
    for outcome in outcomes:
        if outcome.verdict in _LISTED:
            key = _EXPECTED if outcome.expected else _LISTED[outcome.verdict]
            found[key].append(outcome.behaviour)
    return found


def _behaviour(outcome: Outcome) -> dict[str, Any]:
    optional = {
        "reason": outcome.reason,
        "expected": _expected(outcome.expected),
        "provisional": outcome.provisional,
        "severity": str(outcome.severity or ""),
        "applies": outcome.applies,
        "cluster": outcome.cluster,
        "ownComponents": list(outcome.own_components),
        "evidence": list(outcome.evidence) if outcome.verdict is not Verdict.PASS else [],
    }
    return {
        "id": outcome.behaviour,
        "verdict": str(outcome.verdict),
        "level": str(outcome.level),
        "must": outcome.must,
        "source": outcome.source,
        **{key: value for key, value in optional.items() if value},
    }


def _expected(expected: ExpectedFailure | None) -> dict[str, str]:
    if expected is None:
        return {}
    record = {"reason": expected.reason, "issue": expected.issue, "expires": expected.expires}
    return {key: value for key, value in record.items() if value}


def _component(cluster: str, part: ComponentInfo) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "name": part.name,
        "kind": part.kind,
        "version": part.version,
        "gateSource": part.source,
        "gates": None if part.gates is None else dict(sorted(part.gates.items())),
    }
