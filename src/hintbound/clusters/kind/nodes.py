"""The nodes of a kind cluster: those that we make for a run, and those of a cluster that is there already."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

import yaml

from hintbound import assets, data
from hintbound.clusters.kind import configs, docker
from hintbound.clusters.kind.docker import DockerError
from hintbound.clusters.kind.janitor import Janitor
from hintbound.errors import CannotStart, one_of
from hintbound.protocol import Seconds

_CREATED_WITHIN: Final[Seconds] = 600.0
_EXPORTED_WITHIN: Final[Seconds] = 60.0
_SUFFIX: Final = "-control-plane"
_LONGEST_HOST: Final = 63
"""Characters in the name of a host; the longest of kind's is the cluster's with this suffix."""
_INOTIFY: Final = Path("/proc/sys/fs/inotify/max_user_instances")
_SYSCTL: Final = "fs.inotify.max_user_instances"
_INOTIFY_NEEDED: Final = 512
"""What kind's own documentation advises."""
_KIND_FOR_V1BETA4: Final = (0, 32)
"""The first kind that writes kubeadm's v1beta4, and so the first for Kubernetes 1.36: read in its source."""
_KIND_FOR_THE_REST: Final = (0, 27)
"""Node images of today need it, by its release notes."""


class Nodes(Protocol):
    """Of one kind cluster."""

    @property
    def cluster(self) -> str:
        """kind's name for it."""

    @property
    def version(self) -> str:
        """The Kubernetes that the nodes' image names, e.g. `1.35.8`; known once it is resolved."""

    @property
    def gates(self) -> Mapping[str, bool]:
        """What is set on every component, as far as that is known."""

    @property
    def ours(self) -> bool:
        """Whether they are removed at the end."""

    def resolve(self) -> None:
        """See that they can be had. May build kind. Raises CannotStart."""

    async def claim(self, cluster: str) -> None:
        """See that this name is free, and take it for what will be made. Raises CannotStart, DockerError."""

    async def begin(self, folder: Path, group: int, log: Path) -> None:
        """Make them if need be: with a folder for what belongs to them, in this process group, with a log of
        what kind says. Raises CannotStart, DockerError, TimeoutError."""

    def audit_logs(self) -> Sequence[Path]:
        """What the apiserver logs into a file of this machine."""

    async def export_logs(self, into: Path) -> None:
        """All that the nodes log. Raises OSError."""

    def clean(self) -> None:
        """Remove what was made. May be called twice."""

    def keep(self) -> None:
        """Let them outlive this process."""


class Created:
    """Made by `kind create cluster` from a config, with an audit log that lands on this machine."""

    ours = True

    def __init__(self, config: Path, image: str | None) -> None:
        self._path = config
        self._image = image
        self._config: dict[str, Any] = {}
        self._kind: Path | None = None
        self._audit: Path | None = None
        self._janitor: Janitor | None = None
        self._complete = False
        self.cluster = ""
        self.version = ""

    @property
    def gates(self) -> dict[str, bool]:
        """What the config sets on every component."""
        return dict(self._config.get("featureGates") or {})

    def resolve(self) -> None:
        """See the Protocol."""
        self._path = configs.find(self._path)
        self._config = configs.read(self._path)
        version = configs.version_of(self._config, self._image)
        if version is None:
            raise CannotStart(
                f"{self._path} does not say which Kubernetes its nodes run.",
                next_step="Give all its nodes an `image:` of one version, or add image=kindest/node:v1.35.8.",
            )
        self.version = version
        if len(configs.control_planes(self._config)) > 1:
            raise _too_many(str(self._path))
        docker.check()
        for image in [self._image] if self._image else configs.images(self._config):
            _see_image(image, version)
        if find_spec("pytest_kind") is None:
            raise CannotStart(
                "kind clusters need pytest-kind, which is not installed.",
                next_step="Install it: pip install 'hintbound[kind]'.",
            )
        self._kind = assets.kind()
        _see_kind(self._kind, self._minor)

    async def claim(self, cluster: str) -> None:
        """See the Protocol."""
        if (over := len(f"{cluster}{_SUFFIX}") - _LONGEST_HOST) > 0:
            raise CannotStart(
                f"{cluster} is too long for the name of a kind cluster.",
                next_step=f"Take {over} character{'s' if over > 1 else ''} less.",
            )
        if there := await asyncio.to_thread(docker.containers, cluster):
            raise CannotStart(
                f"a kind cluster named {cluster} exists ({', '.join(there)}).",
                next_step=f"Remove it, if it is not needed: kind delete cluster --name {cluster}.",
            )
        self.cluster = cluster

    async def begin(self, folder: Path, group: int, log: Path) -> None:
        """See the Protocol. In a process of its own, so that it can be broken off."""
        self._audit = folder / "audit"
        self._audit.mkdir()
        shutil.copyfile(data.folder("fixtures") / "audit-policy.yaml", self._audit / configs.POLICY)
        config = folder / "kind.yaml"
        config.write_text(yaml.safe_dump(configs.observed(self._config, self._minor, self._audit)))
        self._janitor = Janitor(self.cluster)
        command = [sys.executable, "-m", "hintbound.clusters.kind.create", self.cluster, str(config)]
        command += [str(folder / "kubeconfig.yaml"), str(self._kind), self._image or ""]
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            creating = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env={**os.environ, docker.NETWORK_VARIABLE: self.cluster},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=group,
            )
        goes_with_it = log.is_relative_to(folder)
        where = "" if goes_with_it else f" (see {log})"
        step = _advice() or (
            "`hintbound run` with this cluster keeps all that kind says." if goes_with_it else ""
        )
        try:
            async with asyncio.timeout(_CREATED_WITHIN):
                code = await creating.wait()
        except TimeoutError as error:
            raise CannotStart(
                f"kind has not created the cluster within {_CREATED_WITHIN:g} s{where}.", next_step=step
            ) from error
        self._complete = True
        if code:
            raise CannotStart(f"kind cannot create the cluster: {_last_error(log)}{where}.", next_step=step)
        (node,) = await asyncio.to_thread(docker.containers, self.cluster, "control-plane")
        await docker.docker_soon("exec", node, "chmod", "a+r", f"{configs.AUDIT}/{configs.LOG}")

    def audit_logs(self) -> Sequence[Path]:
        """See the Protocol."""
        return [self._audit / configs.LOG] if self._audit else []

    async def export_logs(self, into: Path) -> None:
        """See the Protocol."""
        command = ["export", "logs", str(into), "--name", self.cluster]
        try:
            await asyncio.to_thread(
                subprocess.run,
                [str(self._kind), *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_EXPORTED_WITHIN,
                check=True,
            )
        except subprocess.SubprocessError as error:
            raise OSError(f"kind cannot export the logs of {self.cluster}: {error}") from error

    def clean(self) -> None:
        """See the Protocol."""
        if self._janitor:
            self._janitor.clean(complete=self._complete)

    def keep(self) -> None:
        """See the Protocol."""
        if self._janitor:
            self._janitor.keep()

    @property
    def _minor(self) -> int:
        return int(self.version.split(".")[1])


class Attached:
    """Of a kind cluster that somebody else made; it is left as it was found."""

    ours = False
    gates: Final[dict[str, bool]] = {}
    """Nobody knows how they were set; what they are each component says itself."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.version = ""

    def resolve(self) -> None:
        """See the Protocol."""
        docker.check()
        try:
            nodes = docker.containers(self.cluster, "control-plane")
            if not nodes:
                known = docker.clusters()
                none = CannotStart(
                    f"there is no kind cluster {self.cluster!r}, and no other.",
                    next_step="Create one, or name a config: kind:kind-configs/1.35-nnn-on.yaml.",
                )
                raise one_of("kind cluster", self.cluster, known) if known else none
            if len(nodes) > 1:
                raise _too_many(f"kind cluster {self.cluster!r}")
            self.version = docker.docker("exec", nodes[0], "cat", "/kind/version").strip().removeprefix("v")
        except DockerError as error:
            raise CannotStart(
                f"kind cluster {self.cluster!r} cannot be looked at: {error}.",
                next_step="See whether it runs: docker ps --all.",
            ) from error

    async def claim(self, cluster: str) -> None:
        """See the Protocol: it has its name."""

    async def begin(self, folder: Path, group: int, log: Path) -> None:
        """See the Protocol: it is there."""

    def audit_logs(self) -> Sequence[Path]:
        """See the Protocol: nobody knows where they are."""
        return []

    async def export_logs(self, into: Path) -> None:
        """See the Protocol: whoever made it has them."""

    def clean(self) -> None:
        """See the Protocol: nothing was made."""

    def keep(self) -> None:
        """See the Protocol."""


def _see_image(image: str, version: str) -> None:
    """Raises CannotStart for one of our own images that was not built. Others kind pulls, if they exist."""
    if image.startswith("hintbound/") and not docker.image_is_there(image):
        raise CannotStart(
            f"there is no node image {image} here.",
            next_step=f"Build it: make kind-image VERSION={version}.",
        )


def _see_kind(program: Path, minor: int) -> None:
    """Raises CannotStart for a kind that is too old for this minor, or does not run."""
    try:
        said = subprocess.run(
            [str(program), "version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotStart(f"{program} does not run: {error}.", next_step="Mend or remove it.") from error
    oldest = _KIND_FOR_V1BETA4 if minor >= configs.V1BETA4_SINCE else _KIND_FOR_THE_REST
    found = re.search(r"v(\d+)\.(\d+)\.\d+", said)
    if found and tuple(map(int, found.groups())) < oldest:
        raise CannotStart(
            f"{program} is kind {found[0]}, which is too old for Kubernetes 1.{minor}.",
            next_step=f"Update it to v{oldest[0]}.{oldest[1]} or newer, or take it off PATH: "
            "the pinned one is built then.",
        )


def _too_many(what: str) -> CannotStart:
    return CannotStart(
        f"{what} has several control-plane nodes.",
        next_step="Take one with a single control-plane node: its components are stopped and started.",
    )


def _advice() -> str:
    """What to do about a failure of kind's. A node of which kubelet finds no inotify instance left does not
    say so: it hangs, or does not boot. Measured: a node takes up to 20."""
    with contextlib.suppress(OSError, ValueError):
        if (limit := int(_INOTIFY.read_text())) < _INOTIFY_NEEDED:
            return (
                f"This machine allows only {limit} inotify instances: sysctl -w {_SYSCTL}={_INOTIFY_NEEDED}."
            )
    return ""


def _last_error(log: Path) -> str:
    """What kind says was wrong, with what the command said that failed; else what was said last."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    error = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")][-1:]
    output = [line.removeprefix("Command Output: ") for line in lines if line.startswith("Command Output: ")]
    return ": ".join([*error, *output[-1:]] or lines[-1:] or ["it said nothing"]).rstrip(".")
