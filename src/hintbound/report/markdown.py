"""`report.md`: for the owner of the cluster. The verdict first, then what was run, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from hintbound.protocol import Level, Severity, Verdict
from hintbound.report.glossary import TERMS, usual_cause
from hintbound.report.model import ExpectedFailure, Outcome, Run, Statistics, SubjectInfo
from hintbound.report.words import (
    Program,
    checks,
    gates_that_matter,
    one_line,
    programs,
    sentence,
    worst_first,
)

FILE: Final = "report.md"

_SIGNS: Final = {
    Verdict.PASS: "✅ pass",
    Verdict.FAIL: "❌ **fail**",
    Verdict.UNKNOWN: "❓ **unknown**",
    Verdict.SKIP: "⏭️ skipped",
    Verdict.NOT_SUPPORTED: "⚪ not supported",
}
_EXPECTED: Final = "⚠️ expected fail"
_UNJUDGED: Final = {
    Verdict.UNKNOWN: "Unknown: run, but nothing was proven. Run again; if it stays, see the evidence.",
    Verdict.SKIP: "Skipped: this cluster lacks what the behaviour needs to be tried.",
    Verdict.NOT_SUPPORTED: "Not supported: the behaviour does not apply to these versions and gates.",
}


def write(run: Run) -> str:
    """The report as GitHub-flavoured Markdown."""
    ordered = worst_first(run.outcomes)
    failed = [outcome for outcome in ordered if outcome.counted is Verdict.FAIL]
    expected = [outcome for outcome in ordered if outcome.expected]
    sections = (
        [f"# {_text(sentence(run))}"],
        _what_was_run(run),
        _gates(run),
        _behaviours(ordered),
        _section("What failed", (line for outcome in failed for line in _failure(outcome))),
        _section("What failed as was expected", (line for outcome in expected for line in _failure(outcome))),
        _section("How to reproduce", _reproduce(run)),
        _section("What was not judged, and why", _not_judged(ordered)),
        _section("Words", _words(ordered)),
        _section("Notes", [*_deviations(run), *(f"* {_text(note)}" for note in run.notes)]),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _what_was_run(run: Run) -> list[str]:
    rows = [
        ("Run", f"{_code(run.id)}, {_text(run.started)}, {run.duration_seconds:.1f} s"),
        ("Cluster", _code(run.cluster_spec) + (f" ({_text(run.provider)})" if run.provider else "")),
        *([("Subject", _subject(run.subject))] if run.subject else []),
        ("Profile", str(run.profile) + (f", only {_codes(run.selection)}" if run.selection else "")),
    ]
    rows += [(f"Level {level}", _level(run, level)) for level in Level if run.of_level(level)]
    suite = f"hintbound {run.suite_version}, Python {run.python} on {run.platform}, {run.jobs} at once"
    rows.append(("Suite", _text(suite) + (f", seed {run.seed}" if run.seed is not None else "")))
    rows += (
        [("Mutant", f"{_code(run.mutant)}: the control plane was broken on purpose")] if run.mutant else []
    )
    rows += [("Checks", _text(checks(run)))] if run.checks else []
    rows += [("Extensions", ", ".join(map(_text, run.extensions)))] if run.extensions else []
    return _table(("", ""), rows)


def _level(run: Run, level: Level) -> str:
    why = run.why_partial(level)
    return (
        f"**{run.result(level)}**{f' ({why})' if why else ''}: {_counts(Statistics.of(run.of_level(level)))}"
    )


def _subject(subject: SubjectInfo) -> str:
    told = f"{_text(subject.name)}, {subject.kind} of {_code(subject.scheduler_name)}, {_code(subject.file)}"
    version = f", behaves as {_code(subject.kubernetes_version)}" if subject.kubernetes_version else ""
    return f"{told}{version}; declares {', '.join(subject.features) or 'no features'}"


def _counts(counts: Statistics) -> str:
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number) or "none"


def _gates(run: Run) -> list[str]:
    """Programs as columns, gates as rows: what a reader compares is one gate across programs."""
    columns = programs(run)
    if not columns:
        return []
    told = [program for program in columns if program.gates is not None]
    versions = ", ".join(f"{_text(program.name)} {_code(program.version)}" for program in columns)
    lines = [f"On {versions}."]
    if told:
        rows = [
            (_code(gate), *(_switch(program, gate) for program in told))
            for gate in gates_that_matter(run)
            if any(gate in (program.gates or {}) for program in told)
        ]
        header = ("Gate, as each program reports it", *(_column(program, told) for program in told))
        lines += ["", *_table(header, rows)] if rows else ["", "None of them knows a gate that matters here."]
    return _section("What it ran on", lines)


def _column(program: Program, all_programs: Sequence[Program]) -> str:
    """The program's name; with its clusters when there are several of that name."""
    alike = [other for other in all_programs if other.name == program.name]
    return _text(program.name if len(alike) == 1 else f"{program.name} ({', '.join(program.clusters)})")


def _switch(program: Program, gate: str) -> str:
    on = (program.gates or {}).get(gate)
    return "absent" if on is None else "**on**" if on else "off"


def _behaviours(ordered: Sequence[Outcome]) -> list[str]:
    rows = [
        (
            _EXPECTED if o.expected else _SIGNS[o.verdict],
            _code(o.behaviour),
            f"{o.level}{', provisional' if o.provisional else ''}",
            _text(o.must),
            _text(f"{o.reason}; {o.expected}" if o.expected else o.reason),
        )
        for o in ordered
    ]
    if not rows:
        return _section("Behaviours", ["No behaviour was run."])
    return _section("Behaviours", _table(("Verdict", "Behaviour", "Level", "What must hold", "Reason"), rows))


def _failure(outcome: Outcome) -> list[str]:
    hazard = " (hazard: legal but harmful)" if outcome.severity is Severity.HAZARD else ""
    lines = ["", f"### {_text(outcome.behaviour)}{hazard}", "", f"**Must:** {_text(outcome.must)}"]
    lines += ["", f"**Instead:** {_text(outcome.reason)}"] if outcome.reason else []
    lines += ["", f"**Known:** {_known(outcome.expected)}"] if outcome.expected else []
    lines += ["", f"**Why it matters:** {_text(outcome.why)}"] if outcome.why else []
    cause = usual_cause(outcome.file)
    lines += ["", f"**Most often it comes from:** {cause}."] if cause else []
    lines += ["", *_concerns(outcome)] if outcome.affects else []
    lines += ["", f"**Source:** {_text(outcome.source)}"] if outcome.source else []
    lines += ["", *_block("text", outcome.evidence)] if outcome.evidence else []
    lines += ["", *_block("sh", [outcome.repro])] if outcome.repro else []
    return lines if lines[0] else lines[1:]


def _concerns(outcome: Outcome) -> list[str]:
    who = f"**Concerns:** {', '.join(map(_text, outcome.affects))}."
    return [f"{who} Where the sentence holds: {_text(outcome.advice)}" if outcome.advice else who]


def _known(expected: ExpectedFailure) -> str:
    return _text(str(expected)) + (f", by {_code(expected.where)}" if expected.where else "")


def _reproduce(run: Run) -> list[str]:
    again = shlex.join(run.command or ("hintbound", "run", "--cluster", run.cluster_spec))
    some = any(o.verdict in (Verdict.FAIL, Verdict.UNKNOWN) for o in run.outcomes)
    only = ["", "`sh repro.sh failed`, in this folder, runs only what failed or could not be judged."]
    return [*_block("sh", [again]), *(only if some else [])]


def _not_judged(ordered: Sequence[Outcome]) -> list[str]:
    lines: list[str] = []
    for verdict, meaning in _UNJUDGED.items():
        outcomes = [outcome for outcome in ordered if outcome.verdict is verdict]
        if not outcomes:
            continue
        lines += ["", meaning, ""]
        for outcome in outcomes:
            lines.append(f"* {_code(outcome.behaviour)}: {_text(outcome.reason) or 'no reason given'}")
            if verdict is Verdict.UNKNOWN:
                lines += [f"  * {_text(line)}" for line in outcome.evidence]
            if verdict is not Verdict.NOT_SUPPORTED and outcome.affects:
                lines += [f"  * {line}" for line in _concerns(outcome)]
    return lines[1:]


_WORDS: Final = ("hint", "nomination", "clearing gate", "expectation gate")


def _words(outcomes: Sequence[Outcome]) -> list[str]:
    """The terms without which no sentence here can be read."""
    terms = [f"* **{term.name}**: {_text(term.meaning)}" for term in TERMS if term.name in _WORDS]
    return [*terms, "", "`hintbound explain ID` tells all of one behaviour."] if outcomes else []


def _deviations(run: Run) -> list[str]:
    """How the clusters differ from ordinary ones; a deviation that all share stands once."""
    shared: dict[str, list[str]] = {}
    for cluster in run.clusters:
        for deviation in cluster.deviations:
            shared.setdefault(deviation, []).append(cluster.name)
    return [
        f"* {_text(deviation)}"
        + ("" if len(names) == len(run.clusters) else f" (cluster {', '.join(names)})")
        for deviation, names in shared.items()
    ]


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """A heading over lines; nothing at all without lines."""
    body = list(lines)
    while body and not body[0]:
        body.pop(0)
    return [f"## {title}", "", *body] if body else []


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _text(text: str) -> str:
    """Plain text in one line that neither ends a table cell nor starts HTML."""
    return one_line(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    """Code in one line, for a table cell too; a fence longer than any in the text."""
    shown = one_line(text).replace("|", "\\|")
    fence = _fence(shown, "`")
    pad = " " if "`" in shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts))


def _block(language: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    fence = _fence("\n".join(body), "```")
    return [f"{fence}{language}", *body, fence]


def _fence(text: str, at_least: str) -> str:
    fence = at_least
    while fence in text:
        fence += "`"
    return fence
