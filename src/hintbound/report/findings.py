"""The pages of `docs/findings`, read: what each says of itself, and what its reproduction prints.

A page is written for people; what programs need of it stands where people read it too. Its first table has
the rows of `ROWS`, clusters are SPECs as in `hintbound cluster up` without the word `embedded`, or, where it
takes real nodes, kind configs of the checkout. The one block in `sh` is the reproduction, each block in
`text` what it prints: on the clusters that the fence names, else wherever it was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from hintbound.errors import CannotStart

INDEX: Final = "README.md"
ROWS: Final = (
    "Seen on",
    "Not seen on",
    "Severity",
    "Harms",
    "Behaviours",
    "Promise",
    "Broken on",
    "Upstream",
)
SECTIONS: Final = ("Reproduce", "Expected and actual", "Cause", "Consequences", "What to do")
SEVERITIES: Final = ("bug", "hazard", "surprise")
"""It breaks a promise; it is legal and does harm; it harms only who does not know it."""
_MAY_BE_MISSING: Final = frozenset({"Not seen on", "Promise", "Broken on"})
_ROW = re.compile(r"^\| (?P<name>[^|]+?) \| (?P<text>.+?) \|$", re.MULTILINE)
_BLOCK = re.compile(r"^```(?P<kind>sh|text)(?P<on>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Promise:
    """A sentence of a KEP, release note or page of the documentation, and where it is untrue."""

    text: str
    """With its citation, as Markdown."""
    broken_on: tuple[str, ...]
    """Clusters."""
    behaviour: str
    """The id of the behaviour that holds where the promise is broken."""

    @property
    def versions(self) -> tuple[str, ...]:
        """Of those clusters, each once."""
        return tuple(dict.fromkeys(spec.partition(",")[0] for spec in self.broken_on))


@dataclass(frozen=True, slots=True)
class Prints:
    """What the reproduction prints, among other lines, on some clusters; `…` stands for anything."""

    on: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One page."""

    name: str
    """Of its file, without `.md`."""
    title: str
    seen: tuple[str, ...]
    not_seen: tuple[str, ...]
    severity: str
    harms: str
    behaviours: tuple[str, ...]
    """Their ids; the first is the finding said as a sentence."""
    promises: tuple[Promise, ...]
    upstream: str
    script: str
    prints: tuple[Prints, ...]

    def printed(self, spec: str) -> tuple[str, ...]:
        """The lines that must show on a cluster, in this order. Raises KeyError for one it leaves out."""
        for prints in self.prints:
            if spec in prints.on:
                return prints.lines
        raise KeyError(spec)


def cluster(spec: str) -> str:
    """The SPEC of a page in full, as `--cluster` takes it."""
    return spec if spec.startswith("kind:") else f"embedded:{spec}"


def column(spec: str) -> str:
    """The id of the matrix's column for a SPEC of a page: `1.34.4,@nnn-on` stands in `1.34.4 @nnn-on`."""
    version, _, gates = spec.partition(",")
    return f"{version} {gates or '@default'}"


def read(folder: Path) -> list[Finding]:
    """Every page but the index, by name. Raises CannotStart with the page and what it lacks."""
    pages = sorted(page for page in folder.glob("*.md") if page.name != INDEX)
    return [parse(page.stem, page.read_text(encoding="utf-8")) for page in pages]


def parse(name: str, page: str) -> Finding:
    """One page. Raises CannotStart with the page and what it lacks."""
    title, _, rest = page.partition("\n")
    head = rest.partition("\n## ")[0]
    rows = [(row["name"], row["text"]) for row in _ROW.finditer(head)]
    found = dict(rows)
    scripts = [block["body"] for block in _BLOCK.finditer(page) if block["kind"] == "sh"]
    for wrong, what in (
        (not title.startswith("# "), "its first line is no title"),
        *((row not in found and row not in _MAY_BE_MISSING, f"its table has no row {row!r}") for row in ROWS),
        (found.get("Severity") not in SEVERITIES, f"its severity is none of {', '.join(SEVERITIES)}"),
        (len(scripts) != 1, f"it has {len(scripts)} blocks in sh instead of one"),
    ):
        if wrong:
            raise CannotStart(
                f"docs/findings/{name}.md: {what}.",
                next_step="See docs/findings/README.md for how a page is made.",
            )
    seen, not_seen = _codes(found["Seen on"]), _codes(found.get("Not seen on", ""))
    behaviours = _codes(found["Behaviours"])
    return Finding(
        name=name,
        title=title.removeprefix("# "),
        seen=seen,
        not_seen=not_seen,
        severity=found["Severity"],
        harms=found["Harms"],
        behaviours=behaviours,
        promises=tuple(_promises(rows, *behaviours[:1])),
        upstream=found["Upstream"],
        script=scripts[0],
        prints=tuple(_prints(page, seen)),
    )


def index(findings: Iterable[Finding]) -> Iterator[str]:
    """The lines of the table in the index, the worst first."""
    yield "| finding | severity | seen on | not seen on | behaviours |"
    yield "| --- | --- | --- | --- | --- |"
    for finding in sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.title)):
        cells = (
            finding.severity,
            _as_codes(finding.seen),
            _as_codes(finding.not_seen),
            _as_codes(finding.behaviours),
        )
        yield f"| [{finding.title}]({finding.name}.md) | {' | '.join(cells)} |"


def _prints(page: str, seen: Sequence[str]) -> Iterator[Prints]:
    for block in _BLOCK.finditer(page):
        if block["kind"] == "text":
            yield Prints(tuple(block["on"].split()) or tuple(seen), tuple(block["body"].splitlines()))


def _promises(rows: Sequence[tuple[str, str]], first: str = "") -> Iterator[Promise]:
    """A row `Promise` is followed by `Broken on`: where, and by which behaviour if not by the first."""
    for (name, text), (after, broken) in pairwise(rows):
        if name == "Promise" and after == "Broken on":
            codes = _codes(broken)
            named = [code for code in codes if code.startswith("NNN-")]
            yield Promise(text, tuple(code for code in codes if code not in named), *(named or [first])[:1])


def _as_codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _codes(text: str) -> tuple[str, ...]:
    return tuple(_CODE.findall(text))
