"""Gets what a few capabilities need beyond the cluster's own programs, or tells why they are not there."""

from __future__ import annotations

from collections.abc import Collection

from hintbound import assets
from hintbound.clusters.protocol import Capability, Extras
from hintbound.errors import CannotStart
from hintbound.subjects import Subject

ON_DEMAND = frozenset({Capability.FAULTY_SCHEDULER, Capability.OLDER_MINOR})
"""Offered only to a run that needs them: they cost a build, or programs of a further version."""


def gather(version: str, needs: Collection[Capability], subject: Subject | None = None) -> Extras:
    """For a cluster of this version. May build for a minute, so call it before an event loop runs.

    What only kube-schedulers of our own can play is not got for a subject.

    What cannot be got leaves its behaviours unplayed, and refuses no run.
    """
    lacking: dict[Capability, str] = {}
    if subject:
        needs = frozenset(needs) - ON_DEMAND
        if not (subject.takes("schedulerName") or subject.takes("config")):
            lacking[Capability.OWN_SCHEDULER] = (
                f"{subject.name} serves one schedulerName only: its command takes neither {{schedulerName}} "
                "nor {config}"
            )
    faulty, older = None, ""
    if Capability.FAULTY_SCHEDULER in needs:
        try:
            faulty = assets.faulty_scheduler(version)
        except CannotStart as error:
            lacking[Capability.FAULTY_SCHEDULER] = _one_line(error)
    if Capability.OLDER_MINOR in needs:
        try:
            older = _at_hand(assets.older_minor(version))
        except CannotStart as error:
            lacking[Capability.OLDER_MINOR] = _one_line(error)
    return Extras(faulty, older, lacking)


def _at_hand(version: str) -> str:
    """The version itself, if it need not be downloaded or built: nobody asked for that one."""
    if assets.at_hand(version) is None:
        raise CannotStart(
            f"Kubernetes {version} is not at hand.", next_step=f"Get it: hintbound assets fetch {version}."
        )
    return version


def _one_line(error: CannotStart) -> str:
    return " ".join(str(error).split())
