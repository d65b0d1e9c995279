"""What a run came to: one result model, the folder it lands in, and the writers that read it."""

from hintbound.report.folder import RunFolder
from hintbound.report.model import (
    CheckInfo,
    ClusterInfo,
    ComponentInfo,
    ExpectedFailure,
    Outcome,
    ProfileResult,
    Run,
    Statistics,
    SubjectInfo,
    profile_result,
    run_verdict,
)
from hintbound.report.writers import write_all

__all__ = [
    "CheckInfo",
    "ClusterInfo",
    "ComponentInfo",
    "ExpectedFailure",
    "Outcome",
    "ProfileResult",
    "Run",
    "RunFolder",
    "Statistics",
    "SubjectInfo",
    "profile_result",
    "run_verdict",
    "write_all",
]
