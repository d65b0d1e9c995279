"""The control plane of a Kubernetes checkout, built once per content of that checkout."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hintbound.assets import build, cache, pins, proof, toolchain
from hintbound.assets.manifest import Made, digest
from hintbound.assets.pins import CONTROL_PLANE
from hintbound.assets.progress import Show
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind

_BASE_VERSION_FILE: Final = "staging/src/k8s.io/component-base/version/base.go"
_IGNORED: Final = frozenset({".git", "_output", "_artifacts", "node_modules"})


@dataclass(frozen=True, slots=True)
class Checkout:
    """A Kubernetes source tree as it is now. `content` is a digest of all that a build may read."""

    folder: Path
    version: str
    commit: str
    dirty: bool
    content: str


def control_plane(folder: Path, show: Show) -> tuple[str, dict[ComponentKind, Path]]:
    """Version and programs of a Kubernetes checkout. Raises CannotStart."""
    checkout = examine(folder)
    ldflags = pins.version_ldflags(
        f"v{checkout.version}", tree="dirty" if checkout.dirty else "clean", commit=checkout.commit
    )
    title = f"Kubernetes {checkout.version} of {checkout.folder}"
    recipe = "\0".join((checkout.content, *pins.FLAGS, *ldflags))
    key = cache.Key("source", checkout.version, hashlib.sha256(recipe.encode()).hexdigest(), title)
    entry = cache.obtain(key, lambda into: _make(checkout, ldflags, title, into, show), show)
    return checkout.version, {kind: entry.file(kind) for kind in CONTROL_PLANE}


def examine(folder: Path) -> Checkout:
    """What the checkout is. Raises CannotStart when it is none."""
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise CannotStart(f"src={folder} is no folder.", next_step="Give the root of a Kubernetes checkout.")
    go_mod = folder / "go.mod"
    wanted = [go_mod, *(folder / "cmd" / kind for kind in CONTROL_PLANE)]
    missing = [str(path.relative_to(folder)) for path in wanted if not path.exists()]
    if missing or not re.search(
        r"^module k8s\.io/kubernetes$", go_mod.read_text(errors="replace"), re.MULTILINE
    ):
        reason = f"it lacks {', '.join(missing)}" if missing else "its go.mod is not of k8s.io/kubernetes"
        raise CannotStart(
            f"src={folder} is no Kubernetes checkout: {reason}.",
            next_step="Give the root of a clone of the Kubernetes repository.",
        )
    commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if commit is None or top is None or Path(top.strip()).resolve() != folder.resolve():
        return Checkout(folder, _own_version(folder), "", dirty=False, content=_by_stats(folder))
    return _of_git(folder, commit.strip())


def _of_git(folder: Path, commit: str) -> Checkout:
    diff = _git(folder, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--no-color") or ""
    untracked = [
        name
        for name in (_git(folder, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")
        if name
    ]
    content = hashlib.sha256(f"{commit}\0{diff}".encode("utf-8", "surrogateescape"))
    for name in untracked:
        path = folder / name
        content.update(
            f"\0{name}\0{digest(path) if path.is_file() else ''}".encode("utf-8", "surrogateescape")
        )
    dirty = bool(diff or untracked)
    described = _git(folder, "describe", "--tags", "--match=v[0-9]*", "--abbrev=14", commit)
    if described:
        version = described_version(described.strip(), dirty=dirty)
    else:
        version = f"{_own_version(folder)}+{commit[:14]}{'-dirty' * dirty}"
    return Checkout(folder, version, commit, dirty=dirty, content=content.hexdigest())


def described_version(described: str, *, dirty: bool) -> str:
    """A version from `git describe`, as upstream's hack/lib/version.sh writes it, without the v.

    `v1.37.0-alpha.1-5-g0123456789abcd` becomes `1.37.0-alpha.1.5+0123456789abcd`,
    `v1.36.3-5-g0123456789abcd` becomes `1.36.3-5+0123456789abcd`.
    """
    version = described.removeprefix("v")
    separator = "." if described.count("-") == 3 else "-"
    version = re.sub(r"-(\d+)-g([0-9a-f]{14})$", rf"{separator}\1+\2", version)
    if not dirty:
        return version
    return f"{version}-dirty" if "+" in version else f"{version}+dirty"


def _own_version(folder: Path) -> str:
    """What a tree without tags says about itself: only its minor is known."""
    file = folder / _BASE_VERSION_FILE
    found = (
        re.search(r'DefaultKubeBinaryVersion\s*=\s*"(\d+\.\d+)"', file.read_text())
        if file.is_file()
        else None
    )
    if found is None:
        raise CannotStart(
            f"src={folder} has no version: it has no git tags, and {_BASE_VERSION_FILE} names none.",
            next_step="Fetch the tags (`git fetch --tags`), or give a checkout of 1.31 or newer.",
        )
    return f"{found[1]}.0-source"


def _by_stats(folder: Path) -> str:
    """A digest of names, sizes and times: a tree without git is too large to be read each time."""
    content = hashlib.sha256()
    for path, facts in sorted(_files(folder)):
        content.update(f"{path}\0{facts[0]}\0{facts[1]}\n".encode("utf-8", "surrogateescape"))
    return content.hexdigest()


def _files(folder: Path) -> Iterable[tuple[str, tuple[int, int]]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _IGNORED]
        for name in names:
            path = os.path.join(parent, name)
            facts = os.lstat(path)
            yield os.path.relpath(path, folder), (facts.st_size, facts.st_mtime_ns)


def _make(checkout: Checkout, ldflags: tuple[str, ...], title: str, into: Path, show: Show) -> Made:
    tools = toolchain.find(pins.go_line(checkout.folder / "go.mod"), show)
    with show.task(f"building {title} with Go {tools.version}") as task:
        build.programs(
            title,
            f"{into}/",
            [f"./cmd/{kind}" for kind in CONTROL_PLANE],
            ldflags=ldflags,
            where=checkout.folder,
            toolchain=tools,
            task=task,
            workspace=True,
        )
    try:
        proof.reported_versions({kind: into / kind for kind in CONTROL_PLANE})
    except proof.NotRunnableError as error:
        raise CannotStart(
            f"{title} was built but does not run: {error}.", next_step="Look into the checkout."
        ) from error
    return Made(
        source="source",
        origin=f"{checkout.folder}, Go {tools.version}",
        go=tools.version,
        checkout=str(checkout.folder),
    )


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, or None when it cannot (no git, no repository, somebody else's repository)."""
    try:
        answer = subprocess.run(
            ["git", "-C", folder, *arguments],
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
    except OSError:
        return None
    return answer.stdout if answer.returncode == 0 else None
