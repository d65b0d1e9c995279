"""Mutants: control planes that are made to break the protocol, so that it shows what notices.

Each is a file beside the suites that are about what it breaks, `suites/*/mutants/NAME.yaml`:

    title: kube-scheduler never clears a hint.
    like: what it stands for, in the field or upstream
    cluster: embedded:1.35            # where it is played; may be left out
    rules: [...]                      # of a fault proxy, see docs/proxy.md
    flags: {kube-apiserver: [...]}    # of a component
    second-scheduler: true            # another one serves the same pods
    believes: {kube-apiserver: {Gate: true}}   # what the suites are told of gates, whoever says otherwise
    believes-version: {kube-scheduler: v1.35.4}

At least one of the last five makes a mutant of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hintbound import data
from hintbound.data import documents
from hintbound.data.documents import Part
from hintbound.errors import CannotStart, one_of
from hintbound.protocol import ComponentKind
from hintbound.proxy import Rule
from hintbound.proxy.rules import of_part

DEFAULT_CLUSTER: Final = "embedded:1.35"
_MAKES: Final = ("rules", "flags", "second-scheduler", "believes", "believes-version")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One of them."""

    name: str
    title: str
    """What it does, one sentence."""
    like: str
    """What it stands for."""
    file: Path
    cluster: str = DEFAULT_CLUSTER
    rules: Sequence[Rule] = ()
    flags: Mapping[ComponentKind, Sequence[str]] | None = None
    second_scheduler: bool = False
    believes: Mapping[ComponentKind, Mapping[str, bool]] | None = None
    believes_version: Mapping[ComponentKind, str] | None = None


def all_mutants() -> list[Mutant]:
    """By name. Raises CannotStart, with file and line, for one that cannot be read."""
    files = sorted(data.folder("suites").glob("*/mutants/*.yaml"), key=lambda file: file.stem)
    found = [read(file) for file in files]
    for one, other in itertools.pairwise(found):
        if one.name == other.name:
            raise CannotStart(
                f"{one.file} and {other.file} are one mutant by their names.", next_step="Rename one."
            )
    return found


def named(name: str) -> Mutant:
    """A mutant by its name, or by the path of a file. Raises CannotStart."""
    if name.endswith((".yaml", ".yml")):
        return read(Path(name))
    known = {mutant.name: mutant for mutant in all_mutants()}
    if name not in known:
        raise one_of("mutant", name, list(known), listing="hintbound list mutants")
    return known[name]


def read(file: Path) -> Mutant:
    """Read one. Raises CannotStart, with file and line."""
    from hintbound.clusters.proxies import ACTORS

    whole = documents.read(file)
    found = whole.fields(required=["title", "like"], optional=["cluster", *_MAKES])
    if not found.keys() & set(_MAKES):
        raise whole.wrong("it breaks nothing.", next_step=f"Write one of {', '.join(_MAKES)}.")
    return Mutant(
        name=file.stem,
        title=found["title"].text(),
        like=found["like"].text(),
        file=file,
        cluster=found["cluster"].text() if "cluster" in found else DEFAULT_CLUSTER,
        rules=_rules(found["rules"], [str(actor) for actor in ACTORS]) if "rules" in found else (),
        flags=_flags(found["flags"]) if "flags" in found else None,
        second_scheduler="second-scheduler" in found and found["second-scheduler"].boolean(),
        believes=_believes(found["believes"]) if "believes" in found else None,
        believes_version=_versions(found["believes-version"]) if "believes-version" in found else None,
    )


def _rules(part: Part, actors: Sequence[str]) -> list[Rule]:
    rules = of_part(part, actors=actors)
    for rule in rules:
        if not rule.actors:
            raise part.wrong(
                f"the rule {rule.name!r} names no actor.", next_step=f"Write one of {', '.join(actors)}."
            )
    return rules


def _flags(part: Part) -> dict[ComponentKind, list[str]]:
    return {
        _component(name, value): [flag.text() for flag in value.items()]
        for name, value in part.entries().items()
    }


def _believes(part: Part) -> dict[ComponentKind, dict[str, bool]]:
    return {
        _component(name, value): {gate: on.boolean() for gate, on in value.entries().items()}
        for name, value in part.entries().items()
    }


def _versions(part: Part) -> dict[ComponentKind, str]:
    return {_component(name, value): value.text() for name, value in part.entries().items()}


def _component(name: str, part: Part) -> ComponentKind:
    if name not in list(ComponentKind):
        raise part.none_of("component", name, [str(kind) for kind in ComponentKind])
    return ComponentKind(name)
