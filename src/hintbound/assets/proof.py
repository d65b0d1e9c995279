"""Asks a program which version it is: the only proof that a file runs here and is what its place says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Final

from hintbound.errors import cause
from hintbound.protocol import Seconds

_TIMEOUT: Final[Seconds] = 30
_QUESTIONS: Final[Mapping[str, Sequence[str]]] = {
    "kubeadm": ("version", "--output=short"),
    "kubectl": ("version", "--client"),
}
"""How programs are asked that do not know `--version`."""
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+\.\d+\.\d+[\w.+-]*)")


class NotRunnableError(Exception):
    """The file is no program for this machine; the message says why."""


def reported_versions(programs: Mapping[str, Path]) -> dict[str, str]:
    """What each program answers to `--version`, without the leading v. Raises NotRunnableError."""
    with ThreadPoolExecutor(max_workers=len(programs) or 1) as pool:
        return dict(zip(programs, pool.map(reported_version, programs.values()), strict=True))


def reported_version(program: Path) -> str:
    """What a program answers to `--version`, without the leading v. Raises NotRunnableError."""
    try:
        facts = program.stat()
    except OSError as error:
        raise NotRunnableError(f"{program}: {error.strerror}") from error
    return _ask(program, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=64)
def _ask(program: Path, _mtime_ns: int, _size: int) -> str:
    try:
        answer = subprocess.run(
            [program, *_QUESTIONS.get(program.name, ("--version",))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except OSError as error:
        raise NotRunnableError(f"{program} cannot be run: {cause(error)}") from error
    except subprocess.TimeoutExpired as error:
        raise NotRunnableError(f"{program} --version did not answer in {_TIMEOUT:.0f} s") from error
    found = _VERSION.search(answer.stdout)
    if answer.returncode or found is None:
        said = (answer.stderr or answer.stdout).strip().splitlines()
        raise NotRunnableError(
            f"{program} --version ended with {answer.returncode}: {said[-1] if said else 'no output'}"
        )
    return found[1]
