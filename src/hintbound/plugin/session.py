"""One run from start to report: folder, history, stages, engine; what the pytest hooks drive."""

from __future__ import annotations

import contextlib
import platform
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hintbound import __version__
from hintbound.checks import Registered
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source, timestamp
from hintbound.history.store import Store
from hintbound.mutants import Mutant
from hintbound.plugin.behaviours import Behaviour
from hintbound.plugin.engine import INTERRUPTED, Engine, Scenario
from hintbound.plugin.expected import Expected
from hintbound.plugin.interrupts import Interrupts
from hintbound.plugin.judgement import Judgement
from hintbound.plugin.stage import Stage, start_all
from hintbound.protocol import EXIT_CODES, ExitCode, Profile, Verdict
from hintbound.report import kill_matrix, run_json, write_all
from hintbound.report.folder import RunFolder
from hintbound.report.model import (
    PROVISIONAL,
    ClusterInfo,
    ComponentInfo,
    Outcome,
    Run,
    SubjectInfo,
    run_verdict,
)
from hintbound.subjects import SUITES, Subject, named, shown

MOST_ALIKE = 3
"""So many mutants are named that a run looks like."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options of a run say."""

    spec: ClusterSpec
    profile: Profile
    jobs: int
    reports: Path
    checks: Sequence[Registered] = ()
    """What judges the record of every scenario."""
    extensions: tuple[str, ...] = ()
    """What installed packages add to every run."""
    expected: Expected | None = None
    """Failures that are expected."""
    known: frozenset[str] = frozenset()
    """The ids of all behaviours that this run could have judged, and of hintbound's own."""
    elsewhere: bool = True
    """Whether there may be suites of the same vendor that this run left out."""
    selection: tuple[str, ...] = ()
    """Paths and `--behaviour=ID`s that it is limited to; empty for the whole of hintbound's suites, or for
    the part that is about the subject."""
    subject: Subject | None = None
    """Whose scheduler is judged; None for kube-scheduler."""
    keep: bool = False
    """Whether the clusters are left running."""
    seed: int = 0
    """Of what scenarios leave to chance."""
    mutant: Mutant | None = None
    """How the clusters are made to break the protocol."""


@dataclass(frozen=True, slots=True)
class Item:
    """One test item that stands for a behaviour."""

    behaviour: Behaviour
    scenario: Scenario
    node_id: str
    """Relative to the folder of the suites."""
    path: str = ""
    """The file to name to `hintbound run`; empty for hintbound's own suites, which it takes by itself."""


class Session:
    """A run in progress."""

    def __init__(
        self, settings: Settings, items: Sequence[Item], interrupts: Interrupts | None = None
    ) -> None:
        self.settings = settings
        self.items = items
        self.folder = RunFolder.create(settings.reports)
        self.store = Store(self.folder.history)
        self.engine = Engine(jobs=settings.jobs, interrupts=interrupts, checks=settings.checks)
        self.engine.queue(item.scenario for item in items)
        self.stages: list[Stage] = []
        self._spec = str(settings.spec)
        self._clusters: tuple[ClusterInfo, ...] = ()
        self._outcomes: dict[str, Outcome] = {}
        self._began = time.monotonic()
        self._started = timestamp()
        self.run = self.folder.begin(self._result(Verdict.UNKNOWN, ""))
        self.exit_code = ExitCode.UNKNOWN

    def start(self, told: Callable[[Stage], None] = lambda _stage: None) -> None:
        """Start the stages and begin to play. Raises CannotStart; nothing is left running then."""
        self.store.append(Kind.RUN_STARTED, source=Source.ENGINE, data={"spec": str(self.settings.spec)})
        subject = self.settings.subject
        for name in self.engine.lanes:
            # A cluster that is there once is all there is: what is exclusive comes last on it, or finds out
            # that it cannot be played.
            if self.stages and self.stages[0].is_alone:
                break
            playing = (item.behaviour for item in self.items if item.scenario.lane == name)
            needs = frozenset(need for behaviour in playing for need in behaviour.needs)
            stage = Stage(
                name,
                self.settings.spec,
                self.store,
                self.folder,
                needs,
                subject,
                keep=self.settings.keep,
                seed=self.settings.seed,
                mutant=self.settings.mutant,
            )
            self.stages.append(stage)
        self.engine.run(self._start(told))

    async def _start(self, told: Callable[[Stage], None]) -> None:
        await start_all(self.stages, told)
        self.folder.become_latest()
        self._spec = self.stages[0].cluster.spec  # with the exact version: a run can be repeated years later
        self._clusters = tuple(map(_cluster_info, self.stages))
        await self.engine.begin(self.stages)

    def verdict(self, item: Item) -> Judgement:
        """Wait for the judgement of one item and take it down."""
        try:
            judgement = self.engine.run(self.engine.verdict(item.scenario))
        except pytest.fail.Exception as fence:  # pytest-timeout's signal hit us while we waited
            judgement = Judgement(Verdict.UNKNOWN, f"no verdict came in time: {fence}")
        return self.take(item, judgement)

    def finish(self, *, interrupted: bool, stopped: str = "", failure: str = "") -> Run:
        """End everything and write the reports. Raises CannotStart when they cannot be written.

        `stopped`: why items may not have been reached. `failure`: why the run as a whole proves nothing.
        """
        self.engine.close(self.stages)
        why = INTERRUPTED if interrupted else f"not reached: {stopped or failure or 'pytest did not call it'}"
        for item in self.items:
            if item.behaviour.id not in self._outcomes:
                judged = item.scenario.judged if interrupted else None  # what nobody had asked for yet
                self.take(item, judged or Judgement(Verdict.UNKNOWN, why))
        outcomes = [self._outcomes[item.behaviour.id] for item in self.items]
        failure = failure or self._lost()
        verdict = Verdict.UNKNOWN if interrupted or failure else run_verdict(outcomes)
        reason = INTERRUPTED if interrupted else failure or _nothing_judged(outcomes)
        self.exit_code = ExitCode.INTERRUPTED if interrupted else EXIT_CODES[verdict]
        try:
            self.store.append(Kind.RUN_FINISHED, source=Source.ENGINE, data={"verdict": str(verdict)})
        finally:
            self.store.close()
        run = self._result(verdict, reason, finished=timestamp())
        self.run = write_all(replace(run, notes=(*run.notes, *_likeness(run))), self.folder)
        return self.run

    def _lost(self) -> str:
        """Why the record is not where it was written; empty when it is."""
        return "" if self.folder.history.is_file() else "the run's folder was removed while it went on"

    def abandon(self, error: CannotStart) -> None:
        """End a run that could not start; its record says why."""
        self.engine.close(self.stages)
        self.store.close()
        run = self._result(Verdict.UNKNOWN, f"could not start: {error}", finished=timestamp())
        with contextlib.suppress(OSError):
            self.folder.write(run_json.FILE, run_json.write(run))

    def take(self, item: Item, judgement: Judgement) -> Judgement:
        """Take a judgement down as the outcome of its behaviour; gives it with what was expected of it."""
        behaviour = item.behaviour
        if self.settings.expected and self.stages:
            stages = {stage.name: stage for stage in self.stages}
            facts = stages.get(judgement.cluster, self.stages[0]).facts
            judgement = self.settings.expected.judged(behaviour.id, judgement, facts)
        failed = judgement.verdict is Verdict.FAIL
        if failed and behaviour.provisional:
            judgement = replace(judgement, expected=judgement.expected or PROVISIONAL)
        self._outcomes[behaviour.id] = Outcome(
            behaviour=behaviour.id,
            must=behaviour.must,
            level=behaviour.level,
            verdict=judgement.verdict,
            reason=judgement.reason,
            why=behaviour.why,
            source=behaviour.source,
            applies=behaviour.applies.text,
            file=item.node_id,
            severity=behaviour.severity if failed else None,
            duration_seconds=judgement.duration,
            test=behaviour.id,
            namespace=judgement.namespace,
            cluster=judgement.cluster,
            evidence=judgement.evidence,
            own_components=judgement.own_components,
            repro=self._repro(item),
            affects=tuple(map(str, behaviour.affects)),
            advice=behaviour.advice,
            provisional=behaviour.provisional,
            expected=judgement.expected,
            elsewhere=judgement.elsewhere,
        )
        return judgement

    def _repro(self, item: Item) -> str:
        subject = self.settings.subject
        path = item.path
        if subject and not path and not item.node_id.startswith(f"suites/{SUITES[subject.kind]}/"):
            path = item.node_id.partition("::")[0]  # it is no part of what is judged without a path
        return repro(self._spec, item.behaviour.id, path, self._whom())

    def _whom(self) -> tuple[str, ...]:
        """The options that name the subject."""
        subject = self.settings.subject
        return ("--subject", named(subject.file)) if subject else ()

    def _command(self) -> tuple[str, ...]:
        """What repeats this run, whichever way it was called: no path of this machine but those of suites."""
        options = ("--cluster", self._spec, *self._whom(), "--profile", str(self.settings.profile))
        known = ("--xfails", self.settings.expected.file) if self.settings.expected else ()
        known = (*known, *(("--mutant", self.settings.mutant.name) if self.settings.mutant else ()))
        return ("hintbound", "run", *self.settings.selection, *options, *known)

    def _stale(self) -> Iterator[str]:
        """Expectations that have outlived what they speak of."""
        if expected := self.settings.expected:
            yield from expected.stale(self.settings.known, elsewhere=self.settings.elsewhere)

    def _kept(self) -> Iterator[str]:
        for stage in self.stages:
            if stage.kept:
                yield (
                    f"{stage.name} was kept: export KUBECONFIG=$(hintbound cluster kubeconfig {stage.kept}); "
                    f"it ends with `hintbound cluster down {stage.kept}`"
                )

    def _result(self, verdict: Verdict, reason: str, finished: str = "") -> Run:
        return Run(
            id=self.folder.id,
            suite_version=__version__,
            started=self._started,
            cluster_spec=self._spec,
            profile=self.settings.profile,
            verdict=verdict,
            reason=reason,
            finished=finished,
            duration_seconds=round(time.monotonic() - self._began, 3),
            provider=self.settings.spec.provider,
            subject=_subject_info(self.settings.subject) if self.settings.subject else None,
            jobs=self.settings.jobs,
            mutant=self.settings.mutant.name if self.settings.mutant else "",
            seed=self.settings.seed,
            extensions=self.settings.extensions,
            command=self._command(),
            selection=self.settings.selection,
            python=platform.python_version(),
            platform=platform.platform(),
            clusters=self._clusters,
            outcomes=tuple(
                self._outcomes[item.behaviour.id]
                for item in self.items
                if item.behaviour.id in self._outcomes
            ),
            checks=self.engine.checked.told(),
            notes=(*self.engine.notes, *self._kept(), *(self._stale() if finished else ())),
        )


def repro(spec: str, behaviour: str, path: str = "", whom: Sequence[str] = ()) -> str:
    """The command that judges one behaviour again; `path` names a suite that is not hintbound's own, `whom`
    are the options that name a subject."""
    paths = [path] if path else []
    options = ["--cluster", spec, *whom, "--profile", "all", "--behaviour", behaviour]
    return shlex.join(["hintbound", "run", *paths, *options])


def _likeness(run: Run) -> Iterator[str]:
    """The known ways to break a control plane that a failed run looks like."""
    known = kill_matrix.shipped() if run.verdict is Verdict.FAIL and not run.mutant else None
    for name, alike in kill_matrix.looks_like(run, known)[:MOST_ALIKE] if known else ():
        yield (
            f"it looks like the mutant {name} ({alike:.0%} of what either breaks is broken by both): "
            f"see docs/{kill_matrix.PAGE}"
        )


def _nothing_judged(outcomes: Sequence[Outcome]) -> str:
    judged = [outcome for outcome in outcomes if outcome.verdict in EXIT_CODES]
    return "" if judged else "nothing was judged: every behaviour was skipped or is not supported"


def _cluster_info(stage: Stage) -> ClusterInfo:
    return ClusterInfo(
        name=stage.name,
        components=tuple(
            ComponentInfo(str(state.name), str(state.kind), state.version, state.gates, state.source)
            for state in stage.states
        ),
        capabilities=tuple(sorted(map(str, stage.cluster.capabilities))),
        deviations=tuple(stage.cluster.deviations),
    )


def _subject_info(subject: Subject) -> SubjectInfo:
    return SubjectInfo(
        name=subject.name,
        kind=subject.kind,
        file=shown(subject.file),
        scheduler_name=subject.scheduler_name,
        command=subject.command,
        kubernetes_version=subject.kubernetes_version,
        gates=subject.gates,
        features=tuple(sorted(map(str, subject.features))),
    )
