"""The result of a run as one value: what `run.json` keeps and what every report is written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from hintbound.errors import CannotStart
from hintbound.protocol import Level, Profile, Seconds, Severity, Verdict, worst

FORMAT: Final = "hintbound.dev/run/v1alpha1"

STILL_RUNNING: Final = "still running or killed: the run has not come to its end"
"""What a provisional `run.json` gives as its reason."""


class ProfileResult(StrEnum):
    """What one level of a profile came to (the rules are gateway-api's)."""

    SUCCESS = "success"
    PARTIAL = "partial"
    """Nothing failed unexpectedly, but a behaviour was skipped, could not be judged, or failed as was
    expected: not conformant."""
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class ComponentInfo:
    """One program of a control plane, with its gates as it reported them itself."""

    name: str
    """Which of several of its kind: `kube-scheduler`, `kube-scheduler-2`."""
    kind: str
    version: str
    gates: Mapping[str, bool] | None = None
    """None: it does not tell (etcd), or could not be read."""
    source: str = ""
    """Where the gates were read, e.g. `kubernetes_feature_enabled on /metrics`; or why they are not there."""


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """One cluster of the run: what it is made of, what it can do, where it is unlike a default one."""

    name: str
    components: tuple[ComponentInfo, ...] = ()
    capabilities: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    """Differences from a default cluster that a reader must know, one sentence each."""


LEGAL: Final = "it is legal"
"""Why a hazard that a check found fails nobody."""


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """What one of hintbound's own checks did in the run, in all scenarios whose record was whole."""

    name: str
    judged: int
    """Lives that had in them what its sentence speaks of."""
    found: int = 0
    """Where its sentence was broken and that failed a scenario."""
    excused: Mapping[str, int] = field(default_factory=dict)
    """Where it was broken and failed nobody, by the reason why not."""


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """What was said beforehand of a failure: by a vendor, in the file given with `--xfails`, or by the
    catalogue, which calls a behaviour provisional."""

    reason: str
    expires: str = ""
    """The last day on which it is expected: `2027-01-31`; empty for ever."""
    issue: str = ""
    """The address of where it is worked on; may be empty."""
    where: str = ""
    """`FILE:LINE` of the entry."""

    def __str__(self) -> str:
        """For reports: `expected until 2027-01-31: REASON (ISSUE)`."""
        until = f" until {self.expires}" if self.expires else ""
        return f"expected{until}: {self.reason}{f' ({self.issue})' if self.issue else ''}"


PROVISIONAL: Final = ExpectedFailure("the behaviour is provisional, upstream may still change it")
"""Of a provisional behaviour that fails: it is told, and no run fails by it. It applies only behind a gate
that is off by default, so nobody's conformance hangs on what upstream has not promised."""


@dataclass(frozen=True, slots=True)
class SubjectInfo:
    """The vendor's program that was judged, as its subject.yaml declares it."""

    name: str
    kind: str
    file: str
    scheduler_name: str = ""
    command: tuple[str, ...] = ()
    kubernetes_version: str = ""
    gates: Mapping[str, bool] | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one behaviour came to."""

    behaviour: str
    """Its id, e.g. `NNN-HINT-TAKEN`."""
    must: str
    level: Level
    verdict: Verdict
    reason: str = ""
    """Why it failed, was not judged or does not apply; empty for a pass."""
    why: str = ""
    source: str = ""
    applies: str = ""
    file: str = ""
    """Relative node id of the test."""
    severity: Severity | None = None
    duration_seconds: Seconds = 0.0
    test: str = ""
    namespace: str = ""
    cluster: str = ""
    evidence: tuple[str, ...] = ()
    """Short lines: who, which pod, which version, what was awaited, what came instead."""
    own_components: tuple[str, ...] = ()
    """Components that it had of its own: version, and the gates in which they differ from the cluster's."""
    repro: str = ""
    """The command that runs this behaviour again."""
    affects: tuple[str, ...] = ()
    """Whom it concerns, e.g. `nominator`."""
    advice: str = ""
    """What they do where the sentence holds."""
    provisional: bool = False
    """Upstream may still change what it is about."""
    expected: ExpectedFailure | None = None
    """A failure that was expected: it stays a failure, and does not make the run fail."""
    elsewhere: bool = False
    """Skipped because it is about what this cluster has none of, such as kubelets: it is judged on clusters
    that have, and no profile of this one is less proven without."""

    @property
    def counted(self) -> Verdict:
        """What it counts as in the verdict of a run."""
        return Verdict.PASS if self.expected else self.verdict

    @property
    def shown(self) -> str:
        """How reports name what it came to: its verdict, or that its failure was expected."""
        return EXPECTED_FAIL if self.expected else self.verdict


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many behaviours came to which verdict."""

    passed: int = 0
    failed: int = 0
    unknown: int = 0
    skipped: int = 0
    not_supported: int = 0
    expected: int = 0
    """Failures that were expected; `failed` are the others."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Statistics:
        """Count."""
        counts = Counter(outcome.shown for outcome in outcomes)
        return cls(*(counts[verdict] for verdict in _COUNTED))

    def items(self) -> list[tuple[str, int]]:
        """Every verdict with its count, also zero, in a fixed order."""
        numbers = (self.passed, self.failed, self.unknown, self.skipped, self.not_supported, self.expected)
        return list(zip(_COUNTED, numbers, strict=True))


EXPECTED_FAIL: Final = "expected-fail"
"""How reports name a failure that was expected, where all others name a verdict."""
_COUNTED: Final[tuple[str, ...]] = (
    Verdict.PASS,
    Verdict.FAIL,
    Verdict.UNKNOWN,
    Verdict.SKIP,
    Verdict.NOT_SUPPORTED,
    EXPECTED_FAIL,
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `verdict` was decided by whoever ran it; no writer changes it."""

    id: str
    suite_version: str
    started: str
    """RFC 3339, UTC."""
    cluster_spec: str
    profile: Profile
    verdict: Verdict
    reason: str = ""
    """Why the run did not come to its proper end (interrupted, still running); empty for one that did."""
    finished: str = ""
    duration_seconds: Seconds = 0.0
    provider: str = ""
    subject: SubjectInfo | None = None
    """None: Kubernetes' own scheduler."""
    jobs: int = 1
    extensions: tuple[str, ...] = ()
    """What installed packages added to it, e.g. `check acme-hints of acme-hintbound 0.1.0`."""
    seed: int | None = None
    mutant: str = ""
    """How the control plane was made to break the protocol; empty where it was not."""
    command: tuple[str, ...] = ()
    """The command line that runs the same again, word by word."""
    selection: tuple[str, ...] = ()
    """Paths or behaviours that the run was limited to; such a run proves no profile."""
    python: str = ""
    platform: str = ""
    clusters: tuple[ClusterInfo, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    checks: tuple[CheckInfo, ...] = ()
    notes: tuple[str, ...] = ()
    """Warnings that belong to the run as a whole."""

    def of_level(self, level: Level) -> tuple[Outcome, ...]:
        """The outcomes of one level, in the order of the run."""
        return tuple(outcome for outcome in self.outcomes if outcome.level is level)

    @property
    def whole(self) -> bool:
        """Whether it came to its end and was not limited to a selection: only then it can prove a profile."""
        return bool(self.finished) and not self.reason and not self.selection

    def result(self, level: Level) -> ProfileResult:
        """What one level came to; a run that is not whole proves at most a part."""
        result = profile_result(self.of_level(level))
        return result if self.whole or result is ProfileResult.FAILURE else ProfileResult.PARTIAL

    def why_partial(self, level: Level) -> str:
        """What keeps a level from success though nothing failed; empty for one that is not partial."""
        if self.result(level) is not ProfileResult.PARTIAL:
            return ""
        if self.selection:
            return "the run was limited to a selection, and a selection proves no profile"
        if not self.whole:
            return "the run did not come to its end"
        outcomes = self.of_level(level)
        if not any(map(_counts, outcomes)):
            return "nothing was judged"
        missing = (Verdict.SKIP, Verdict.UNKNOWN)
        unproven = any(outcome.verdict in missing and not outcome.elsewhere for outcome in outcomes)
        why = ["what failed is not conformant, expected or not"] if any(o.expected for o in outcomes) else []
        return "; ".join(
            [*why, *(["what was skipped or could not be judged is not proven"] if unproven else [])]
        )

    def components(self) -> list[tuple[ClusterInfo, ComponentInfo]]:
        """Every component of every cluster."""
        return [(cluster, component) for cluster in self.clusters for component in cluster.components]

    def to_json(self) -> dict[str, Any]:
        """As `run.json` keeps it: the verdict stands near the top, so that `head` shows it."""
        head = {"format": FORMAT, "id": self.id, "verdict": str(self.verdict), "reason": self.reason}
        return head | {key: value for key, value in _plain(self).items() if key not in head}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Run:
        """Read it back.

        Raises:
            CannotStart: it is not the record of a run, or one that this version cannot read.
        """
        if record.get("format") != FORMAT:
            raise CannotStart(
                f"it cannot be read: its format is {record.get('format')!r}, not {FORMAT!r}.",
                next_step="Read it with the hintbound that wrote it (suiteVersion in the file).",
            )
        try:
            return _run(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CannotStart(
                f"it is damaged: {type(error).__name__}: {error}.",
                next_step="Run again, or use another copy.",
            ) from error


def run_verdict(outcomes: Sequence[Outcome]) -> Verdict:
    """The verdict of a run that came to its end: fail > unknown > pass; nothing judged is unknown.

    A failure that was expected counts as a pass; that the run is not conformant all the same is said by
    `profile_result`.
    """
    return worst(outcome.counted for outcome in outcomes)


def profile_result(outcomes: Sequence[Outcome]) -> ProfileResult:
    """What the behaviours of one level came to together.

    One skipped or unjudged behaviour, or one whose failure was expected, makes it partial, and so does having
    judged none; a behaviour that does not apply to these versions and gates does not count, nor one about
    what the cluster has none of.
    """
    verdicts = [outcome.verdict for outcome in outcomes if _counts(outcome)]
    if any(outcome.counted is Verdict.FAIL for outcome in outcomes):
        return ProfileResult.FAILURE
    if verdicts and all(verdict is Verdict.PASS for verdict in verdicts):
        return ProfileResult.SUCCESS
    return ProfileResult.PARTIAL


def _counts(outcome: Outcome) -> bool:
    """Whether a profile hangs on it."""
    return outcome.verdict is not Verdict.NOT_SUPPORTED and not outcome.elsewhere


def _plain(value: Any) -> Any:
    """Dataclasses to JSON, field names in camelCase as Kubernetes has them."""
    if hasattr(value, "__dataclass_fields__"):
        return {_camel(name): _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, StrEnum):
        return str(value)
    return dict(value) if isinstance(value, Mapping) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _fields(kind: type, record: Mapping[str, Any]) -> dict[str, Any]:
    """The known fields of a record; lists become tuples. Unknown ones are from a later version."""
    names = {_camel(name): name for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]
    return {
        names[key]: tuple(value) if isinstance(value, list) else value
        for key, value in record.items()
        if key in names
    }


def _run(record: Mapping[str, Any]) -> Run:
    values = _fields(Run, record)
    values["verdict"] = Verdict(record["verdict"])
    values["profile"] = Profile(record["profile"])
    if record.get("subject"):
        values["subject"] = SubjectInfo(**_fields(SubjectInfo, record["subject"]))
    values["clusters"] = tuple(map(_cluster, record.get("clusters", ())))
    values["outcomes"] = tuple(map(_outcome, record.get("outcomes", ())))
    values["checks"] = tuple(CheckInfo(**_fields(CheckInfo, check)) for check in record.get("checks", ()))
    return Run(**values)


def _cluster(record: Mapping[str, Any]) -> ClusterInfo:
    values = _fields(ClusterInfo, record)
    values["components"] = tuple(
        ComponentInfo(**_fields(ComponentInfo, c)) for c in record.get("components", ())
    )
    return ClusterInfo(**values)


def _outcome(record: Mapping[str, Any]) -> Outcome:
    values = _fields(Outcome, record)
    values["verdict"] = Verdict(record["verdict"])
    values["level"] = Level(record["level"])
    if record.get("severity"):
        values["severity"] = Severity(record["severity"])
    if record.get("expected"):
        values["expected"] = ExpectedFailure(**_fields(ExpectedFailure, record["expected"]))
    return Outcome(**values)
