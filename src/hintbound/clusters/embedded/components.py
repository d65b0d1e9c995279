"""The command lines of a control plane's components: one function each, nothing started here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hintbound.clusters.embedded.pki import KeyPair
from hintbound.clusters.embedded.ports import LOOPBACK
from hintbound.protocol import SCHEDULER_USER, ComponentKind

DISABLED_ADMISSION = ("ServiceAccount", "TaintNodesByCondition")
"""ServiceAccount would make every pod wait for its namespace's token; TaintNodesByCondition taints a node
until the node controller has seen it Ready. Both cost seconds per scenario and touch nothing judged."""

GATED_APIS = {"GenericWorkload": (37, "scheduling.k8s.io/v1beta1")}
"""By gate: an API that is off by default, without which the gate is of no use, and N of the first minor 1.N
that has it."""

OPEN_PATHS = "/healthz,/readyz,/livez,/metrics"


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a caller may set on one component."""

    gates: Mapping[str, bool] = field(default_factory=dict)
    emulated: str | None = None
    """The minor for `--emulated-version`, e.g. "1.34"."""
    flags: Sequence[str] = ()
    """Further flags, last on the command line, so that they win."""

    def gates_text(self) -> str:
        """The gates as `--feature-gates` takes them."""
        return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(self.gates.items()))

    def arguments(self) -> list[str]:
        """The flags that say all this."""
        gates = self.gates_text()
        emulated = [f"--emulated-version={self.emulated}"] if self.emulated else []
        return [*([f"--feature-gates={gates}"] if gates else []), *emulated, *self.flags]


def gated_apis(version: str, tuning: Tuning) -> list[str]:
    """The flags that turn on the APIs of the gates that are on."""
    minor = int((tuning.emulated or version).split(".")[1])
    wanted = [api for gate, (since, api) in GATED_APIS.items() if tuning.gates.get(gate) and since <= minor]
    return [f"--runtime-config={','.join(f'{api}=true' for api in wanted)}"] if wanted else []


def last_wins(command: Sequence[str]) -> list[str]:
    """The command line without the flags that stand in it again later.

    Lists need it: of `--disable-admission-plugins=A --disable-admission-plugins=B` Kubernetes takes both.
    """
    last = {part.partition("=")[0]: index for index, part in enumerate(command)}
    return [part for index, part in enumerate(command) if last[part.partition("=")[0]] == index]


def etcd(binary: Path, *, data: Path, client: int, peer: int, server: KeyPair, ca: Path) -> list[str]:
    """A single member. Without fsync: the data need not survive the machine, only the process."""
    clients, peers = f"https://{LOOPBACK}:{client}", f"https://{LOOPBACK}:{peer}"
    return [
        str(binary),
        "--name=etcd",
        f"--data-dir={data}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=etcd={peers}",
        f"--cert-file={server.cert}",
        f"--key-file={server.key}",
        f"--trusted-ca-file={ca}",
        "--client-cert-auth",
        f"--peer-cert-file={server.cert}",
        f"--peer-key-file={server.key}",
        f"--peer-trusted-ca-file={ca}",
        "--peer-client-cert-auth",
        "--socket-reuse-port",
        "--unsafe-no-fsync",
        # A single member elects itself after one election timeout; nobody else is there to be outrun.
        "--heartbeat-interval=20",
        "--election-timeout=200",
        "--log-level=warn",
    ]


def apiserver(
    binary: Path,
    *,
    port: int,
    etcd: int,
    server: KeyPair,
    etcd_client: KeyPair,
    ca: Path,
    tokens: KeyPair,
    audit_policy: Path,
    audit_log: Path,
    version: str,
    tuning: Tuning,
) -> list[str]:
    """RBAC on, audit on, loopback only."""
    return [
        str(binary),
        f"--etcd-servers=https://{LOOPBACK}:{etcd}",
        f"--etcd-cafile={ca}",
        f"--etcd-certfile={etcd_client.cert}",
        f"--etcd-keyfile={etcd_client.key}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={port}",
        "--permit-port-sharing",
        f"--tls-cert-file={server.cert}",
        f"--tls-private-key-file={server.key}",
        f"--client-ca-file={ca}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={tokens.cert}",
        f"--service-account-signing-key-file={tokens.key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        f"--disable-admission-plugins={','.join(DISABLED_ADMISSION)}",
        f"--audit-policy-file={audit_policy}",
        f"--audit-log-path={audit_log}",
        "--allow-privileged",
        *gated_apis(version, tuning),
        *tuning.arguments(),
    ]


def scheduler(
    binary: Path, *, port: int, config: Path, server: KeyPair, ca: Path, kubeconfig: Path, tuning: Tuning
) -> list[str]:
    """A kube-scheduler with a KubeSchedulerConfiguration of its own (see `scheduler_config`)."""
    return [
        str(binary),
        f"--config={config}",
        *_serving(port, server, ca, kubeconfig),
        *tuning.arguments(),
    ]


def scheduler_config(kubeconfig: Path, name: str, overrides: Mapping[str, object]) -> str:
    """A KubeSchedulerConfiguration (as JSON, which YAML includes) for the pods of one `schedulerName`.

    `overrides` replaces top-level keys; a profile in it without `schedulerName` gets this one, and
    `clientConnection` this kubeconfig.
    """
    profiles = overrides.get("profiles", [{}])
    if not isinstance(profiles, list):
        raise ValueError(f"profiles of a KubeSchedulerConfiguration are a list, not {profiles!r}")
    merged: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        **overrides,
        "clientConnection": {**_mapping(overrides.get("clientConnection")), "kubeconfig": str(kubeconfig)},
        "profiles": [{"schedulerName": name, **profile} for profile in profiles],
    }
    return json.dumps(merged, indent=1)


def _mapping(given: object) -> Mapping[str, object]:
    return given if isinstance(given, Mapping) else {}


def controller_manager(
    binary: Path, *, port: int, server: KeyPair, ca: Path, kubeconfig: Path, tokens: KeyPair, tuning: Tuning
) -> list[str]:
    """All of its default controllers, each as the service account whose bootstrap RBAC it needs."""
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--root-ca-file={ca}",
        f"--service-account-private-key-file={tokens.key}",
        *_serving(port, server, ca, kubeconfig),
        *tuning.arguments(),
    ]


def kwok(binary: Path, *, kubeconfig: Path, stages: Path) -> list[str]:
    """Plays kubelet for the nodes that ask for it, by our own stages; opens no port."""
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-ip=127.0.0.1",
        # Without a sign of life the controller-manager marks a node Unknown and taints it after 50 s.
        "--node-lease-duration-seconds=40",
    ]


def kubeconfig(server: str, ca: Path, user: str, pair: KeyPair) -> str:
    """A kubeconfig (as JSON, which YAML includes) for one user with a client certificate."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "hintbound", "cluster": {"server": server, "certificate-authority": str(ca)}}
            ],
            "users": [
                {"name": user, "user": {"client-certificate": str(pair.cert), "client-key": str(pair.key)}}
            ],
            "contexts": [{"name": "hintbound", "context": {"cluster": "hintbound", "user": user}}],
            "current-context": "hintbound",
        },
        indent=1,
    )


USERS: Mapping[ComponentKind, str] = {
    ComponentKind.SCHEDULER: SCHEDULER_USER,
    ComponentKind.CONTROLLER_MANAGER: "system:kube-controller-manager",
    ComponentKind.KWOK: "hintbound-kwok",
}
"""As whom a component speaks to the apiserver. The first two have bootstrap RBAC and nothing more."""


def _serving(port: int, server: KeyPair, ca: Path, kubeconfig: Path) -> list[str]:
    return [
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        "--permit-port-sharing",
        f"--tls-cert-file={server.cert}",
        f"--tls-private-key-file={server.key}",
        f"--client-ca-file={ca}",
        # Our certificates are signed by the CA above: no look-up is needed to know who asks for metrics.
        "--authentication-skip-lookup",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--authorization-always-allow-paths={OPEN_PATHS}",
    ]
