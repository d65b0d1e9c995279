"""The versions that are pinned: `controlplane/<version>/{go.mod,go.sum}`, and how each becomes programs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hintbound import data
from hintbound.assets import given
from hintbound.errors import CannotStart, one_of
from hintbound.protocol import ComponentKind

DEFAULT_VERSION: Final = "1.35"
"""What runs when nobody chose: the first minor with both gates on by default."""

CONTROL_PLANE: Final = (ComponentKind.APISERVER, ComponentKind.CONTROLLER_MANAGER, ComponentKind.SCHEDULER)
NODE: Final = ("kubelet", "kubeadm", "kubectl")
"""What a kind node has beside them."""
FLAGS: Final = ("-trimpath", "-buildvcs=false")
FAULTY_SCHEDULER: Final = "faulty-scheduler"
KUBERNETES_NODE: Final = "kubernetes-node"
PER_VERSION: Final = ("kubernetes", KUBERNETES_NODE, FAULTY_SCHEDULER)
"""Names of pins of which there is one for each Kubernetes version."""
_SMALL: Final = ("-s", "-w")
_RECIPE: Final = "1"
"""Raise it when the way of building changes: entries of the old way are then made anew."""
_EXACT: Final = re.compile(r"\d+\.\d+\.\d+")
_OLDEST_TAG: Final = 34
"""The first minor that has a build tag: what lacks it is older."""
_VERSION_VARIABLES: Final = "k8s.io/component-base/version"


@dataclass(frozen=True, slots=True)
class Pin:
    """One thing to build from one go.mod. `programs` maps the name of each program to its Go package."""

    name: str
    version: str
    folder: Path
    programs: Mapping[str, str]
    ldflags: tuple[str, ...]
    sources: tuple[Path, ...] = ()
    """Go files of ours that are built in the pin's module, as the package `.`."""
    tags: tuple[str, ...] = ()
    """Go build tags."""

    @property
    def is_kubernetes(self) -> bool:
        """Whether there is an official release to download its programs from."""
        return self.name.partition("-")[0] == "kubernetes"

    @property
    def title(self) -> str:
        """How people call it."""
        return f"{self.name.capitalize() if self.is_kubernetes else self.name} {self.version}"

    @property
    def go(self) -> str:
        """The oldest Go that builds it."""
        return go_line(self.folder / "go.mod")

    @property
    def build(self) -> str:
        """A digest of all that decides what comes out.

        Go's own version is left out on purpose: any Go from the pin's `go` line on gives the same behaviour
        (the `godebug` line sees to that), and a Go update must not cost minutes.
        """
        digest = hashlib.sha256()
        recipe = [_RECIPE, *FLAGS, *self.ldflags, *(f"{name}={of}" for name, of in self.programs.items())]
        recipe += [*self.tags, *(path.name for path in self.sources)]
        for part in (
            json.dumps(recipe).encode(),
            *((self.folder / name).read_bytes() for name in ("go.mod", "go.sum")),
            *(path.read_bytes() for path in self.sources),
        ):
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()


def versions() -> list[str]:
    """The pinned Kubernetes versions, oldest first."""
    return sorted(
        (
            entry.name
            for entry in _root().iterdir()
            if _EXACT.fullmatch(entry.name) and (entry / "go.mod").is_file()
        ),
        key=order,
    )


def resolve_version(text: str) -> str:
    """The exact version meant by `1.35.4`, `1.35` (its newest pin) or `latest`. Raises CannotStart."""
    pinned = versions()
    wanted = text.strip().removeprefix("v")
    if wanted == "latest":
        return pinned[-1]
    if wanted in pinned or wanted in given.versions():
        return wanted
    of_minor = [version for version in pinned if version.rpartition(".")[0] == wanted]
    if of_minor:
        return of_minor[-1]
    error = one_of("Kubernetes version", text, sorted({*pinned, *given.versions()}, key=order))
    if _EXACT.fullmatch(wanted) and data.checkout():
        error.next_step += f" `hintbound assets pin {wanted}` adds it."
    raise error


def kubernetes(version: str) -> Pin:
    """The pin of an exact version, which must be one of `versions()`."""
    return Pin(
        name="kubernetes",
        version=version,
        folder=_root() / version,
        programs={str(kind): f"k8s.io/kubernetes/cmd/{kind}" for kind in CONTROL_PLANE},
        ldflags=version_ldflags(f"v{version}", tree="clean"),
    )


def faulty_scheduler(version: str) -> Pin:
    """kube-scheduler of an exact version, which must be one of `versions()`, with the plugin that fails on
    demand: `subjects/faulty-scheduler`, built from that version's pin."""
    minor = order(version)[1]
    return Pin(
        name=FAULTY_SCHEDULER,
        version=version,
        folder=_root() / version,
        programs={FAULTY_SCHEDULER: "."},
        ldflags=version_ldflags(f"v{version}", tree="clean"),
        sources=tuple(sorted((_folder("subjects") / FAULTY_SCHEDULER).glob("*.go"))),
        # As Go's own go1.N: true from that minor on, so that a file can say for which it is.
        tags=tuple(f"kubernetes1.{known}" for known in range(_OLDEST_TAG, minor + 1)),
    )


def older_minor(version: str) -> str:
    """The newest pinned version of the minor before, which Kubernetes' skew policy allows beside it.

    Raises CannotStart.
    """
    major, minor, *_ = order(version)
    return resolve_version(f"{major}.{minor - 1}")


def node(version: str) -> Pin:
    """What a kind node of an exact version needs beside its control plane."""
    return replace(
        kubernetes(version),
        name=KUBERNETES_NODE,
        programs={name: f"k8s.io/kubernetes/cmd/{name}" for name in NODE},
    )


def kind() -> Pin:
    """The pinned kind."""
    return _single("kind", folder="kind", module="sigs.k8s.io/kind", package="sigs.k8s.io/kind")


def etcd() -> Pin:
    """The pinned etcd."""
    return _single(
        "etcd", folder="etcd", module="go.etcd.io/etcd/server/v3", package="go.etcd.io/etcd/server/v3"
    )


def kwok() -> Pin:
    """The pinned KWOK controller."""
    return _single("kwok", folder="kwok", module="sigs.k8s.io/kwok", package="sigs.k8s.io/kwok/cmd/kwok")


def kwokctl() -> Pin:
    """The pinned kwokctl: only the benchmarks' yardstick."""
    return _single(
        "kwokctl", folder="kwok", module="sigs.k8s.io/kwok", package="sigs.k8s.io/kwok/cmd/kwokctl"
    )


def everything() -> Iterable[Pin]:
    """Every pin there is."""
    for version in versions():
        yield from (kubernetes(version), faulty_scheduler(version), node(version))
    yield from (etcd(), kwok(), kwokctl(), kind())


def version_ldflags(version: str, *, tree: str, commit: str = "") -> tuple[str, ...]:
    """Linker flags that make Kubernetes programs report `version` (`v1.35.4`), as upstream's build does."""
    major, minor = re.match(r"v(\d+)\.(\d+)", version).groups()  # type: ignore[union-attr]
    inexact = "" if _EXACT.fullmatch(version.removeprefix("v")) else "+"
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor + inexact, "gitTreeState": tree}
    if commit:
        values["gitCommit"] = commit
    return (*_SMALL, *(f"-X {_VERSION_VARIABLES}.{name}={value}" for name, value in values.items()))


def go_line(go_mod: Path) -> str:
    """The oldest Go that a go.mod accepts, e.g. `1.25.0`."""
    match = re.search(r"^go (\d+\.\d+(?:\.\d+)?)", go_mod.read_text(), re.MULTILINE)
    if match is None:
        raise CannotStart(
            f"{go_mod} has no `go` line.", next_step="Restore it from git, or reinstall hintbound."
        )
    return match[1]


def order(version: str) -> tuple[int, ...]:
    """Sorts versions as numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _single(name: str, *, folder: str, module: str, package: str) -> Pin:
    path = _root() / folder
    found = re.search(
        rf"^\s*(?:require )?{re.escape(module)} v(\S+)", (path / "go.mod").read_text(), re.MULTILINE
    )
    if found is None:
        raise CannotStart(f"{path / 'go.mod'} does not require {module}.", next_step="Restore it from git.")
    return Pin(name=name, version=found[1], folder=path, programs={name: package}, ldflags=_SMALL)


def _root() -> Path:
    return _folder("controlplane")


def _folder(name: str) -> Path:
    try:
        return data.folder(name)
    except FileNotFoundError as error:
        raise CannotStart(f"{error}.") from error
