"""What all reports say in the same words: the verdict as a sentence, the gates that matter, the order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hintbound.clusters.gatesets import GATE_SETS
from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    NOMINATED_NODE_NAME_FOR_EXPECTATION,
    ComponentKind,
    Severity,
    Verdict,
)
from hintbound.report.model import EXPECTED_FAIL, ComponentInfo, Outcome, Run, Statistics

_WORST_FIRST: Final[tuple[str, ...]] = (
    Verdict.FAIL,
    Verdict.UNKNOWN,
    EXPECTED_FAIL,
    Verdict.SKIP,
    Verdict.NOT_SUPPORTED,
    Verdict.PASS,
)
_SET_GATE: Final = re.compile(r"[:,](?:[\w-]+\.)?(\w+)=(?:true|false)\b")
_SET: Final = re.compile(r"[:,]@([\w-]+)")
_GATE: Final = re.compile(r"\bgate\(\s*[\w-]+\s*,\s*(\w+)\s*\)")


def worst_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Failures, then what was not judged, then passes; violations before hazards; else as they ran."""
    return sorted(
        outcomes,
        key=lambda o: (
            _WORST_FIRST.index(o.shown),
            o.severity is Severity.HAZARD,
        ),
    )


def sentence(run: Run) -> str:
    """The verdict of a run in one sentence."""
    counts = Statistics.of(run.outcomes)
    judged = counts.passed + counts.failed + counts.expected
    on = f" for {run.subject.name}" if run.subject else ""
    on += f" on Kubernetes {', '.join(versions)}" if (versions := kubernetes_versions(run)) else ""
    if run.verdict is Verdict.FAIL:
        text = (
            f"Fail: {counts.failed} of {_count(judged, 'judged behaviour')} {_do(counts.failed)} not hold{on}"
        )
        text += f"; {counts.expected} more fail as was expected" if counts.expected else ""
        text += f"; {counts.unknown} more could not be judged" if counts.unknown else ""
    elif run.verdict is Verdict.PASS and counts.expected:
        text = f"Pass, but not conformant: {counts.expected} of {_count(judged, 'judged behaviour')} "
        text += f"{_do(counts.expected)} not hold, as was expected{on}"
    elif run.verdict is Verdict.PASS:
        all_of_them = (
            "the one judged behaviour holds" if judged == 1 else f"all {judged} judged behaviours hold"
        )
        text = f"Pass: {all_of_them}{on}"
    elif counts.unknown:
        behaviours = _count(counts.unknown + judged, "behaviour")
        text = f"Unknown: {counts.unknown} of {behaviours} could not be judged{on}"
        text += f"; {counts.expected} more fail as was expected" if counts.expected else ""
    elif judged:
        text = f"Unknown: {_count(counts.passed, 'behaviour')} passed{on}"
    else:
        text = f"Unknown: nothing was judged{on}"
    return f"{text}; {run.reason}." if run.reason else f"{text}."


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def kubernetes_versions(run: Run) -> list[str]:
    """The versions of all apiservers, each once."""
    found = (part.version for _, part in run.components() if part.kind == ComponentKind.APISERVER)
    return sorted({version.removeprefix("v") for version in found if version})


def gates_that_matter(run: Run) -> list[str]:
    """The gates that decide about NNN, those that a behaviour of this run asks for, and those that its owner
    set, by name or in a set."""
    asked = {gate for outcome in run.outcomes for gate in _GATE.findall(outcome.applies)}
    asked |= set(_SET_GATE.findall(run.cluster_spec))
    asked |= {gate for name in _SET.findall(run.cluster_spec) for gate in _gates_of(name)}
    own = (NOMINATED_NODE_NAME_FOR_EXPECTATION, CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING)
    return [*own, *sorted(asked.difference(own))]


def _gates_of(gate_set: str) -> Iterable[str]:
    """None for a set that this version does not know: the run may be older."""
    return GATE_SETS[gate_set].gates if gate_set in GATE_SETS else ()


@dataclass(frozen=True, slots=True)
class Program:
    """Components of one name, version and gates, wherever they run."""

    name: str
    version: str
    clusters: tuple[str, ...]
    gates: Mapping[str, bool] | None
    """Those that matter; None when they could not be read."""


def programs(run: Run) -> list[Program]:
    """The programs of all clusters; those that are alike in several clusters stand once."""
    matter = gates_that_matter(run)
    found: dict[object, tuple[ComponentInfo, list[str], Mapping[str, bool] | None]] = {}
    for cluster, part in run.components():
        gates = (
            None if part.gates is None else {gate: part.gates[gate] for gate in matter if gate in part.gates}
        )
        key = (part.name, part.version, None if gates is None else tuple(gates.items()))
        found.setdefault(key, (part, [], gates))[1].append(cluster.name)
    return [Program(part.name, part.version, tuple(names), gates) for part, names, gates in found.values()]


def one_line(text: str) -> str:
    """The text with all white space, line ends included, as single blanks."""
    return " ".join(text.split())


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def checks(run: Run) -> str:
    """How much the checks judged, and what they found, in one line."""
    lives = sum(check.judged for check in run.checks)
    told = [f"{_count(len(run.checks), 'check')} judged {lives} lives of pods"]
    told += [f"{check.name} found {check.found}" for check in run.checks if check.found]
    told += [
        f"{check.name} found {count} more that fail nobody: {why}"
        for check in run.checks
        for why, count in check.excused.items()
    ]
    return "; ".join(told)
