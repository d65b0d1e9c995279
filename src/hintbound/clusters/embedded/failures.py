"""What is told when a control plane does not start: one clear line where the cause is known, else also what
the component said last."""

from __future__ import annotations

import difflib
import errno
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hintbound.clusters.embedded.process import ComponentDied
from hintbound.errors import CannotStart, cause
from hintbound.subjects import Subject

_GATE_HELP: Final = re.compile(r"\b(\w+)=true\|false")
_HELP_WITHIN: Final = 10.0
_FREE_SPACE: Final = "Free space there, or set HINTBOUND_STATE."
_NO_PORT: Final = (
    "this machine has no free port",
    "End what holds so many connections, or widen net.ipv4.ip_local_port_range.",
)
_TOO_MANY_FILES: Final = ("too many files are open", "Raise the limit, e.g. ulimit -n 8192.")
_BY_NUMBER: Final = {
    errno.EADDRINUSE: _NO_PORT,
    errno.EADDRNOTAVAIL: _NO_PORT,
    errno.EMFILE: _TOO_MANY_FILES,
    errno.ENFILE: _TOO_MANY_FILES,
}
_BY_WORDS: Final = {
    "cannot assign requested address": _NO_PORT,
    "too many open files": _TOO_MANY_FILES,
}
_EMULATION: Final = re.compile(r"emulation version ([\d.]+) is not between \[([\d.]+), (\d+\.\d+)[\d.]*\]")
_REJECTED_GATE: Final = re.compile(r"[^\"\n]*feature gate:? (\w+)[^\"\n]*")


def why_not(error: Exception, folder: Path, subject: Subject | None = None) -> CannotStart:
    """The error for a control plane that did not start because of this one."""
    if isinstance(error, ComponentDied):
        if subject and error.name == subject.name:
            return CannotStart(f"{subject.command_at}: the subject {error}")
        return _death(error, folder)
    if isinstance(error, OSError) and error.errno in _BY_NUMBER:
        what, next_step = _BY_NUMBER[error.errno]
        return CannotStart(f"the control plane did not start: {what}.", next_step=next_step)
    if isinstance(error, OSError):
        what = cause(error)
        return CannotStart(f"cannot prepare a control plane in {folder}: {what}.", next_step=_FREE_SPACE)
    return CannotStart(f"the control plane did not start: {error}")


def _death(death: ComponentDied, folder: Path) -> CannotStart:
    return next(_known(death, folder), CannotStart(f"the control plane did not start: {death}"))


def _known(death: ComponentDied, folder: Path) -> Iterator[CannotStart]:
    """What its last lines say, if they say something that we know."""
    who, said = f"{death.name} {death.version}".rstrip(), "\n".join(death.lines)
    if found := _EMULATION.search(said):
        yield CannotStart(
            f"{who} cannot emulate {found[1]}, only {found[2]} to {found[3]}.",
            next_step="Write one of these after emulate=, or choose another version.",
        )
    if found := _REJECTED_GATE.search(said):
        yield CannotStart(
            f"{who} rejects a gate: {found[0].strip()}.", next_step=_gate_step(found[1], death.program)
        )
    if "no space left on device" in said:
        yield CannotStart(
            f"the control plane did not start: {death.name} has no space left in {folder}.",
            next_step=_FREE_SPACE,
        )
    for words, (what, next_step) in _BY_WORDS.items():
        if words in said:
            yield CannotStart(f"the control plane did not start: {death.name}: {what}.", next_step=next_step)


def _gate_step(gate: str, program: str) -> str:
    """What to write instead, by what the program says that it knows."""
    known = _gates_of(program)
    if gate in known:  # it may not be set so: locked, or not yet there in the emulated version
        return "Leave it out, or choose another version, or another one after emulate=."
    near = difflib.get_close_matches(gate, known, n=1)
    hint = f"Did you mean {near[0]}? " if near else "Leave it out, or choose a version that knows it. "
    return f"{hint}`{program} --help` lists what this one knows."


def _gates_of(program: str) -> list[str]:
    """The gates that a program's help names; none where it does not answer."""
    try:
        done = subprocess.run(
            [program, "--help"], capture_output=True, text=True, timeout=_HELP_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return _GATE_HELP.findall(done.stdout)
