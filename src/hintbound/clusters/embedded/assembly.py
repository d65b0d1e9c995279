"""Builds the components of one control plane, each with its ports, its command and its sign of readiness."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from hintbound import data
from hintbound.clusters.embedded import components, foreign
from hintbound.clusters.embedded.component import EmbeddedComponent, answers, listens
from hintbound.clusters.embedded.components import Tuning
from hintbound.clusters.embedded.credentials import Credentials
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.embedded.ports import LOOPBACK, HeldPort
from hintbound.clusters.embedded.process import Process, Ready
from hintbound.clusters.protocol import READY_WITHIN, claimed
from hintbound.clusters.proxies import JSON_ONLY, MANY_IN_ONE, Proxies
from hintbound.clusters.spec import ClusterSpec
from hintbound.kube.client import Client
from hintbound.kube.connection import Connection
from hintbound.kube.exchange import Tap
from hintbound.protocol import Actor, ComponentKind
from hintbound.proxy import FaultProxy
from hintbound.subjects import Subject

_USER_AGENT: Final = "hintbound"
_KUBERNETES: Final = (ComponentKind.APISERVER, ComponentKind.CONTROLLER_MANAGER, ComponentKind.SCHEDULER)


class Assembly:
    """Of one cluster. Nothing is started here; `components` has all that was built, in that order."""

    def __init__(
        self,
        spec: ClusterSpec,
        options: Options,
        *,
        folder: Path,
        group: int,
        version: str,
        binaries: Mapping[ComponentKind, Path],
        changed: Callable[[], None],
        credentials: Credentials | None = None,
    ) -> None:
        self._spec = spec
        self._options = options
        self._folder = folder
        self._group = group
        self._version = version
        self._binaries = binaries
        self._changed = changed
        self._ports: list[HeldPort] = []
        self.components: dict[str, EmbeddedComponent] = {}
        self.apiserver_port = self.hold(options.apiserver_port)
        self.credentials = credentials or Credentials(folder)
        self.proxies = Proxies(options.rules, self._way, options.witness)
        self._static_token = secrets.token_urlsafe(24)

    def etcd(self) -> EmbeddedComponent:
        """To be built first: the apiservers must know its port."""
        client_port, peer_port = self.hold(), self.hold()
        self._etcd_port = client_port
        command = components.etcd(
            self._binaries[ComponentKind.ETCD],
            data=self._folder / "etcd",
            client=client_port.number,
            peer=peer_port.number,
            server=self.credentials.serving,
            ca=self.credentials.ca,
        )
        ready = listens(client_port.number)
        return self._add(ComponentKind.ETCD, ComponentKind.ETCD, "", command, [client_port, peer_port], ready)

    def apiserver(
        self, name: str, binary: Path, version: str, port: HeldPort, tuning: Tuning
    ) -> EmbeddedComponent:
        """The first one, or a further one on the same etcd."""
        if self.proxies.stand_before(MANY_IN_ONE):
            file = self._folder / "static-tokens.csv"
            user = components.USERS[ComponentKind.CONTROLLER_MANAGER]
            file.write_text(f"{self._static_token},{user},{user}\n")
            tuning = replace(tuning, flags=(f"--token-auth-file={file}", *tuning.flags))
        command = components.apiserver(
            binary,
            port=port.number,
            etcd=self._etcd_port.number,
            server=self.credentials.serving,
            etcd_client=self.credentials.etcd_client,
            ca=self.credentials.ca,
            tokens=self.credentials.tokens,
            audit_policy=self._options.audit_policy or data.folder("fixtures") / "audit-policy.yaml",
            audit_log=self.audit_log(name),
            version=version,
            tuning=tuning,
        )
        return self._add(name, ComponentKind.APISERVER, version, command, [port], None)

    def scheduler(
        self,
        name: str,
        scheduler_name: str,
        binary: Path,
        version: str,
        config: Mapping[str, Any],
        tuning: Tuning,
        *,
        through: FaultProxy | None = None,
    ) -> EmbeddedComponent:
        """For the pods of this `schedulerName`; `config` replaces top-level keys of its configuration.
        `through`: it speaks to its apiserver through this proxy, in JSON."""
        kubeconfig = self.credentials.kubeconfig(components.USERS[ComponentKind.SCHEDULER])
        if through:
            kubeconfig = self._folder / f"{name}-kubeconfig.yaml"
            kubeconfig.write_text(through.kubeconfig())
            config = {**config, "clientConnection": {**JSON_ONLY, **config.get("clientConnection", {})}}
        file = self._folder / f"{name}.yaml"
        file.write_text(components.scheduler_config(kubeconfig, scheduler_name, config))
        port = self.hold()
        command = components.scheduler(
            binary,
            port=port.number,
            config=file,
            server=self.credentials.serving,
            ca=self.credentials.ca,
            kubeconfig=kubeconfig,
            tuning=tuning,
        )
        return self._add(name, ComponentKind.SCHEDULER, version, command, [port], None)

    def subject(
        self,
        subject: Subject,
        name: str,
        scheduler_name: str,
        config: Mapping[str, Any],
        tuning: Tuning,
        *,
        server: str,
        ready: Sequence[Ready] = (),
        through: FaultProxy | None = None,
    ) -> EmbeddedComponent:
        """A vendor's scheduler in the place of a kube-scheduler. `server`: the URL of its apiserver; `ready`:
        what it must bring about besides answering where it serves a port; `through`: the proxy between
        them."""
        kubeconfig = self._folder / f"{name}-kubeconfig.yaml"
        direct = self.credentials.of(components.USERS[ComponentKind.SCHEDULER], server)
        kubeconfig.write_text(through.kubeconfig() if through else direct)
        file = self._folder / f"{name}.yaml"
        file.write_text(components.scheduler_config(kubeconfig, scheduler_name, config))
        ports = [self.hold()] if subject.takes("port") else []
        for port in ports:
            port.release()  # nobody knows whether it would share the port, as Kubernetes' components do
        command = foreign.command(
            subject,
            scheduler_name,
            tuning,
            self.credentials,
            kubeconfig=kubeconfig,
            config=file,
            port=ports[0].number if ports else None,
            kube_scheduler=self._binaries[ComponentKind.SCHEDULER],
        )
        client = self.connect(f"https://{LOOPBACK}:{ports[0].number}", Actor.ADMIN) if ports else None
        is_ready = foreign.ready(subject, client, ready)
        process = self._process(name, ComponentKind.SCHEDULER, "", command, is_ready)
        return self._take(EmbeddedComponent(process, ports, client, self._changed, claimed(subject, name)))

    def controller_manager(self, through: FaultProxy | None = None) -> EmbeddedComponent:
        """There is one. `through`: it speaks to the apiserver through this proxy, in JSON."""
        port = self.hold()
        kubeconfig = self.credentials.kubeconfig(components.USERS[ComponentKind.CONTROLLER_MANAGER])
        tuning = self.tuning(ComponentKind.CONTROLLER_MANAGER)
        if through:
            kubeconfig = self._folder / f"{ComponentKind.CONTROLLER_MANAGER}-kubeconfig.yaml"
            kubeconfig.write_text(through.kubeconfig(user={"token": self._static_token}))
            flags = (f"--kube-api-content-type={JSON_ONLY['contentType']}", *tuning.flags)
            tuning = replace(tuning, flags=flags)
        command = components.controller_manager(
            self._binaries[ComponentKind.CONTROLLER_MANAGER],
            port=port.number,
            server=self.credentials.serving,
            ca=self.credentials.ca,
            kubeconfig=kubeconfig,
            tokens=self.credentials.tokens,
            tuning=tuning,
        )
        kind = ComponentKind.CONTROLLER_MANAGER
        return self._add(kind, kind, self._version, command, [port], None)

    def kwok(self, ready: Ready) -> EmbeddedComponent:
        """The kubelet of all fake nodes; it cannot be asked whether it is ready."""
        command = components.kwok(
            self._binaries[ComponentKind.KWOK],
            kubeconfig=self.credentials.kubeconfig(components.USERS[ComponentKind.KWOK]),
            stages=self._folder / "stages.yaml",
        )
        return self._add(ComponentKind.KWOK, ComponentKind.KWOK, "", command, [], ready)

    def _add(
        self,
        name: str,
        kind: ComponentKind,
        version: str,
        command: Sequence[str],
        ports: Sequence[HeldPort],
        ready: Ready | None,
    ) -> EmbeddedComponent:
        client = None
        if kind in _KUBERNETES:
            client = self.connect(f"https://{LOOPBACK}:{ports[0].number}", Actor.ADMIN)
            path = "/healthz" if kind == ComponentKind.CONTROLLER_MANAGER else "/readyz"
            ready = ready or answers(client, path)
        assert ready is not None
        flags = components.last_wins([*command, *self._options.flags.get(kind, ())])
        process = self._process(name, kind, version, flags, ready)
        return self._take(EmbeddedComponent(process, ports, client, self._changed))

    def _process(
        self, name: str, kind: ComponentKind, version: str, command: Sequence[str], ready: Ready
    ) -> Process:
        return Process(
            name=name,
            kind=kind,
            version=version,
            command=command,
            log=(self._options.logs or self._folder / "logs") / f"{name}.log",
            ready=ready,
            group=self._group,
            listener=self._options.listener,
        )

    def _take(self, part: EmbeddedComponent) -> EmbeddedComponent:
        self.components[part.name] = part
        return part

    def tuning(
        self,
        kind: ComponentKind,
        version: str | None = None,
        gates: Mapping[str, bool] | None = None,
        emulate: str | None = None,
        flags: Sequence[str] = (),
    ) -> Tuning:
        """The SPEC's, and on top what one component is to have. Other versions may know other gates."""
        if version is not None or emulate is not None:
            return Tuning(gates or {}, emulate, flags)
        return Tuning({**self._spec.gates_of(kind), **(gates or {})}, self._spec.emulate, flags)

    async def start(self, part: EmbeddedComponent) -> None:
        """Start a part that was added, and wait until it is ready; it is forgotten where that fails. Raises
        ComponentDied."""
        try:
            await part.process.start()
            await part.process.until_ready(READY_WITHIN)
        except BaseException:  # also when the caller's own deadline has passed
            self.components.pop(part.name, None)
            await part.close()
            raise
        self._changed()

    def processes(self) -> dict[str, ProcessId]:
        """What runs of it, by name."""
        running = {}
        for name, part in self.components.items():
            if part.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    running[name] = ProcessId.of(part.pid)
        return running

    def hold(self, number: int = 0) -> HeldPort:
        """A port that is ours until `let_go`."""
        port = HeldPort(number)
        self._ports.append(port)
        return port

    def let_go(self) -> None:
        """Of all ports."""
        for port in self._ports:
            port.release()

    def connect(self, url: str, actor: Actor, tap: Tap | None = None, *, direct: bool = False) -> Client:
        """A client that speaks as this actor to one of the servers; `direct`: past every proxy."""
        proxy = None if direct else self.proxies.between(actor, url)
        connection = proxy.connection() if proxy else self._way(url, actor)
        return Client(connection, actor=actor, user_agent=_USER_AGENT, tap=tap)

    def _way(self, url: str, actor: str) -> Connection:
        """To a server, as an actor or a component, without a proxy. MANY_IN_ONE says itself who it is."""
        if actor == MANY_IN_ONE:
            return Connection.from_pem(url, ca=self.credentials.ca)
        user = components.USERS[ComponentKind(actor)] if actor in components.USERS else actor
        pair = self.credentials.users[user]
        return Connection.from_pem(url, ca=self.credentials.ca, cert=pair.cert, key=pair.key)

    def audit_log(self, name: str) -> Path:
        """Of an apiserver."""
        return self._folder / f"audit-{name}.log"
