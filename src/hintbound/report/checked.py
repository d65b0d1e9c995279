"""What `hintbound check` found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hintbound.checks.judging import Tally
from hintbound.checks.model import Proof, Violation, event_of
from hintbound.checks.records import Intake
from hintbound.history.events import Event
from hintbound.protocol import Verdict, worst


def verdict(tallies: Sequence[Tally]) -> Verdict:
    """Of all checks together."""
    return worst(tally.verdict for tally in tallies)


def as_text(tallies: Sequence[Tally], intake: Intake) -> Iterator[str]:
    """Lines: what was read, each check with its count, then each violation with its proof."""
    yield (
        f"read {intake.files} files, {intake.lines} lines, {intake.events} events: "
        f"{intake.pods} lives of pods"
    )
    for reason, count in intake.flaws.most_common():
        places = ", ".join(intake.places[reason])
        more = ", …" if count > len(intake.places[reason]) else ""
        yield f"not read: {count} lines, {reason}: {places}{more}"
    for loss in intake.missing[bool(intake.flaws) :]:
        yield f"missing: {loss}"
    if intake.nameless:
        yield f"left out: {intake.nameless} events about pods that the log does not name"
    yield ""
    for tally in tallies:
        found = f", {tally.violations} {tally.check.severity}s" if tally.violations else ""
        yield f"{tally.verdict:<8} {tally.check.name:<30} {tally.judged} {tally.check.about} judged{found}"
        for reason in tally.reasons:
            yield f"         unknown: {reason}"
    for tally in tallies:
        if tally.violations:
            yield f"\n{tally.check.severity}: {tally.check.name}: {tally.check.must}"
        for violation in tally.shown:
            yield f"  {violation.time} {violation.said}"
            yield from (f"    {place(proof)}: {told(proof)}" for proof in violation.proof)
        if (rest := tally.violations - len(tally.shown)) > 0:
            yield f"  … and {rest} more"
    yield f"\n{verdict(tallies)}"


def as_json(tallies: Sequence[Tally], intake: Intake) -> dict[str, Any]:
    """The same as data."""
    return {
        "format": "hintbound.dev/check/v1alpha1",
        "verdict": verdict(tallies),
        "read": {
            "files": intake.files,
            "lines": intake.lines,
            "events": intake.events,
            "pods": intake.pods,
            "nameless": intake.nameless,
        },
        "notRead": [
            {"reason": reason, "lines": count, "first": intake.places[reason]}
            for reason, count in intake.flaws.most_common()
        ],
        "missing": intake.missing,
        "checks": [
            {
                "name": tally.check.name,
                "must": tally.check.must,
                "severity": tally.check.severity,
                "verdict": tally.verdict,
                "judged": tally.judged,
                "unknown": tally.reasons,
                "violations": tally.violations,
                "shown": [_violation(violation) for violation in tally.shown],
            }
            for tally in tallies
        ],
    }


def _violation(violation: Violation) -> dict[str, Any]:
    return {
        "pod": violation.pod,
        "time": violation.time,
        "said": violation.said,
        "proof": [{"place": place(proof), "said": told(proof)} for proof in violation.proof],
    }


def place(proof: Proof) -> str:
    """Where the event stands that a proof is about: file and line of a log, or the line of a history."""
    event = event_of(proof)
    return str(event.extra.get("place") or f"history.ndjson:{event.index + 1}")


def told(proof: Proof) -> str:
    """A proof in words."""
    if isinstance(proof, Event):
        return " ".join(filter(None, (proof.kind, proof.resource, proof.name)))
    return str(proof)
