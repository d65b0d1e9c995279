"""`hintbound explain ID`: one behaviour for a reader who has never seen it, nor the KEP."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hintbound.protocol import ComponentKind, Level, Profile, Severity

if TYPE_CHECKING:
    from hintbound.plugin.catalogue import Entry

WIDTH = 100
"""Columns of a line; commands and addresses may be longer."""


@click.command()
@click.argument("behaviour_id", metavar="ID")
@click.argument("paths", nargs=-1)
def command(behaviour_id: str, paths: tuple[str, ...]) -> None:
    """Explain the behaviour ID: its sentence and terms, why it matters, on which versions it applies, how it
    is tested, what to do."""
    from hintbound.errors import one_of
    from hintbound.plugin import catalogue, suites

    entries = {entry.behaviour.id: entry for entry in catalogue.collect(paths)}
    if behaviour_id.upper() not in entries and not paths and (names := suites.names()):
        entries |= {entry.behaviour.id: entry for entry in catalogue.collect(names)}
    entry = entries.get(behaviour_id.upper())
    if entry is None:
        listing = shlex.join(["hintbound", "list", "behaviours", *paths])
        raise one_of("behaviour", behaviour_id, sorted(entries), listing=listing)
    click.secho(entry.behaviour.id, bold=True)
    for name, text in _rows(entry):
        if text:
            click.echo(_row(name, text))


def _rows(entry: Entry) -> Iterator[tuple[str, str]]:
    from hintbound.report import glossary, shipped

    behaviour = entry.behaviour
    known = shipped.matrix()
    default = shipped.by_default(behaviour.id, known) if known and behaviour.applies.text else ""
    needs = [f"{glossary.CAPABILITIES[need]} ({need})" for need in sorted(behaviour.needs)]
    yield "must", behaviour.must
    yield "why", behaviour.why
    yield from _bug(entry)
    yield "applies", behaviour.applies.in_words() + (f"\nby default: {default}" if default else "")
    yield "affects", ", ".join(behaviour.affects)
    yield "advice", behaviour.advice
    yield "tested", entry.tested or entry.about
    cause = glossary.usual_cause(entry.file)
    yield "if it fails", f"most often: {cause}" if cause else ""
    provisional = "; provisional: a failure is told, but no run fails by it" if behaviour.provisional else ""
    yield "kind", f"{_LEVELS[behaviour.level]}; {_SEVERITIES[behaviour.severity]}{provisional}"
    needs += ["a control plane of its own"] * behaviour.exclusive
    yield "needs", ", ".join(needs) or "nothing beyond an apiserver"
    declared = ", ".join(sorted(map(str, behaviour.features)))
    yield "features", declared and f"{declared}; a vendor's scheduler declares them, see docs/vendors.md"
    source = "; ".join(part for part in behaviour.source.split("; ") if not part.startswith("docs/findings/"))
    yield "source", "\n".join((source, *glossary.links(source)))
    yield "findings", "\n".join(_findings(behaviour.id))
    yield "file", entry.file
    file = entry.file.partition("::")[0]
    theirs = [] if file.startswith("suites/") else [file]
    profile = Profile.REGRESSIONS if behaviour.level is Level.REGRESSION else Profile.ALL
    yield (
        "judge it",
        shlex.join(
            ["hintbound", "run", *theirs, *_where(entry), "--profile", profile, "--behaviour", behaviour.id]
        ),
    )
    said = " ".join((behaviour.id, behaviour.must, behaviour.why, behaviour.applies.text, entry.tested))
    yield "terms", "\n".join(f"{term.name}: {term.meaning}" for term in glossary.terms_in(said))


def _bug(entry: Entry) -> Iterator[tuple[str, str]]:
    """What a regression says of its bug."""
    if bug := entry.regression:
        yield "bug", f"{bug.bug}: {bug.about}"
        with_mutants = (f"a cluster with --mutant {name}" for name in bug.mutants)
        yield "shows on", ", ".join((*bug.shows, *with_mutants)) or "no pinned release"
        yield "not on", ", ".join(bug.absent) or "nowhere"
        yield "also sees", f"hintbound check --checks {','.join(bug.checks)}" if bug.checks else ""
        yield "by", bug.means
        yield "note", bug.note


_LEVELS: Final = {
    Level.CORE: "core: needs neither restarts nor several apiservers",
    Level.EXTENDED: "extended: needs restarts, several apiservers or a cluster of its own",
    Level.REGRESSION: "regression: reproduces a public bug, and is judged only when asked for",
}
_SEVERITIES: Final = {
    Severity.VIOLATION: "a failure is a violation of the protocol",
    Severity.HAZARD: "a hazard: legal but harmful, so a failure can be an improvement",
}


def _where(entry: Entry) -> list[str]:
    """The option that names a cluster which has what it needs, where the default one has not."""
    from hintbound.clusters.gatesets import GATE_SETS
    from hintbound.clusters.protocol import Capability
    from hintbound.plugin.applies import Facts

    behaviour = entry.behaviour
    if entry.regression and entry.regression.shows:
        return ["--cluster", entry.regression.shows[0]]
    if Capability.REAL_NODES in behaviour.needs:
        for name in ("nnn-on", "nnn-off"):
            gates, versions = (
                dict.fromkeys(ComponentKind, GATE_SETS[name].gates),
                dict.fromkeys(ComponentKind, "1.35"),
            )
            if behaviour.applies.holds(Facts(gates, versions)):
                return ["--cluster", f"kind:kind-configs/1.35-{name}.yaml"]
    return []


def _findings(behaviour: str) -> Iterator[str]:
    """Title and place of each page that tells of it. Raises CannotStart for a page that cannot be read."""
    from hintbound import data
    from hintbound.report import findings

    folder = data.folder("docs") / "findings"
    for finding in findings.read(folder):
        if behaviour in finding.behaviours:
            page = folder / f"{finding.name}.md"
            here = page.is_relative_to(Path.cwd())
            yield f"{finding.title}: {page.relative_to(Path.cwd()) if here else page}"


def _row(name: str, text: str) -> str:
    """A name beside its text; only prose is wrapped."""
    indent = " " * 14
    lines: list[str] = []
    for line in text.splitlines():
        prose = not line.startswith(("http", "hintbound ", "suites/"))
        lines += textwrap.wrap(line, WIDTH - len(indent), **_WHOLE_WORDS) if prose else [line]
    return f"  {name:<12}" + f"\n{indent}".join(lines)


_WHOLE_WORDS: Final[dict[str, Any]] = {
    "subsequent_indent": "  ",
    "break_long_words": False,
    "break_on_hyphens": False,
}
