"""One run from start to report: folder, history, stages, engine; what the pytest hooks drive."""

from __future__ import annotations

import asyncio
import platform
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hintbound import __version__
from hintbound.clusters.spec import ClusterSpec
from hintbound.history.events import Kind, Source, timestamp
from hintbound.history.store import Store
from hintbound.plugin.behaviours import Behaviour
from hintbound.plugin.engine import EXCLUSIVE, SHARED, Engine, Scenario
from hintbound.plugin.judgement import Judgement
from hintbound.plugin.stage import Stage, start_all
from hintbound.protocol import ExitCode, EXIT_CODES, Profile, Verdict
from hintbound.report import write_all
from hintbound.report.folder import RunFolder
from hintbound.report.model import ClusterInfo, ComponentInfo, Outcome, Run, run_verdict


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options of a run say."""

    spec: ClusterSpec
    profile: Profile
    jobs: int
    reports: Path


@dataclass(frozen=True, slots=True)
class Item:
    """One test item that stands for a behaviour."""

    behaviour: Behaviour
    scenario: Scenario
    node_id: str
    """Relative to the folder of the suites."""


class Session:
    """A run in progress."""

    def __init__(self, settings: Settings, items: Sequence[Item]) -> None:
        self.settings = settings
        self.items = items
        self.folder = RunFolder.create(settings.reports)
        self.store = Store(self.folder.history)
        self.engine = Engine(jobs=settings.jobs)
        self.engine.queue(item.scenario for item in items)
        self.stages: list[Stage] = []
        self._clusters: tuple[ClusterInfo, ...] = ()
        self._outcomes: dict[str, Outcome] = {}
        self._began = time.monotonic()
        self._started = timestamp()
        self.run = self.folder.begin(self._result(Verdict.UNKNOWN, ""))
        self.exit_code = ExitCode.UNKNOWN

    def start(self, told: Callable[[Stage], None] = lambda _stage: None) -> None:
        """Start the stages and begin to play. Raises CannotStart; nothing is left running then."""
        self.store.append(Kind.RUN_STARTED, source=Source.ENGINE, data={"spec": str(self.settings.spec)})
        # An exclusive scenario needs a control plane of its own; without shared ones it can have the first.
        self.stages = [
            Stage(name, self.settings.spec, self.store, self.folder) for name in self.engine.lanes or (SHARED,)
        ]
        self.engine.run(self._start(told))

    async def _start(self, told: Callable[[Stage], None]) -> None:
        await start_all(self.stages, told)
        self._clusters = tuple(map(_cluster_info, self.stages))
        await self.engine.begin(self.stages)

    def verdict(self, item: Item) -> Judgement:
        """Wait for the judgement of one item and take it down."""
        judgement = self.engine.run(self.engine.verdict(item.scenario))
        self._take(item, judgement)
        return judgement

    def finish(self, *, interrupted: bool, failure: str = "") -> Run:
        """End everything and write the reports. `failure`: why the run as a whole proves nothing."""
        for item in self.items:
            if item.behaviour.id not in self._outcomes:
                self._take(item, Judgement(Verdict.UNKNOWN, "interrupted" if interrupted else "not reached"))
        self.engine.close()
        outcomes = list(self._outcomes.values())
        verdict = Verdict.UNKNOWN if interrupted or failure else run_verdict(outcomes)
        reason = "interrupted" if interrupted else failure
        self.store.append(Kind.RUN_FINISHED, source=Source.ENGINE, data={"verdict": str(verdict)})
        self.store.close()
        self.run = write_all(self._result(verdict, reason, finished=timestamp()), self.folder)
        self.exit_code = ExitCode.INTERRUPTED if interrupted else EXIT_CODES[verdict]
        return self.run

    def abandon(self) -> None:
        """End a run that could not start; its provisional record stays and says unknown."""
        self.engine.close()
        self.store.close()

    def _take(self, item: Item, judgement: Judgement) -> None:
        behaviour = item.behaviour
        failed = judgement.verdict is Verdict.FAIL
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
            repro=repro(self.settings.spec, behaviour.id),
        )

    def _result(self, verdict: Verdict, reason: str, finished: str = "") -> Run:
        return Run(
            id=self.folder.id,
            suite_version=__version__,
            started=self._started,
            cluster_spec=str(self.settings.spec),
            profile=self.settings.profile,
            verdict=verdict,
            reason=reason,
            finished=finished,
            duration_seconds=round(time.monotonic() - self._began, 3),
            provider=self.settings.spec.provider,
            jobs=self.settings.jobs,
            command=_command(),
            python=platform.python_version(),
            platform=platform.platform(),
            clusters=self._clusters,
            outcomes=tuple(self._outcomes.values()),
            notes=tuple(self.engine.notes),
        )


def repro(spec: ClusterSpec, behaviour: str) -> str:
    """The command that judges one behaviour again."""
    return shlex.join(["hintbound", "run", "--cluster", str(spec), "--profile", "all", "--behaviour", behaviour])


def _command() -> tuple[str, ...]:
    return (Path(sys.argv[0]).name, *sys.argv[1:])


def _cluster_info(stage: Stage) -> ClusterInfo:
    return ClusterInfo(
        name=stage.name,
        components=tuple(
            ComponentInfo(state.name, str(state.kind), state.version, state.gates, state.source)
            for state in stage.states
        ),
        capabilities=tuple(sorted(stage.cluster.capabilities)),
        deviations=tuple(stage.cluster.deviations),
    )
