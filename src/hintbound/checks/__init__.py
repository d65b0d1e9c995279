"""Checks: pure functions over what was recorded, that find where a sentence is broken."""

from hintbound.checks.model import Check, Context, Proof, Violation, check
from hintbound.checks.registry import ChecksFailed, Finding, Registered, judge, load, registered

__all__ = [
    "Check",
    "ChecksFailed",
    "Context",
    "Finding",
    "Proof",
    "Registered",
    "Violation",
    "check",
    "judge",
    "load",
    "registered",
]
