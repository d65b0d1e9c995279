"""Adds a pin: `controlplane/<version>/{go.mod,go.sum}` of one more Kubernetes version."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Final

from hintbound import data
from hintbound.assets import build, cache, command, disk, toolchain
from hintbound.assets.pins import CONTROL_PLANE, NODE, go_line
from hintbound.assets.progress import Show, Task
from hintbound.errors import CannotStart

_OLDEST_GO: Final = "1.24.0"
"""`tool` lines exist from here on."""
_UNKNOWN: Final = re.compile(
    r"unknown revision|not found|404|410 Gone|403 Forbidden|invalid version", re.IGNORECASE
)


def pin(version: str, into: Path | None, show: Show) -> Path:
    """Write the pin of an exact version into the folder `into` (default: the checkout's `controlplane`).

    Returns the pin's folder. Whole or not at all. Raises CannotStart.
    """
    exact = version.strip().removeprefix("v")
    if not re.fullmatch(r"1\.\d+\.\d+", exact):
        raise CannotStart(
            f"{version!r} is no exact Kubernetes version.", next_step="Give all three numbers, e.g. 1.36.3."
        )
    target = _home(into) / exact
    if target.exists():
        raise CannotStart(
            f"Kubernetes {exact} is pinned already: {target}.", next_step="Remove it first to pin it anew."
        )
    with (
        disk.touching(target),
        show.task(f"pinning Kubernetes {exact}") as task,
        cache.temporary() as scratch,
    ):
        _write(exact, scratch, task, show)
        _put(scratch, target)
    return target


def go_mod(version: str, upstream: str) -> str:
    """The pin's go.mod before `go mod tidy`, from upstream's: its `go` and `godebug`, its staging modules.

    Upstream replaces each staging module by a folder; outside of its repository that is v0.MINOR.PATCH.
    """
    staging = re.findall(r"^\s*(?:replace )?(k8s\.io/\S+) => \./staging/", upstream, re.MULTILINE)
    godebug = re.findall(r"^godebug (?:\w\S*|\([^)]*\))", upstream, re.MULTILINE)
    go = re.findall(r"^go \S+", upstream, re.MULTILINE)
    return "\n".join(
        [
            "module hintbound.dev/controlplane",
            *go,
            *godebug,
            f"require k8s.io/kubernetes v{version}",
            *(f"replace {name} => {name} v0.{version.removeprefix('1.')}" for name in staging),
            *(f"tool k8s.io/kubernetes/cmd/{name}" for name in (*CONTROL_PLANE, *NODE)),
            "",
        ]
    )


def _home(into: Path | None) -> Path:
    if into is not None:
        if not into.is_dir():
            raise CannotStart(f"--into {into} is no folder.", next_step="Create it first.")
        return into.absolute()
    if data.checkout() is None:
        raise CannotStart(
            "there is no checkout to pin into: hintbound was installed from a wheel.",
            next_step="Give a folder with --into DIR, or clone the repository.",
        )
    return data.folder("controlplane")


def _write(version: str, scratch: Path, task: Task, show: Show) -> None:
    upstream = _upstream(version, scratch, task, show)
    tools = toolchain.find(go_line(upstream), show)
    module = scratch / "module"
    module.mkdir()
    (module / "go.mod").write_text(go_mod(version, upstream.read_text()))
    ended = command.run(
        [tools.go, "mod", "tidy"], cwd=module, env=tools.environment(GOWORK="off"), on_line=task.note
    )
    if ended.code:
        raise build.failure(f"the pin of Kubernetes {version}", ended)


def _upstream(version: str, scratch: Path, task: Task, show: Show) -> Path:
    """Kubernetes' own go.mod of that version, in Go's module cache."""
    tools = toolchain.find(_OLDEST_GO, show)
    ended = command.run(
        [tools.go, "list", "-m", "-json", f"k8s.io/kubernetes@v{version}"],
        cwd=scratch,
        env=tools.environment(GOWORK="off"),
        on_line=task.note,
    )
    if ended.code == 0:
        return Path(json.loads(ended.text[ended.text.index("{") :])["GoMod"])
    if _UNKNOWN.search(ended.text):
        raise CannotStart(
            f"there is no Kubernetes {version} ({ended.lines[0].removeprefix('go: ')}).",
            next_step="Releases are listed on https://kubernetes.io/releases/.",
        )
    raise build.failure(f"the pin of Kubernetes {version}", ended)


def _put(scratch: Path, target: Path) -> None:
    """Copy beside the target, then rename: the cache may be on another disk."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        draft.mkdir()
        for name in ("go.mod", "go.sum"):
            (draft / name).write_bytes((scratch / "module" / name).read_bytes())
        draft.rename(target)
    finally:
        if draft.exists():
            cache.remove(draft)
