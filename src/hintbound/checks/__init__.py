"""Checks: pure functions over what was recorded, that find where a sentence is broken."""

from hintbound.checks.model import Check, Context, Proof, Unknown, Violation, check, check_life
from hintbound.checks.registry import ChecksFailed, Finding, Registered, judge, load, registered

__all__ = [
    "Check",
    "ChecksFailed",
    "Context",
    "Finding",
    "Proof",
    "Registered",
    "Unknown",
    "Violation",
    "check",
    "check_life",
    "judge",
    "load",
    "registered",
]
