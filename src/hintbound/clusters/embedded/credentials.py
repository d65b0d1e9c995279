"""Who is who in one control plane: keys, certificates and kubeconfigs, made before anything starts."""

from __future__ import annotations

from pathlib import Path

from hintbound.clusters.embedded import components
from hintbound.clusters.embedded.pki import Authority, KeyPair
from hintbound.protocol import Actor


class Credentials:
    """All keys of a cluster, in its folder; signed by its own authority where it has one already."""

    def __init__(self, folder: Path, authority: Authority | None = None) -> None:
        self._folder = folder
        self._authority = authority or Authority(folder / "pki")
        self.serving = self._authority.server("hintbound-server")
        self.etcd_client = self._authority.client("hintbound-etcd-client")
        self.tokens = self._authority.signing_key("service-account")
        self.users: dict[str, KeyPair] = {
            actor: self._authority.client(actor) for actor in Actor if actor != Actor.ADMIN
        }
        self.users[Actor.ADMIN] = self._authority.client(Actor.ADMIN, "system:masters")
        for user in components.USERS.values():
            self.users[user] = self._authority.client(user)

    @property
    def ca(self) -> Path:
        """What clients trust."""
        return self._authority.cert

    def kubeconfig(self, user: str) -> Path:
        """The path of a user's kubeconfig, an actor's or a component's."""
        return kubeconfig_path(self._folder, user)

    def write_kubeconfigs(self, server: str) -> None:
        """One for each user."""
        (self._folder / "kubeconfigs").mkdir()
        for user in self.users:
            self.kubeconfig(user).write_text(self.of(user, server))

    def of(self, user: str, server: str) -> str:
        """The text of a kubeconfig for a user at an apiserver."""
        return components.kubeconfig(server, self.ca, user, self.users[user])


def kubeconfig_path(folder: Path, user: str) -> Path:
    """Where a cluster's folder has the kubeconfig of a user."""
    return folder / "kubeconfigs" / f"{user.replace(':', '-')}.yaml"
