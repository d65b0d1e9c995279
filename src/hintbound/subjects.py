"""Whom a run judges when it is not Kubernetes' own scheduler: `subject.yaml`, kept by its vendor.

A reader finds all keys in docs/vendors.md. What is wrong in the file is told with its line, before any
cluster is started.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hintbound import data
from hintbound.data import documents
from hintbound.data.documents import Part
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind, Feature

FILE: Final = "subject.yaml"
API_VERSION: Final = "hintbound.dev/v1alpha1"
SCHEDULER: Final = "Scheduler"
SUITES: Final = {SCHEDULER: "scheduler"}
"""By kind: the part of the suites that is about it."""
DEFAULT_READY_PATH: Final = "/healthz"

PLACEHOLDERS: Final = {
    "folder": "the folder of subject.yaml",
    "schedulerName": "the schedulerName to serve: yours, or that of one scenario",
    "kubeconfig": "the path of a kubeconfig for the user system:kube-scheduler",
    "config": "the path of a KubeSchedulerConfiguration with that schedulerName and kubeconfig",
    "gates": "feature gates, as A=true,B=false; its argument is left out when there are none",
    "emulatedVersion": "the Kubernetes minor to emulate; its argument is left out when there is none",
    "port": "the port on 127.0.0.1 to serve /healthz and /metrics on, by https",
    "certFile": "the path of the certificate to serve with",
    "keyFile": "the path of its key",
    "caFile": "the path of the CA whose clients may ask",
    "kubeScheduler": "the path of the kube-scheduler of the cluster's Kubernetes version",
}
"""What a command may name in braces, and what stands there then."""

_OF_PROGRAM: Final = frozenset({"folder", "kubeScheduler"})
"""What may stand in the first word of a command: the others are no part of a program's path."""
_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z]+)\}")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_VERSION: Final = re.compile(r"1\.\d{1,2}(\.\d{1,2})?")
_PATH: Final = re.compile(r"/[-\w./]*")
_GATE: Final = re.compile(r"[A-Z][A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Subject:
    """A vendor's scheduler, as its subject.yaml describes it."""

    kind: str
    name: str
    file: Path
    """Absolute."""
    scheduler_name: str
    command: tuple[str, ...] = ()
    """As it is written; empty for one that runs elsewhere."""
    command_at: str = ""
    """`file:line` of its first word."""
    ready_path: str = DEFAULT_READY_PATH
    kubernetes_version: str = ""
    """Whose behaviour it claims."""
    gates: Mapping[str, bool] | None = None
    """By which gates of Kubernetes it behaves, as it claims; None when it claims nothing."""
    features: frozenset[Feature] = frozenset()

    def takes(self, placeholder: str) -> bool:
        """Whether its command has this placeholder."""
        return any(f"{{{placeholder}}}" in word for word in self.command)

    def program(self) -> str:
        """What is started: found in PATH, or from the file's folder when it is a path.

        Raises CannotStart: it is not there, or may not be executed.
        """
        word = self.command[0].replace("{folder}", str(self.file.parent))
        if "{" in word:
            return word
        if os.sep not in word:
            found, near = shutil.which(word), self.file.parent / word
            if found is None:
                step = f"Write ./{word} for the one beside the file." if near.is_file() else "Install it."
                raise CannotStart(f"{self.command_at}: no program {word!r} in PATH.", next_step=step)
            return found
        path = self.file.parent / word
        if not path.is_file():
            raise CannotStart(
                f"{self.command_at}: no program {path}.", next_step="Build it, or mend the path."
            )
        if not os.access(path, os.X_OK):
            raise CannotStart(f"{self.command_at}: {path} may not be executed.", next_step="chmod +x it.")
        return str(path)

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """Its command with these values; an argument that names one that is empty is left out.

        Raises CannotStart as `program` does.
        """
        words = (self.program(), *self.command[1:])
        named = [(word, _PLACEHOLDER.findall(word)) for word in words]
        return [
            _PLACEHOLDER.sub(lambda found: values[found[1]], word)
            for word, names in named
            if all(values[name] for name in names)
        ]


def read(path: Path) -> Subject:
    """Read `subject.yaml`, given itself or its folder, here or in hintbound's own `subjects/`.

    Raises CannotStart, with file and line, for what is not as it must be.
    """
    whole = documents.read(_find(path))
    parts = whole.fields(required=["apiVersion", "kind", "metadata", "spec"])
    _one_of(parts["apiVersion"], [API_VERSION])
    kind = _one_of(parts["kind"], list(SUITES))
    spec = parts["spec"].fields(
        required=["schedulerName"],
        optional=["command", "readyPath", "kubernetesVersion", "gates", "features"],
    )
    subject = Subject(
        kind=kind,
        name=_name(parts["metadata"].fields(required=["name"])["name"]),
        file=whole.file.absolute(),
        scheduler_name=_matching(spec["schedulerName"], _NAME, "my-scheduler"),
        command=_command(spec["command"]) if "command" in spec else (),
        command_at=f"{whole.file}:{spec['command'].line}" if "command" in spec else "",
        ready_path=_matching(spec["readyPath"], _PATH, "/readyz")
        if "readyPath" in spec
        else DEFAULT_READY_PATH,
        kubernetes_version=(
            _matching(spec["kubernetesVersion"], _VERSION, "1.35") if "kubernetesVersion" in spec else ""
        ),
        gates=_gates(spec["gates"]) if "gates" in spec else None,
        features=_features(spec["features"]) if "features" in spec else frozenset(),
    )
    if subject.command:
        _agree(subject, spec)
    return subject


def shown(file: Path) -> str:
    """How a reader finds a subject's file: below `subjects/` where it is one of ours, else from here."""
    full, ours = file.resolve(), _ours()
    for root, below in ((ours, ours.parent), (Path.cwd(), Path.cwd())):
        if full.is_relative_to(root):
            return str(full.relative_to(below))
    return str(full)


def named(file: Path) -> str:
    """How a command names a subject's file wherever it is called."""
    full = file.resolve()
    return shown(file) if full.is_relative_to(_ours()) else str(full)


def _ours() -> Path:
    return data.folder("subjects").resolve()


def _find(path: Path) -> Path:
    """A path as the user means it: as it stands, or one of our own by its name."""
    for candidate in (path, _ours() / path, _ours().parent / path):
        if os.path.isdir(candidate):  # pathlib raises for a name that is too long, or holds a NUL
            return candidate / FILE
        if os.path.exists(candidate):
            return candidate
    return path


def _one_of(part: Part, known: Sequence[str]) -> str:
    if (text := part.text()) not in known:
        raise part.none_of(part.name, text, known)
    return text


def _matching(part: Part, pattern: re.Pattern[str], like: str) -> str:
    if not pattern.fullmatch(text := part.text()):
        raise part.wrong(f"{part.name} cannot be {text!r}.", next_step=f"Write it as {like}.")
    return text


def _name(part: Part) -> str:
    name = _matching(part, _NAME, "my-scheduler")
    if name in set(ComponentKind) - {ComponentKind.SCHEDULER}:
        raise part.wrong(f"{name} is another part of the control plane.", next_step="Choose another name.")
    return name


def _command(part: Part) -> tuple[str, ...]:
    words = part.items()
    if not words:
        raise part.wrong(f"{part.name} is empty.", next_step="Name a program, or remove it.")
    for word in words:
        for name in _PLACEHOLDER.findall(word.text()):
            if name not in PLACEHOLDERS:
                raise word.none_of("placeholder", f"{{{name}}}", [f"{{{known}}}" for known in PLACEHOLDERS])
    for name in _PLACEHOLDER.findall(words[0].text()):
        if name not in _OF_PROGRAM:
            raise words[0].wrong(
                f"no program is called {{{name}}}.", next_step="Name the program first, then its arguments."
            )
    return tuple(word.text() for word in words)


def _gates(part: Part) -> dict[str, bool]:
    gates = part.entries()
    for name, gate in gates.items():
        if not _GATE.fullmatch(name):
            raise gate.wrong(
                f"{name!r} is no feature gate.",
                next_step="Write gates as Kubernetes spells them: NominatedNodeNameForExpectation: true.",
            )
    return {name: gate.boolean() for name, gate in gates.items()}


def _features(part: Part) -> frozenset[Feature]:
    known = [str(feature) for feature in Feature]
    words = part.items()
    for word in words:
        if word.text() not in known:
            raise word.none_of("feature", word.text(), known)
    return frozenset(Feature(word.text()) for word in words)


_THROUGH: Final = {
    Feature.METRICS: "port",
    Feature.CONFIGURATION_FILE: "config",
    Feature.FEATURE_GATES: "gates",
}
"""What a feature comes by: without it in the command nobody could use it."""


def _agree(subject: Subject, spec: Mapping[str, Part]) -> None:
    """See that what it declares can reach it."""
    for feature, placeholder in _THROUGH.items():
        if feature in subject.features and not subject.takes(placeholder):
            line = next(word for word in spec["features"].items() if word.text() == feature)
            raise line.wrong(
                f"the feature {feature} needs {{{placeholder}}} in spec.command.",
                next_step="Hand it over there, or do not declare the feature.",
            )
    if "readyPath" in spec and not subject.takes("port"):
        raise spec["readyPath"].wrong(
            "spec.readyPath is asked on {port}, which spec.command does not take.",
            next_step="Remove it, or take it.",
        )
