"""The docker command: what is asked of it, and its refusals in one line with the next step."""

from __future__ import annotations

import asyncio
import re
import subprocess
from typing import IO, Final

from hintbound.errors import CannotStart
from hintbound.protocol import Seconds

CLUSTER_LABEL: Final = "io.x-k8s.kind.cluster"
"""kind's label on its containers: the cluster's name."""
ROLE_LABEL: Final = "io.x-k8s.kind.role"
NETWORK_VARIABLE: Final = "KIND_EXPERIMENTAL_DOCKER_NETWORK"
"""kind's: the network that it makes if need be, in the place of the one that all its clusters share. Each of
ours has its own, of the cluster's name: so it is sure whose it is and when it can go."""
APISERVER_PORT: Final = 6443
"""In a node."""
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
    try:
        docker("version", "--format", "{{.Server.Version}}", timeout=10)
    except DockerError as error:
        denied = "permission denied" in str(error).lower()
        step = "Join the group docker, or run as a user who may." if denied else "Start Docker."
        said = str(error).removesuffix(" Is the docker daemon running?").rstrip(".")
        raise CannotStart(f"docker cannot be used: {said}.", next_step=step) from error


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


def clusters() -> list[str]:
    """Names of all kind clusters there are. Raises DockerError."""
    shown = '{{.Label "' + CLUSTER_LABEL + '"}}'
    return sorted(set(docker("ps", "--all", f"--filter=label={CLUSTER_LABEL}", "--format", shown).split()))


def server(node: str) -> str:
    """The URL on this machine of the apiserver in a control-plane node. Raises DockerError."""
    host, _, port = docker("port", node, f"{APISERVER_PORT}/tcp").split()[0].rpartition(":")
    return f"https://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"


def remove(cluster: str) -> None:
    """Remove a kind cluster of ours: its nodes with their volumes, and its network. Raises DockerError."""
    if names := containers(cluster):
        docker("rm", "--force", "--volumes", *names)
    if networks := docker(
        "network", "ls", f"--filter=name=^{re.escape(cluster)}$", "--format", "{{.ID}}"
    ).split():
        docker("network", "rm", *networks)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("Error response from daemon: ").rstrip(".") if lines else ""
