"""Metrics of a component: the wanted families of a `/metrics` page, its feature gates and its version.

An apiserver's page has several MB and tens of thousands of samples, and the parser takes seconds for all of
them; only lines of wanted families reach it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

_SUFFIXES = ("", "_total", "_bucket", "_sum", "_count", "_created")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a `/metrics` page."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """Samples of one moment."""

    samples: tuple[Sample, ...]

    @classmethod
    def parse(cls, text: str, *families: str) -> Self:
        """The samples of these families (all, when none is named). Raises ValueError for no metrics page."""
        if families:
            text = _only(text, families)
        return cls(
            tuple(
                Sample(sample.name, sample.labels, sample.value)
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            )
        )

    def select(self, name: str, **labels: str) -> Iterator[Sample]:
        """The samples of that name that have at least these labels."""
        for sample in self.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                yield sample

    def value(self, name: str, **labels: str) -> float:
        """The sum over the samples of that name that have at least these labels; 0 when there is none.

        A counter that was never raised is not on the page.
        """
        return sum(sample.value for sample in self.select(name, **labels))


def feature_gates(text: str) -> Mapping[str, bool]:
    """Gates as the component itself sees them, from `kubernetes_feature_enabled`."""
    family = "kubernetes_feature_enabled"
    return {s.labels["name"]: s.value == 1 for s in Metrics.parse(text, family).select(family)}


def component_version(text: str) -> str | None:
    """The component's `gitVersion`, e.g. `v1.35.4`, from `kubernetes_build_info`."""
    family = "kubernetes_build_info"
    return next((s.labels["git_version"] for s in Metrics.parse(text, family).select(family)), None)


def _only(text: str, families: tuple[str, ...]) -> str:
    """The lines of these families: `# TYPE` lines included, for they say how samples are named."""
    names = [family + suffix for family in dict.fromkeys(families) for suffix in _SUFFIXES]
    kept: list[str] = []
    for family in dict.fromkeys(names):
        # find() over the page is a hundred times faster than looking at each line.
        start = text.find(family)
        while start != -1:
            begin = text.rfind("\n", 0, start) + 1
            end = text.find("\n", start)
            end = len(text) if end == -1 else end
            line = text[begin:end]
            if _name_of(line) == family:
                kept.append(line)
            start = text.find(family, end)
    return "\n".join(kept) + "\n"


def _name_of(line: str) -> str:
    if line.startswith("# TYPE "):
        return line.split(" ", 3)[2]
    if line.startswith("#"):
        return ""
    return line.partition("{")[0].partition(" ")[0]
