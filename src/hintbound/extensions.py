"""What other installed packages add to hintbound: entry points of four groups, each found by its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any

from hintbound.errors import CannotStart, line_of, one_of


class Group(StrEnum):
    """What a package can add."""

    SUITES = "hintbound.suites"
    """A folder of behaviours, or a module that stands in one."""
    CHECKS = "hintbound.checks"
    """A `@check` that judges the record of every scenario."""
    FAULTS = "hintbound.faults"
    """An async context manager that a scenario enters by name: see `Arena.fault`."""
    CLUSTERS = "hintbound.clusters"
    """A provider of clusters: see `ClusterFactory`."""

    @property
    def what(self) -> str:
        """One of them, in words."""
        return {"hintbound.clusters": "cluster provider"}.get(self, self.removeprefix("hintbound.")[:-1])


@dataclass(frozen=True, slots=True)
class Extension:
    """One entry point of an installed package."""

    group: Group
    name: str
    value: str
    """`package.module:attribute`."""
    distribution: str
    """Name and version: `acme-hintbound 0.1.0`."""
    _point: EntryPoint = field(repr=False)

    def __str__(self) -> str:
        """For reports: `check acme-hints of acme-hintbound 0.1.0`."""
        return f"{self.group.what} {self.name} of {self.distribution}"

    def load(self) -> object:
        """What it stands for, imported now. Raises CannotStart."""
        try:
            return self._point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit, and pytest.skip where it is imported
            raise self.failed("cannot be loaded", error) from error

    def load_callable(self, given: str) -> Callable[..., Any]:
        """The same, which must be one that can be called with what is `given`. Raises CannotStart."""
        found = self.load()
        if not callable(found):
            raise self.wrong(f"is {type(found).__name__}: nothing that can be called with {given}.")
        return found

    def failed(self, what: str, error: BaseException) -> CannotStart:
        """The error for code of the package that raised one: names it, and its line."""
        place = self.place(error)
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ").rstrip(".")
        return self.wrong(f"{what}: {f'{place}: ' if place else ''}{cause}.")

    def wrong(self, what: str) -> CannotStart:
        """The error for an entry point that is not what it should be; `what` ends with a full stop."""
        return CannotStart(
            f"{self.distribution}: the entry point {self.name!r} of {self.group} ({self.value}) {what}",
            next_step="Mend the package, or uninstall it; `hintbound list extensions` shows all.",
        )

    def place(self, error: BaseException) -> str:
        """`FILE:LINE` of the package's own code in which an error came up; empty when none took part."""
        package = self.value.partition(":")[0].partition(".")[0]
        return line_of(error, lambda frame: frame.f_globals.get("__name__", "").partition(".")[0] == package)


def installed(group: Group) -> list[Extension]:
    """Everything of a group, by name; nothing is imported. Raises CannotStart where two have one name."""
    found: dict[str, Extension] = {}
    for extension in _all(tuple(sys.path)):
        if extension.group is not group:
            continue
        if extension.name in found:
            raise extension.wrong(f"is one of {found[extension.name].distribution}, too.")
        found[extension.name] = extension
    return sorted(found.values(), key=lambda extension: extension.name)


def named(group: Group, name: str, *, besides: Sequence[str] = ()) -> Extension:
    """The one of this name. `besides`: names that need no package. Raises CannotStart, which lists them."""
    found = {extension.name: extension for extension in installed(group)}
    if name not in found:
        known = [*besides, *found]
        if not known:
            raise CannotStart(
                f"unknown {group.what} {name!r}.", next_step=f"No installed package has one ({group})."
            )
        raise one_of(group.what, name, known)
    return found[name]


@cache
def _all(_path: tuple[str, ...]) -> tuple[Extension, ...]:
    """Read once for each `sys.path`: it looks into every installed package. Raises CannotStart."""
    try:
        points = entry_points()
    except Exception as error:  # whatever the first malformed file makes importlib raise
        raise _malformed(error) from error
    return tuple(
        Extension(
            group,
            point.name,
            point.value,
            f"{point.dist.name} {point.dist.version}" if point.dist else "a package without a name",
            point,
        )
        for group in Group
        for point in points.select(group=group)
    )


def _malformed(error: Exception) -> CannotStart:
    """The error for entry points that cannot be read; names the package, which importlib does not."""
    whose = "an installed package"
    for distribution in distributions():
        try:
            _ = distribution.entry_points
        except Exception:
            whose = f"{distribution.name} {distribution.version}"
            break
    return CannotStart(
        f"{whose}: its entry_points.txt cannot be read: {' '.join(str(error).split())}.",
        next_step="Mend the package, or uninstall it.",
    )
