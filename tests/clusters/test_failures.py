"""A control plane that does not start for a reason that we know says so in one line, with the next step."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hintbound.clusters.embedded.failures import why_not
from hintbound.clusters.embedded.process import ComponentDied

STATE = Path("/state/clusters/run-1")
HELP = """\
      --feature-gates strings   Options are:
                                kube:AllAlpha=true|false (ALPHA - default=false)
                                kube:GangScheduling=true|false (ALPHA - default=false)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """An apiserver that can do nothing but help."""
    script = tmp_path / "kube-apiserver"
    script.write_text(f"#!/bin/sh\ncat <<'EOF'\n{HELP}EOF\n")
    script.chmod(0o755)
    return str(script)


def told(program: str, *lines: str) -> str:
    died = ComponentDied("kube-apiserver", "1.35.4", "exited with 1", lines, Path("/logs/a.log"), program)
    return str(why_not(died, STATE))


@pytest.mark.parametrize(
    ("line", "one_line"),
    [
        (
            'E1130 run.go:72] "command failed" err="[emulation version 1.20 is not between [1.32, 1.35.0], '
            'minCompatibilityVersion version 1.32 is not between [1.32, 1.20]]"',
            "kube-apiserver 1.35.4 cannot emulate 1.20, only 1.32 to 1.35. Write one of these after "
            "emulate=, or choose another version.",
        ),
        (
            '{"msg":"failed to create WAL","error":"no space left on device"}',
            "the control plane did not start: kube-apiserver has no space left in /state/clusters/run-1. "
            "Free space there, or set HINTBOUND_STATE.",
        ),
        (
            "dial tcp 127.0.0.1:30001: connect: cannot assign requested address",
            "the control plane did not start: kube-apiserver: this machine has no free port. End what holds "
            "so many connections, or widen net.ipv4.ip_local_port_range.",
        ),
        (
            "accept4: too many open files",
            "the control plane did not start: kube-apiserver: too many files are open. Raise the limit, e.g. "
            "ulimit -n 8192.",
        ),
    ],
)
def test_what_a_log_says_becomes_one_line(program: str, line: str, one_line: str) -> None:
    assert told(program, "W1130 something else", line) == one_line


def test_a_rejected_gate_comes_with_what_to_write_instead(program: str) -> None:
    unknown = "unrecognized feature gate: {}"
    typo = told(program, f'err="{unknown.format("GangSchedulin")}"')
    assert typo == (
        "kube-apiserver 1.35.4 rejects a gate: unrecognized feature gate: GangSchedulin. Did you mean "
        f"GangScheduling? `{program} --help` lists what this one knows."
    )
    assert " Leave it out, or choose a version that knows it. `" in told(program, unknown.format("Bogus"))
    locked = told(
        program, "cannot set feature gate GangScheduling to true, feature is PreAlpha at emulated version"
    )
    assert locked.endswith("Leave it out, or choose another version, or another one after emulate=.")


def test_a_program_that_cannot_help_does_not_hide_the_cause(tmp_path: Path) -> None:
    said = told(str(tmp_path / "absent"), "unrecognized feature gate: Bogus")
    assert said.startswith(
        "kube-apiserver 1.35.4 rejects a gate: unrecognized feature gate: Bogus. Leave it out"
    )


def test_an_unknown_cause_shows_what_the_component_said(program: str) -> None:
    assert told(program, "never seen").splitlines() == [
        "the control plane did not start: kube-apiserver exited with 1. The last lines of /logs/a.log:",
        "  never seen",
    ]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EADDRINUSE, "the control plane did not start: this machine has no free port."),
        (errno.EMFILE, "the control plane did not start: too many files are open."),
        (errno.ENOSPC, "cannot prepare a control plane in /state/clusters/run-1: no space left on device."),
    ],
)
def test_what_the_system_refuses_us_is_named(number: int, said: str) -> None:
    assert str(why_not(OSError(number, "No space left on device"), STATE)).startswith(said)
