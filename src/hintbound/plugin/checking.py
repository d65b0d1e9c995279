"""What checks find in the record of a scenario, and what of it makes the scenario fail."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hintbound.checks import Context, Finding, Registered, judge
from hintbound.checks.records import in_run
from hintbound.history.events import Event
from hintbound.history.join import lives
from hintbound.history.setting import Setting, setting
from hintbound.plugin.applies import Facts
from hintbound.plugin.behaviours import Behaviour
from hintbound.protocol import Actor, ComponentKind, Severity
from hintbound.report.model import LEGAL, CheckInfo


@dataclass(frozen=True, slots=True)
class Checked:
    """What checks came to on one record, or on many."""

    findings: Sequence[Finding] = ()
    untold: Sequence[str] = ()
    """Which of them judged nothing, and why."""
    judged: Mapping[str, int] = field(default_factory=dict)
    """By our own check: the lives that its sentence concerns."""

    @property
    def failing(self) -> list[Finding]:
        """What fails the scenario."""
        return [finding for finding in self.findings if not finding.excuse]


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
    nodes: Sequence[Event] | None = None,
    components: Collection[str] | None = None,
) -> Checked:
    """What the checks find in a whole record.

    `facts`: what is known of the components that made it. `schedulers`: the versions of those that
    took part. `without`: the uids of pods that only set the stage. `nodes`: what was seen of all nodes of
    the cluster; None where only those of the record are known. `components`: the names of those that took
    part; None: all.
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
        setting=_setting(events, nodes, components),
    )
    context = in_run(bare, behaviour=behaviour.id, cluster=cluster)
    findings, untold = judge(checks, pods, context)
    ours = {one.check.name: one.check for one in checks if one.extension is None}
    return Checked(
        [
            replace(finding, excuse=_excuse(finding, behaviour, schedulers))
            if finding.check.name in ours
            else finding
            for finding in findings
        ],
        untold,
        {
            name: sum(check.concerns is None or check.concerns(life, context) for life in pods)
            for name, check in ours.items()
        },
    )


class Sum:
    """What all records of a run came to, check by check."""

    def __init__(self) -> None:
        self._judged: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._excused: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, checked: Checked) -> None:
        """One more record."""
        self._judged.update(checked.judged)
        for finding in checked.findings:
            if finding.excuse:
                self._excused[finding.check.name][finding.excuse] += 1
            else:
                self._found[finding.check.name] += 1

    def told(self) -> tuple[CheckInfo, ...]:
        """For the run's report."""
        return tuple(
            CheckInfo(name, judged, self._found[name], dict(self._excused[name]))
            for name, judged in self._judged.items()
        )


def _setting(
    events: Sequence[Event], nodes: Sequence[Event] | None, components: Collection[str] | None
) -> Setting:
    """What surrounded the pods of a record, with all nodes of the cluster where they are known."""
    everything = {event.index: event for event in (*events, *(nodes or ()))}
    in_turn = [everything[index] for index in sorted(everything)]
    return setting(in_turn, all_nodes=nodes is not None, components=components)


def _excuse(finding: Finding, behaviour: Behaviour, schedulers: Collection[str]) -> str:
    """Why a finding of a check of ours fails no scenario; empty when it does."""
    check = finding.check
    if check.name in behaviour.harms:
        return "the scenario does that on purpose"
    if check.severity is Severity.HAZARD:
        return LEGAL
    known = (bug.source for bug in check.known if any(map(bug.has, schedulers)))
    return "; ".join(f"{source} is known of this version" for source in known)


def without_facts_of(kind: ComponentKind, facts: Facts) -> Facts:
    """What is known where a scenario had components of this kind, whose gates and version may differ."""
    return replace(
        facts,
        gates={known: gates for known, gates in facts.gates.items() if known != kind},
        versions={known: version for known, version in facts.versions.items() if known != kind},
    )
