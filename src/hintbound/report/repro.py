"""`repro.sh`: runs the same again, all of it or what failed, with the versions and gates it was seen on."""

from __future__ import annotations

import shlex
from typing import Final

from hintbound.protocol import Verdict
from hintbound.report.model import Run
from hintbound.report.words import Program, programs, sentence

FILE: Final = "repro.sh"


def write(run: Run) -> str:
    """A POSIX shell script. Its exit code is that of hintbound: the last one that was not zero."""
    commands = {outcome.behaviour: outcome.repro for outcome in run.outcomes if outcome.repro}
    failed = [o.behaviour for o in run.outcomes if o.verdict in (Verdict.FAIL, Verdict.UNKNOWN) and o.repro]
    again = shlex.join(run.command or ("hintbound", "run", "--cluster", run.cluster_spec))
    lines = [
        "#!/bin/sh",
        *_comment(f"What run {run.id} did, again. {sentence(run)}"),
        *_comment(f"hintbound {run.suite_version}, cluster {run.cluster_spec}, on:"),
        *(line for program in programs(run) for line in _comment(f"  {_described(program)}")),
        "#",
        *_comment("sh repro.sh            everything"),
        *_comment("sh repro.sh failed     each behaviour that failed or could not be judged"),
        *_comment("sh repro.sh ID         one behaviour of this run"),
        "set -eu",
        "status=0",
        "",
        'case "${1:-all}" in',
        "all)",
        f"    {again} || status=$?",
        "    ;;",
        "failed)",
        *(_step(commands[behaviour]) for behaviour in failed),
        *(["    :"] if not failed else []),
        "    ;;",
    ]
    for behaviour, command in commands.items():
        lines += [f"{shlex.quote(behaviour)})", _step(command), "    ;;"]
    lines += [
        "*)",
        "    printf '%s\\n' \"repro.sh: '$1' is neither all, nor failed, nor a behaviour of this run\" >&2",
        "    exit 254",
        "    ;;",
        "esac",
        'exit "$status"',
    ]
    return "\n".join(lines) + "\n"


def _step(command: str) -> str:
    return f"    {command} || status=$?"


def _comment(text: str) -> list[str]:
    """Comment lines: nothing that a report says may become a command."""
    return [f"# {line}".rstrip() for line in text.splitlines()]


def _described(program: Program) -> str:
    if program.gates is None:
        return f"{program.name} {program.version}"
    gates = " ".join(f"{gate}={str(on).lower()}" for gate, on in program.gates.items())
    return f"{program.name} {program.version} {gates}".rstrip()
