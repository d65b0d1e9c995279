"""A vendor's scheduler as a component: whether it can be started here, and by which command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hintbound.clusters.embedded.component import answers
from hintbound.clusters.embedded.components import Tuning
from hintbound.clusters.embedded.credentials import Credentials
from hintbound.clusters.embedded.process import Ready
from hintbound.clusters.protocol import SchedulerSpec
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart
from hintbound.kube.client import Client
from hintbound.protocol import ComponentKind
from hintbound.subjects import Subject


def startable(subject: Subject, spec: ClusterSpec) -> None:
    """Raises CannotStart for a subject that cannot be started here, or not as the SPEC wants it."""
    if not subject.command:
        raise CannotStart(
            f"{subject.file}: {subject.name} has no spec.command, so no embedded cluster can start it.",
            next_step="Add one, or judge it where it runs: --cluster existing:CONTEXT.",
        )
    if (gates := spec.component_gates.get(ComponentKind.SCHEDULER)) and not subject.takes("gates"):
        raise CannotStart(
            f"{subject.command_at}: {subject.name} cannot be given {', '.join(sorted(gates))}.",
            next_step="Take {gates} in spec.command, or leave kube-scheduler's gates out of the SPEC.",
        )
    subject.program()


def can_be(subject: Subject, spec: SchedulerSpec) -> None:
    """Raises CannotStart when the subject cannot be told what a scenario wants of its scheduler."""
    wishes = {"config": spec.config, "gates": spec.gates, "emulatedVersion": spec.emulate}
    for placeholder, wish in wishes.items():
        if wish and not subject.takes(placeholder):
            raise CannotStart(
                f"{subject.command_at}: {subject.name} cannot be given {wish!r}.",
                next_step=f"Take {{{placeholder}}} in spec.command.",
            )


def command(
    subject: Subject,
    scheduler_name: str,
    tuning: Tuning,
    credentials: Credentials,
    *,
    kubeconfig: Path,
    config: Path,
    port: int | None,
    kube_scheduler: Path,
) -> list[str]:
    """The command line, every placeholder filled in. Raises CannotStart."""
    values: Mapping[str, object] = {
        "folder": subject.file.parent,
        "schedulerName": scheduler_name,
        "kubeconfig": kubeconfig,
        "config": config,
        "gates": tuning.gates_text(),
        "emulatedVersion": tuning.emulated or "",
        "port": port or "",
        "certFile": credentials.serving.cert,
        "keyFile": credentials.serving.key,
        "caFile": credentials.ca,
        "kubeScheduler": kube_scheduler,
    }
    return subject.arguments({name: str(value) for name, value in values.items()})


def ready(subject: Subject, client: Client | None, besides: Sequence[Ready]) -> Ready:
    """Asks the subject where it serves a port, then what else it must bring about; a subject that neither
    serves nor must is ready when it runs."""
    questions = [*([answers(client, subject.ready_path)] if client else []), *besides]

    async def ask() -> bool:
        for question in questions:
            if not await question():
                return False
        return True

    return ask
