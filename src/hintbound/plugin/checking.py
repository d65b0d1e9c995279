"""What checks find in the record of a scenario, and what of it makes the scenario fail."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from hintbound.checks import Context, Finding, Registered, judge
from hintbound.checks.records import in_run
from hintbound.history.events import Event
from hintbound.history.join import lives
from hintbound.history.setting import setting
from hintbound.plugin.applies import Facts
from hintbound.plugin.behaviours import Behaviour
from hintbound.protocol import Actor, ComponentKind, Severity


def found(
    checks: Sequence[Registered],
    events: Sequence[Event],
    behaviour: Behaviour,
    facts: Facts,
    *,
    cluster: str,
    namespace: str,
    schedulers: Collection[str],
    without: Collection[str],
) -> tuple[list[Finding], list[str]]:
    """What the checks find in a whole record, and which of them judged nothing.

    `facts`: what is known of the components that made it. `schedulers`: the versions of those that
    took part. `without`: the uids of pods that only set the stage.
    """
    pods = [life for life in lives(events) if life.uid not in without] if checks else []
    bare = Context(
        behaviour.id,
        namespace,
        cluster,
        facts.gates,
        facts.versions,
        events,
        nominators=frozenset({Actor.NOMINATOR} if behaviour.judges_nominator else ()),
        setting=setting(events),
    )
    findings, untold = judge(checks, pods, in_run(bare, behaviour=behaviour.id, cluster=cluster))
    ours = {one.check.name for one in checks if one.extension is None}
    return [
        replace(finding, excuse=_excuse(finding, behaviour, schedulers))
        if finding.check.name in ours
        else finding
        for finding in findings
    ], untold


def _excuse(finding: Finding, behaviour: Behaviour, schedulers: Collection[str]) -> str:
    """Why a finding of a check of ours fails no scenario; empty when it does."""
    check = finding.check
    if check.name in behaviour.harms:
        return "the scenario does that on purpose"
    if check.severity is Severity.HAZARD:
        return "it is legal"
    known = (bug.source for bug in check.known if any(map(bug.has, schedulers)))
    return "; ".join(f"{source} is known of this version" for source in known)


def without_facts_of(kind: ComponentKind, facts: Facts) -> Facts:
    """What is known where a scenario had components of this kind, whose gates and version may differ."""
    return replace(
        facts,
        gates={known: gates for known, gates in facts.gates.items() if known != kind},
        versions={known: version for known, version in facts.versions.items() if known != kind},
    )
