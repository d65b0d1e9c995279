"""Stand-ins for Go, for a release server and for the screen."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from hintbound.assets import cache
from hintbound.assets.progress import Task

FAKE_GO = """#!{python} -IS
import os, re, sys, time
arguments, environ = sys.argv[1:], os.environ
if arguments == ["version"]:
    print("go version go" + environ.get("FAKE_GO_VERSION", "1.27.3") + " linux/amd64")
    sys.exit()
with open(environ["FAKE_GO_LOG"], "a") as log:
    log.write(str(os.getpid()) + " " + " ".join(arguments) + "\\n")
if environ.get("FAKE_GO_FAILS"):
    print("k8s.io/fake/package")
    print(environ["FAKE_GO_FAILS"])
    sys.exit(1)
if arguments[:2] == ["list", "-m"]:
    upstream = environ["FAKE_GO_UPSTREAM"]
    print("{{" + '"GoMod": "' + upstream + '"' + "}}")
    sys.exit()
if arguments == ["mod", "tidy"]:
    open("go.sum", "w").write("sums\\n")
    sys.exit()
output = arguments[arguments.index("-o") + 1]
packages = [a for a in arguments[arguments.index("-o") + 2:]]
match = re.search(r"gitVersion=v(\\S+)", " ".join(arguments))
version = match[1] if match else re.search(
    r"^\\s*(?:go.etcd.io/etcd/server/v3|sigs.k8s.io/(?:kwok|kind)) v(\\S+)", open("go.mod").read(), re.M)[1]
for package in packages:
    target = output + package.rpartition("/")[2] if output.endswith("/") else output
    with open(target, "w") as file:
        file.write("#!/bin/sh\\n")
        file.flush()
        time.sleep(float(environ.get("FAKE_GO_SECONDS", "0")))
        while environ.get("FAKE_GO_HELD_BY") and os.path.exists(environ["FAKE_GO_HELD_BY"]):
            time.sleep(0.01)
        file.write("echo Fake v" + environ.get("FAKE_GO_MAKES", version) + "\\n")
    os.chmod(target, 0o755)
"""


class Recorded:
    """Keeps what would be shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        self.lines.append(title)
        yield self

    def note(self, text: str) -> None:
        pass

    def amount(self, done: int, total: int | None) -> None:
        pass

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class FakeGo:
    """A `go` on PATH that writes shell scripts instead of programs, driven by FAKE_GO_* variables."""

    log: Path

    def builds(self) -> list[str]:
        if not self.log.exists():
            return []
        return [line for line in self.log.read_text().splitlines() if " build " in line]

    def pids(self) -> list[int]:
        return [int(line.split()[0]) for line in self.builds()]


@dataclass
class Releases:
    """A download server. `wrong` maps a path's end to what it does instead of serving the file."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    wrong: dict[str, Callable[[BaseHTTPRequestHandler, bytes], None]] = field(default_factory=dict)

    def publish(self, version: str, *names: str, says: str | None = None, padding: int = 0) -> None:
        for name in names:
            content = b"#!/bin/sh\necho Kubernetes v%s\n#" % (says or version).encode() + b"x" * padding
            path = f"/v{version}/bin/linux/amd64/{name}"
            self.files[path] = content
            self.files[f"{path}.sha256"] = hashlib.sha256(content).hexdigest().encode()


def run_python(code: str, **env: str) -> subprocess.Popen[str]:
    """Start a Python of its own, to be killed or raced."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def leftovers() -> list[str]:
    """What lies in the cache's workshop."""
    workshop = cache.root() / ".tmp"
    return sorted(path.name for path in workshop.iterdir()) if workshop.exists() else []
