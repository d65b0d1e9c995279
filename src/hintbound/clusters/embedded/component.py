"""A handle on one process of an embedded control plane, and the ways to ask whether it is ready."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from hintbound import assets
from hintbound.clusters.embedded.ports import LOOPBACK, HeldPort
from hintbound.clusters.embedded.process import Process, Ready
from hintbound.clusters.protocol import READY_WITHIN, ComponentState
from hintbound.kube.client import Client
from hintbound.kube.errors import ApiError, KubeError, TransportError
from hintbound.kube.metrics import Metrics, component_version, feature_gates
from hintbound.protocol import ComponentKind, Seconds

_PROBE: Seconds = 2.0
_ANSWERS_WITHIN: Seconds = 5.0
_ATTEMPTS = 6
"""A machine may stand still for a while; what is asked here is asked once in a run."""


class EmbeddedComponent:
    """A handle on one of the processes."""

    def __init__(
        self,
        process: Process,
        ports: Sequence[HeldPort],
        client: Client | None,
        changed: Callable[[], None],
        claims: ComponentState | None = None,
    ) -> None:
        self.process = process
        self._ports = ports
        self._client = client
        self._changed = changed
        self._claims = claims
        """What others say of it where it does not say itself."""

    @property
    def name(self) -> str:
        """Its name in the cluster."""
        return self.process.name

    @property
    def kind(self) -> ComponentKind:
        """Which program it is."""
        return self.process.kind

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self.process.pid

    @property
    def port(self) -> int:
        """The port it serves clients on."""
        assert self._ports, f"{self.name} serves no port"
        return self._ports[0].number

    async def lifeless(self) -> str:
        """See the Protocol. Any answer of its health endpoint is a sign of life, also that it is unwell."""
        if self.process.stands_still:
            return f"{self.name} stands still (SIGSTOP)"
        if self._client is None or not self.process.running:
            return ""
        try:
            await self._client.get_text("/healthz", timeout=_ANSWERS_WITHIN)
        except ApiError:
            return ""
        except KubeError as error:
            return f"{self.name} does not answer: {error}" if self.process.running else ""
        return ""

    async def metrics(self, *families: str) -> Metrics:
        """These families of its `/metrics`, read now; all when none is named."""
        return Metrics.parse(await self.page("/metrics"), *families)

    async def page(self, path: str) -> str:
        """A page that it serves, asked for by the admin: `/metrics`, `/configz`."""
        assert self._client is not None, f"{self.name} serves no pages"
        return await self._client.get_text(path)

    async def state(self) -> ComponentState:
        """Its version and gates as it says itself, else as is claimed of it; neither when it does not
        answer."""
        if self._client is None and self._claims:
            return self._claims
        if self._client is None:
            version = await asyncio.to_thread(assets.pinned_version, self.kind)
            return ComponentState(self.name, self.kind, version, None, "the pin it was built from")
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                text = await self._client.get_text("/metrics", timeout=_ANSWERS_WITHIN)
                break
            except KubeError as error:
                if isinstance(error, ApiError) and self._claims:  # it serves other pages, and not this one
                    return self._claims
                if not attempts_left or not self.process.running:
                    return ComponentState(self.name, self.kind, "unknown", None, f"does not answer: {error}")
        said = ComponentState(
            self.name, self.kind, component_version(text) or "unknown", feature_gates(text), "/metrics"
        )
        return said.completed(self._claims) if self._claims else said

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL after a grace."""
        try:
            await self.process.stop()
        finally:
            self._changed()

    async def kill(self) -> None:
        """SIGKILL."""
        try:
            await self.process.kill()
        finally:
            self._changed()

    async def restart(self) -> None:
        """Start it again as it was, on the same port; wait until it is ready."""
        try:
            await self.process.restart(READY_WITHIN)
        finally:
            self._changed()

    def pause(self) -> None:
        """SIGSTOP."""
        self.process.pause()

    def resume(self) -> None:
        """SIGCONT."""
        self.process.resume()

    async def close(self) -> None:
        """End it for good and let its ports go."""
        try:
            await self.process.kill()
        finally:
            await self.let_go()

    async def let_go(self) -> None:
        """Let go of its ports, watch it no longer, close our connection; the process goes on."""
        for port in self._ports:
            port.release()
        self.process.let_go()
        if self._client:
            await self._client.aclose()


def answers(client: Client, path: str) -> Ready:
    """Asks a health endpoint."""

    async def ask() -> bool:
        with contextlib.suppress(ApiError, TransportError):
            await client.get_text(path, timeout=_PROBE)
            return True
        return False

    return ask


def listens(port: int) -> Ready:
    """Asks for a connection only."""

    async def ask() -> bool:
        try:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            return False
        writer.close()
        return True

    return ask
