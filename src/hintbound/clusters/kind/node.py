"""The components in a kind cluster's control-plane node: static pods, which kubelet starts and starts again.

A component is held down by taking its manifest out of the folder that kubelet reads, and comes back with it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hintbound.clusters.embedded.process import Listener
from hintbound.clusters.kind.docker import APISERVER_PORT, DockerError, docker, docker_soon
from hintbound.clusters.protocol import READY_WITHIN, ComponentState
from hintbound.kube.metrics import Metrics, component_version, feature_gates
from hintbound.protocol import ComponentKind, Seconds

_MANIFESTS: Final = "/etc/kubernetes/manifests"
_ASIDE: Final = "/etc/kubernetes/hintbound-aside"
_PORTS: Final = {
    ComponentKind.APISERVER: APISERVER_PORT,
    ComponentKind.CONTROLLER_MANAGER: 10257,
    ComponentKind.SCHEDULER: 10259,
}
"""On the node's loopback; kubeadm's defaults. etcd serves no gates."""
_IDENTITY: Final = "/etc/kubernetes/admin.conf"
"""A kubeconfig of an administrator, which every control-plane node of kubeadm's has. (The certificate with
which the apiserver speaks to kubelets is none of an administrator's from 1.36 on.)"""
_POLL: Final[Seconds] = 0.1
_ANSWERS_WITHIN: Final[Seconds] = 5.0
_ENDS_WITHIN: Final[Seconds] = 45.0
"""kubelet looks at its manifests every 20 s at the latest and gives a component 30 s of grace."""


def put_back(node: str, kinds: Iterable[ComponentKind] = ComponentKind) -> None:
    """Let run again what a command of ours holds down in this node, of these. Raises DockerError."""
    kinds = list(kinds)
    aside = " ".join(f"{_ASIDE}/{kind}.yaml" for kind in kinds)
    back = f"for held in {aside}; do [ ! -e $held ] || mv $held {_MANIFESTS}/; done"
    processes = "|".join(map(_process, kinds))
    docker("exec", node, "sh", "-c", f"{back}; pkill -CONT -x '{processes}' || true")


def _process(kind: ComponentKind) -> str:
    """The kernel keeps 15 characters of a process's name."""
    return kind[:15]


class NodeComponent:
    """See the Component protocol. `node` is the name of the control-plane node's container."""

    def __init__(self, kind: ComponentKind, node: str, listener: Listener) -> None:
        self.kind = kind
        self.name = str(kind)
        self._node = node
        self._listener = listener
        self._held = False
        """Whether it stands still, or its manifest is away: our doing, to be undone."""

    async def metrics(self, *families: str) -> Metrics:
        """These families of its `/metrics`, read now; all when none is named. Raises DockerError."""
        return Metrics.parse(await self.page("/metrics"), *families)

    async def page(self, path: str) -> str:
        """A page that it serves: `/metrics`, `/configz`. Raises DockerError.

        Asked for in the node, by the kubectl there: so no configuration must open it to the outside, and the
        way does not lead through the apiserver, which may be the one that was stopped.
        """
        server = f"https://127.0.0.1:{_PORTS[self.kind]}"
        # Their certificates are signed by nobody.
        where = ("--server", server, "--insecure-skip-tls-verify", "--kubeconfig", _IDENTITY)
        command = ("exec", self._node, "kubectl", "get", "--raw", path, *where)
        return await docker_soon(*command, timeout=_ANSWERS_WITHIN)

    async def state(self) -> ComponentState:
        """Its version and gates as it says itself; neither when it does not answer."""
        if self.kind not in _PORTS:
            return ComponentState(self.name, self.kind, "unknown", None, "serves no gates")
        try:
            text = await self.page("/metrics")
        except DockerError as error:
            return ComponentState(self.name, self.kind, "unknown", None, f"does not answer: {error}")
        version = component_version(text) or "unknown"
        return ComponentState(self.name, self.kind, version, feature_gates(text), "/metrics, in its node")

    async def lifeless(self) -> str:
        """See the Protocol."""
        state = (await self._in_node(f"ps -o stat= -C {_process(self.kind)} || true")).strip()
        if state.startswith("T"):
            return f"{self.name} stands still (SIGSTOP)"
        if not state or self.kind not in _PORTS:
            return ""
        try:
            await self.page("/healthz")
        except DockerError as error:
            return f"{self.name} does not answer: {error}" if await self._runs() else ""
        return ""

    async def stop(self) -> None:
        """Take its manifest away and wait until it has ended politely. Raises TimeoutError, DockerError."""
        await self._aside()
        await self._ended()
        self._listener("stopped", self, {})

    async def kill(self) -> None:
        """SIGKILL, and it stays away until `restart`. Raises TimeoutError, DockerError."""
        await self._aside()
        await self._signal("KILL")
        await self._ended()
        self._listener("killed", self, {})

    async def restart(self) -> None:
        """Stop it if it runs, start it again as it was, wait until it is ready.

        Raises TimeoutError, DockerError.
        """
        await self._aside()
        await self._ended()
        await self._in_node(f"mv {_ASIDE}/{self.name}.yaml {_MANIFESTS}/")
        self._held = False
        deadline = time.monotonic() + READY_WITHIN
        while not await self._ready():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} was not ready within {READY_WITHIN:g} s")
            await asyncio.sleep(_POLL)
        self._listener("started", self, {})

    def pause(self) -> None:
        """SIGSTOP. Raises DockerError."""
        self._held = True
        docker("exec", self._node, "pkill", "-STOP", "-x", _process(self.kind))
        self._listener("paused", self, {})

    def resume(self) -> None:
        """SIGCONT. Raises DockerError."""
        docker("exec", self._node, "pkill", "-CONT", "-x", _process(self.kind))
        self._held = False
        self._listener("resumed", self, {})

    async def undo(self) -> None:
        """Let it run again if it was held: for a cluster that goes on without us. Raises DockerError."""
        if self._held:
            await asyncio.to_thread(put_back, self._node, [self.kind])
            self._held = False

    def copy_program(self, into: Path) -> None:
        """Copy the very program that runs to a file of this machine. Raises DockerError."""
        pid = docker("exec", self._node, "pgrep", "-x", _process(self.kind)).split()[0]
        # Not `docker cp`: it looks at the node from outside, where /proc is another one.
        with into.open("wb") as file:
            docker("exec", self._node, "cat", f"/proc/{pid}/exe", into=file)

    async def _aside(self) -> None:
        self._held = True
        move = f"[ ! -e {_MANIFESTS}/{self.name}.yaml ] || mv {_MANIFESTS}/{self.name}.yaml {_ASIDE}/"
        await self._in_node(f"mkdir -p {_ASIDE} && {move}")

    async def _signal(self, name: str) -> None:
        await self._in_node(f"pkill -{name} -x {_process(self.kind)} || true")

    async def _ended(self) -> None:
        await self._signal("CONT")  # a paused process acts on SIGTERM only once it runs again
        deadline = time.monotonic() + _ENDS_WITHIN
        while await self._runs():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} did not end within {_ENDS_WITHIN:g} s")
            await asyncio.sleep(_POLL)

    async def _runs(self) -> bool:
        return bool((await self._in_node(f"pgrep -x {_process(self.kind)} || true")).strip())

    async def _ready(self) -> bool:
        if self.kind not in _PORTS:
            return await self._runs()
        try:
            await self.page("/healthz")
        except DockerError:
            return False
        return True

    async def _in_node(self, script: str) -> str:
        return await docker_soon("exec", self._node, "sh", "-c", script)
