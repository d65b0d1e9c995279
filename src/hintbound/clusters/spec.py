"""Reads `--cluster SPEC`: `PROVIDER[:TARGET][,key=value…]`.

* `embedded`: the default version
* `embedded:1.34,NominatedNodeNameForExpectation=true`
* `embedded:1.35,@clearing-only`: a set of gates by name, see gatesets.py; single gates win over it
* `embedded:1.37,emulate=1.35`: a newer binary that behaves by an older table of gates
* `embedded:1.35,kube-scheduler.SchedulerAsyncAPICalls=true`: a gate for one component only
* `embedded:src=DIR`: builds a Kubernetes checkout
* `kind:CONFIG.yaml`, `kind:CONFIG.yaml,image=TAG`: a kind cluster, with another node image than the config's
* `kind:cluster=NAME`: a kind cluster that runs already
* `existing:CONTEXT`: a context of your kubeconfig
* `NAME:ANYTHING`: a provider that an installed package brings; what follows its name is for it to read
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hintbound.clusters.gatesets import GATE_SETS
from hintbound.errors import CannotStart, one_of
from hintbound.extensions import Group, named
from hintbound.protocol import ComponentKind

PROVIDERS = ("embedded", "kind", "existing")
_GATE = re.compile(r"[A-Z][A-Za-z0-9]+")
_MINOR = re.compile(r"1\.\d{1,2}")
_GATED = (ComponentKind.APISERVER, ComponentKind.CONTROLLER_MANAGER, ComponentKind.SCHEDULER)
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A parsed SPEC. `str()` gives it back in a canonical form."""

    provider: str
    target: str = ""
    """The version for embedded, the config file for kind, the context for existing, all that follows the name
    for a package's own."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    """For every component."""
    component_gates: Mapping[ComponentKind, Mapping[str, bool]] = field(default_factory=dict)
    """On top of `gates`, for one kind."""
    emulate: str | None = None
    src: Path | None = None
    image: str | None = None
    """The node image for kind; None for those that its config names."""
    cluster: str | None = None
    """The name of a kind cluster that runs already."""

    @property
    def is_there(self) -> bool:
        """Whether it means a cluster that is there once, and not one to be made."""
        return self.provider == "existing" or self.cluster is not None

    def gates_of(self, kind: ComponentKind) -> dict[str, bool]:
        """The gates to set on a component of this kind."""
        return {**self.gates, **self.component_gates.get(kind, {})}

    def __str__(self) -> str:
        options = [f"{gate}={str(on).lower()}" for gate, on in sorted(self.gates.items())]
        for kind, gates in sorted(self.component_gates.items()):
            options += [f"{kind}.{gate}={str(on).lower()}" for gate, on in sorted(gates.items())]
        options += [f"emulate={self.emulate}"] if self.emulate else []
        options += [f"src={self.src}"] if self.src else []
        options += [f"image={self.image}"] if self.image else []
        options += [f"cluster={self.cluster}"] if self.cluster else []
        parts = [part for part in (self.target, *options) if part]
        return ":".join([self.provider, ",".join(parts)] if parts else [self.provider])


def parse(text: str) -> ClusterSpec:
    """Read a SPEC. Raises CannotStart naming the part that is wrong and what it may be."""
    provider, rest = _split(text.strip())
    if provider not in PROVIDERS:
        return ClusterSpec(named(Group.CLUSTERS, provider, besides=PROVIDERS).name, rest.lstrip(","))
    target = ""
    options: dict[str, str] = {}
    by_set: dict[str, bool] = {}
    for index, part in enumerate(part.strip() for part in rest.split(",")):
        key, equals, value = part.partition("=")
        if not part:
            continue
        if part.startswith("@"):
            if part[1:] not in GATE_SETS:
                raise one_of("gate set", part, [f"@{name}" for name in GATE_SETS])
            by_set.update(GATE_SETS[part[1:]].gates)
        elif not equals and index == 0:
            target = part
        elif not equals:
            raise CannotStart(
                f"{part!r} in cluster {text!r} has no value.", next_step="Write it as key=value."
            )
        elif key in options:
            raise CannotStart(f"{key!r} stands twice in cluster {text!r}.", next_step="Keep one of them.")
        else:
            options[key] = value
    if provider == "existing":
        return _existing(text, target, {**dict.fromkeys(by_set, ""), **options})
    if provider == "kind":
        return _kind(text, target, {**dict.fromkeys(by_set, ""), **options})
    return _embedded(text, target, by_set, options)


def _split(text: str) -> tuple[str, str]:
    """The provider and what follows it: `embedded:1.35,Gate=true` and `embedded,Gate=true` alike."""
    found = re.fullmatch(r"([^:,]*)([:,]?)(.*)", text, re.DOTALL)
    assert found is not None
    provider, separator, rest = found.groups()
    return provider, f",{rest}" if separator == "," else rest


def _existing(text: str, target: str, options: Mapping[str, str]) -> ClusterSpec:
    if options:
        raise CannotStart(
            f"cluster {text!r} sets {', '.join(sorted(options))}, but an existing cluster is taken as it is.",
            next_step="Write existing:CONTEXT alone.",
        )
    if not target:
        raise CannotStart(f"cluster {text!r} names no context.", next_step="Write existing:CONTEXT.")
    return ClusterSpec("existing", target)


def _kind(text: str, target: str, options: Mapping[str, str]) -> ClusterSpec:
    if wrong := sorted(options.keys() - {"image", "cluster"}):
        raise CannotStart(
            f"cluster {text!r} sets {', '.join(wrong)}, but a kind cluster has the gates of its config.",
            next_step="Name another config, e.g. kind:kind-configs/1.35-nnn-on.yaml; image=TAG may follow.",
        )
    for key, value in options.items():
        if not value:
            raise CannotStart(f"cluster {text!r} names no {key}.", next_step=f"Write it as {key}=NAME.")
    if "cluster" in options:
        if target or "image" in options:
            raise CannotStart(
                f"cluster {text!r} names a cluster that runs, and how to make one.",
                next_step="Write kind:cluster=NAME alone, or kind:CONFIG.yaml.",
            )
        return ClusterSpec("kind", cluster=options["cluster"])
    if not target:
        raise CannotStart(
            f"cluster {text!r} names no config.",
            next_step="Write kind:CONFIG.yaml, e.g. kind:kind-configs/1.35-nnn-on.yaml.",
        )
    at_home = str(_path(target)) if target.startswith("~") else target
    return ClusterSpec("kind", at_home, image=options.get("image"))


def _embedded(text: str, target: str, named: Mapping[str, bool], options: Mapping[str, str]) -> ClusterSpec:
    gates: dict[str, bool] = dict(named)
    per_kind: dict[ComponentKind, dict[str, bool]] = {}
    emulate: str | None = None
    src: Path | None = None
    for key, value in options.items():
        kind, dot, gate = key.rpartition(".")
        if key == "emulate":
            if not _MINOR.fullmatch(value):
                raise CannotStart(
                    f"emulate={value!r} is no Kubernetes minor.", next_step="Write e.g. emulate=1.34."
                )
            emulate = value
        elif key == "src":
            if not value:
                raise CannotStart(f"src= in cluster {text!r} names no folder.", next_step="Write src=DIR.")
            src = _path(value)
        elif dot:
            if kind not in _GATED:
                raise one_of("component", kind, [str(kind) for kind in _GATED])
            per_kind.setdefault(ComponentKind(kind), {}).update(_gate(gate, value, text))
        else:
            gates.update(_gate(key, value, text))
    if src and target:
        raise CannotStart(
            f"cluster {text!r} names both a version and a source folder.", next_step="Keep one of them."
        )
    return ClusterSpec("embedded", target, gates, per_kind, emulate, src)


def _path(text: str) -> Path:
    """No shell expands a tilde that stands behind a colon."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise CannotStart(f"{text!r} is in the home of nobody.", next_step="Write the path out.") from error


def _gate(name: str, value: str, text: str) -> dict[str, bool]:
    if not _GATE.fullmatch(name):
        raise CannotStart(
            f"{name!r} in cluster {text!r} is neither an option (emulate, src) nor a feature gate.",
            next_step="Write gates as Kubernetes spells them, e.g. NominatedNodeNameForExpectation=true.",
        )
    if value.lower() not in _BOOLEANS:
        raise CannotStart(f"gate {name}={value!r} is no boolean.", next_step="Write true or false.")
    return {name: _BOOLEANS[value.lower()]}
