"""The docker command: what is asked of it, and its refusals in one line with the next step."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from typing import IO, Final

from hintbound.errors import CannotStart
from hintbound.protocol import Seconds

CLUSTER_LABEL: Final = "io.x-k8s.kind.cluster"
"""kind's label on its containers: the cluster's name."""
ROLE_LABEL: Final = "io.x-k8s.kind.role"
NETWORK: Final = "kind"
"""The network that kind makes for all its clusters."""
_WITHIN: Final[Seconds] = 60.0


class DockerError(Exception):
    """Docker refused; the message is its last line."""


def docker(*arguments: str, into: IO[bytes] | None = None, timeout: Seconds = _WITHIN) -> str:
    """Run it and return what it says, or write that `into` a file. Raises DockerError; CannotStart when there
    is no docker."""
    try:
        done = subprocess.run(
            ["docker", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=into or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise CannotStart(
            "docker is not on PATH.", next_step="Install Docker, or use --cluster embedded, which needs none."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise DockerError(f"docker {arguments[0]} took longer than {timeout:g} s") from error
    if done.returncode:
        said = _last_line(done.stderr.decode(errors="replace"))
        raise DockerError(said or f"docker {arguments[0]} ended with {done.returncode}")
    return (done.stdout or b"").decode(errors="replace")


async def docker_soon(*arguments: str, timeout: Seconds = _WITHIN) -> str:
    """As `docker`, beside the event loop."""
    return await asyncio.to_thread(docker, *arguments, timeout=timeout)


def check() -> None:
    """See that an engine answers and is ours to use. Raises CannotStart."""
    if shutil.which("docker") is None:
        raise CannotStart(
            "docker is not on PATH.", next_step="Install Docker, or use --cluster embedded, which needs none."
        )
    try:
        docker("version", "--format", "{{.Server.Version}}", timeout=10)
    except DockerError as error:
        denied = "permission denied" in str(error).lower()
        step = "Join the group docker, or run as a user who may." if denied else "Start Docker."
        raise CannotStart(f"docker cannot be used: {error}.", next_step=step) from error


def image_is_there(tag: str) -> bool:
    """Whether the engine has the image already."""
    try:
        docker("image", "inspect", "--format", "{{.Id}}", tag)
    except DockerError:
        return False
    return True


def containers(cluster: str, role: str | None = None) -> list[str]:
    """Names of a kind cluster's nodes, stopped ones too. Raises DockerError."""
    filters = [f"--filter=label={CLUSTER_LABEL}={cluster}"]
    filters += [f"--filter=label={ROLE_LABEL}={role}"] if role else []
    return sorted(docker("ps", "--all", *filters, "--format", "{{.Names}}").split())


def networks(name: str) -> list[str]:
    """Ids of the networks of exactly this name. Raises DockerError."""
    return docker("network", "ls", "--no-trunc", f"--filter=name=^{name}$", "--format", "{{.ID}}").split()


def remove(cluster: str) -> Sequence[str]:
    """Remove a kind cluster's nodes with their volumes; returns their names. Raises DockerError."""
    if names := containers(cluster):
        docker("rm", "--force", "--volumes", *names)
    return names


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("Error response from daemon: ").rstrip(".") if lines else ""
