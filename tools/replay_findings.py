"""Play the reproduction of every page of `docs/findings` on every cluster that it names.

    python tools/replay_findings.py [PAGE...] [--on 1.35.4]... [--at-once 2]
    python tools/replay_findings.py --index        # writes the table of docs/findings/README.md instead

Each is played in bash, verbatim, on a control plane brought up for it, and must print what the page says.
Any command that fails ends it. Exits 1 when a page is untrue anywhere, 254 when a part is missing.
What takes real nodes is played on a kind cluster of the node image that HINTBOUND_KIND_IMAGE names, else left
out.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hintbound import assets
from hintbound.errors import CannotStart, one_of
from hintbound.protocol import ExitCode
from hintbound.report import findings
from hintbound.report.findings import Finding

FOLDER = Path(__file__).parents[1] / "docs" / "findings"
HINTBOUND = (sys.executable, "-m", "hintbound")
LIMIT = 180
"""Seconds for one reproduction."""
_OURS = Path(sys.executable).parent
"""Where `hintbound` is, which some reproductions call."""
_KIND_IMAGE = os.environ.get("HINTBOUND_KIND_IMAGE", "")
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Replay:
    """What one page came to on one cluster."""

    page: str
    spec: str
    seconds: float
    wrong: str
    """Empty when the page is true."""
    output: str


def missing(wanted: Sequence[str], output: str) -> str | None:
    """The first of these lines that does not come in its turn, spaces aside; `…` in a line is anything."""
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    for line in wanted:
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in line.split("…"))
        pattern = pattern.replace(".*", " ?.* ?")
        if line.strip() and not any(re.fullmatch(pattern, one) for one in lines):
            return line
    return None


def replay(finding: Finding, spec: str) -> Replay:
    """Bring the cluster up, play the page, end everything that it started."""
    begun = time.monotonic()
    name = f"replay-{os.getpid()}-{next(_numbers)}"
    try:
        with (_of_kind if _takes_kind(spec) else _embedded)(findings.cluster(spec), name) as kubeconfig:
            code, output = play(finding.script, kubeconfig)
    except _DidNotComeUp as error:
        return Replay(finding.name, spec, time.monotonic() - begun, "the cluster did not come up", str(error))
    wrong = f"it ended with {code}" if code else ""
    if not code and (line := missing(finding.printed(spec), output)) is not None:
        wrong = f"it did not print, in its turn: {line}"
    return Replay(finding.name, spec, time.monotonic() - begun, wrong, output)


class _DidNotComeUp(Exception):
    """With what was said."""


@contextlib.contextmanager
def _embedded(spec: str, name: str) -> Iterator[str]:
    """The path of its kubeconfig."""
    up = _run(*HINTBOUND, "cluster", "up", spec, "--name", name)
    if up.returncode:
        raise _DidNotComeUp(up.stderr)
    try:
        yield _run(*HINTBOUND, "cluster", "kubeconfig", name).stdout.strip()
    finally:
        _run(*HINTBOUND, "cluster", "down", name)


def _takes_kind(spec: str) -> bool:
    return findings.cluster(spec).startswith("kind:")


@contextlib.contextmanager
def _of_kind(spec: str, name: str) -> Iterator[str]:
    """As a reader makes it, with kind alone; the path of its kubeconfig."""
    kind, config = str(assets.kind()), FOLDER.parents[1] / spec.partition(":")[2]
    with tempfile.TemporaryDirectory() as folder:
        named = ("--name", name, "--kubeconfig", f"{folder}/kubeconfig")
        up = _run(kind, "create", "cluster", *named, "--config", str(config), "--image", _KIND_IMAGE)
        if up.returncode:
            raise _DidNotComeUp(up.stderr)
        try:
            yield f"{folder}/kubeconfig"
        finally:
            _run(kind, "delete", "cluster", *named)


def play(script: str, kubeconfig: str) -> tuple[int, str]:
    """The exit code and all that a reproduction prints. Whatever it started ends with it."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        bash = subprocess.Popen(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "KUBECONFIG": kubeconfig, "PATH": f"{_OURS}{os.pathsep}{os.environ['PATH']}"},
            start_new_session=True,
        )
        try:
            code = bash.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(bash.pid, signal.SIGKILL)
            bash.wait()
        output.seek(0)
        return code, output.read()


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def chosen(pages: Sequence[str], specs: Sequence[str]) -> Iterator[tuple[Finding, str]]:
    """Each page with each cluster on which it is to be played. Raises CannotStart for an unknown one."""
    known = {finding.name: finding for finding in findings.read(FOLDER)}
    named = [page.removesuffix(".md").rpartition("/")[2] for page in pages] or list(known)
    everywhere = {spec for finding in known.values() for spec in (*finding.seen, *finding.not_seen)}
    for spec in specs:
        if spec not in everywhere:
            raise one_of("cluster of a finding", spec, sorted(everywhere))
    for name in named:
        if name not in known:
            raise one_of("finding", name, sorted(known))
        for spec in (*known[name].seen, *known[name].not_seen):
            if specs and spec not in specs:
                continue
            if _takes_kind(spec) and not _KIND_IMAGE:
                print(f"left out {name} on {spec}: HINTBOUND_KIND_IMAGE names no node image", flush=True)
                continue
            yield known[name], spec


def index() -> str:
    """The page of the index with its table made anew."""
    words, mark, _ = (FOLDER / findings.INDEX).read_text(encoding="utf-8").partition("`. -->\n")
    return "\n".join((f"{words}{mark}", *findings.index(findings.read(FOLDER)), ""))


def main() -> int:
    """Replay what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="all when none is named")
    parser.add_argument("--on", action="append", default=[], metavar="SPEC", help="only on this cluster")
    parser.add_argument(
        "--at-once", type=int, default=2, metavar="N", help="clusters side by side [default: 2]"
    )
    parser.add_argument("--index", action="store_true", help="write the table of the index, replay nothing")
    asked = parser.parse_args()
    if asked.index:
        (FOLDER / findings.INDEX).write_text(index(), encoding="utf-8")
        return ExitCode.PASS
    for program in ("kubectl", "bash"):
        if shutil.which(program) is None:
            raise CannotStart(
                f"{program} is not in PATH, and the reproductions are commands of it.",
                next_step="Install it: https://kubernetes.io/docs/tasks/tools/."
                if program == "kubectl"
                else "Install it with your package manager.",
            )
    failed = 0
    with ThreadPoolExecutor(asked.at_once) as pool:
        for done in pool.map(lambda pair: replay(*pair), list(chosen(asked.pages, asked.on))):
            print(
                f"{'UNTRUE' if done.wrong else 'true':<6} {done.page} on {done.spec} in {done.seconds:.0f} s",
                flush=True,
            )
            if done.wrong:
                failed += 1
                print(f"  {done.wrong}\n    " + "\n    ".join(done.output.splitlines()), flush=True)
    print(f"{failed} untrue")
    return ExitCode.FAIL if failed else ExitCode.PASS


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as error:
        print(f"replay_findings: {error}", file=sys.stderr)
        sys.exit(ExitCode.CANNOT_START)
