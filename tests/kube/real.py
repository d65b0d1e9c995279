"""A real etcd and kube-apiserver and nothing else, and a cable to them that can be pulled."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from hintbound import assets
from hintbound.kube import Client, Connection
from hintbound.kube.errors import KubeError
from hintbound.protocol import ComponentKind
from tests.kube.pki import Authority, Pair

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class HeldPort:
    """A port that no one else is given; servers that set SO_REUSEPORT may listen on it, again and again."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        self._socket.close()


@dataclass(slots=True)
class Program:
    command: list[str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True)

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            self.process.wait(timeout=30)
            self.process = None


class ControlPlane:
    def __init__(self, folder: Path, *flags: str, version: str = "1.35") -> None:
        self._folder = folder
        self._pki = Authority(folder)
        self._ports = [HeldPort(), HeldPort(), HeldPort()]
        self.port, self._etcd_port, peer = (port.number for port in self._ports)
        self.audit_log = folder / "audit.log"
        self.ca = self._pki.ca
        self._users: dict[str, Pair] = {}
        tokens, serving = self._pki.user("tokens"), self._pki.server_pair()
        (folder / "policy.yaml").write_text(json.dumps(AUDIT_POLICY))
        etcd, peers = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{peer}"
        self.etcd = Program(
            [
                str(assets.etcd()),
                f"--data-dir={folder / 'etcd'}",
                f"--listen-client-urls={etcd}",
                f"--advertise-client-urls={etcd}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--socket-reuse-port",
                "--unsafe-no-fsync",
            ],
            folder / "etcd.log",
        )
        self.apiserver = Program(
            [
                str(assets.control_plane(version)[ComponentKind.APISERVER]),
                f"--etcd-servers={etcd}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self.port}",
                "--permit-port-sharing",
                f"--tls-cert-file={serving.cert}",
                f"--tls-private-key-file={serving.key}",
                f"--client-ca-file={self.ca}",
                "--authorization-mode=RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={tokens.cert}",
                f"--service-account-signing-key-file={tokens.key}",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--endpoint-reconciler-type=none",
                "--disable-admission-plugins=ServiceAccount",
                f"--audit-policy-file={folder / 'policy.yaml'}",
                f"--audit-log-path={self.audit_log}",
                *flags,
            ],
            folder / "kube-apiserver.log",
        )

    async def __aenter__(self) -> Self:
        self.etcd.start()
        self.apiserver.start()
        try:
            await self.ready()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.apiserver.end()
        self.etcd.end()
        for port in self._ports:
            port.release()

    def pair(self, user: str) -> Pair:
        if user not in self._users:
            self._users[user] = self._pki.user(user, *(["system:masters"] if user == "admin" else []))
        return self._users[user]

    def client(self, user: str = "admin", *, port: int | None = None, **options: Any) -> Client:
        pair = self.pair(user)
        url = f"https://127.0.0.1:{port or self.port}"
        connection = Connection.from_pem(url, ca=self.ca, cert=pair.cert, key=pair.key)
        return Client(connection, **{"actor": user, "user_agent": "hintbound-tests", **options})

    async def ready(self) -> None:
        deadline = time.monotonic() + 60
        async with self.client() as client:
            while True:
                try:
                    await client.get_text("/readyz", timeout=2)
                    return
                except KubeError as error:
                    if time.monotonic() > deadline:
                        tail = self.apiserver.log.read_text(errors="replace")[-2000:]
                        raise TimeoutError(f"{error}; the apiserver's log ends with: {tail}") from error
                    await asyncio.sleep(0.05)

    async def restart_apiserver(self, how: signal.Signals = signal.SIGKILL) -> None:
        await asyncio.to_thread(self.apiserver.end, how)
        self.apiserver.start()
        await self.ready()

    async def compact_etcd(self) -> int:
        """Forget all versions but the newest, by etcd's HTTP gateway. Gives that version."""
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self._etcd_port}") as etcd:
            key = base64.b64encode(b"x").decode()
            async with etcd.post("/v3/kv/range", json={"key": key}) as answer:
                revision = int((await answer.json())["header"]["revision"])
            async with etcd.post(
                "/v3/kv/compaction", json={"revision": revision, "physical": True}
            ) as answer:
                assert answer.status == 200, await answer.text()
        return revision


@dataclass(slots=True)
class Cable:
    """Forwards bytes to a port; `pull` cuts what is connected and refuses more until `plug`."""

    target: int
    _server: asyncio.Server | None = None
    _streams: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _plugged: bool = True

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def pull(self) -> None:
        self._plugged = False
        for stream in self._streams:
            stream.transport.abort()

    def plug(self) -> None:
        self._plugged = True

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.pull()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._plugged:
                up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
                self._streams |= {writer, up_writer}
                await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()
