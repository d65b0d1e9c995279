"""The proxy recorder: what passed a fault proxy, what rules did to it, and what the client was answered.

It is no witness of what the cluster did: it tells that a fault bit, when, and whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source
from hintbound.history.recorders.losses import Losses, Witness
from hintbound.history.store import Store
from hintbound.protocol import Seconds


class ProxyRecorder(Witness):
    """Records what the proxies of one cluster pass on; one serves any number of them."""

    source: Final = Source.PROXY

    def __init__(self, store: Store, *, cluster: str = "") -> None:
        self.cluster = cluster
        self._store = store
        self._losses = Losses(store, source=self.source, cluster=cluster)

    def passed(
        self,
        *,
        actor: str,
        method: str,
        verb: str,
        resource: str,
        namespace: str,
        name: str,
        status: int,
        seconds: Seconds,
        forwarded: int,
        rules: Sequence[tuple[str, str]],
        error: str,
    ) -> None:
        """An exchange is over. `status` 0: the client got no answer; `forwarded`: so many requests were sent
        to the apiserver for it."""
        data: dict[str, Any] = {
            "actor": actor,
            "method": method,
            "verb": verb,
            "status": status,
            "seconds": round(seconds, 6),
            "forwarded": forwarded,
        }
        if rules:
            data["rules"] = [{"rule": rule, "did": what} for rule, what in rules]
        if error:
            data["error"] = error
        self._append(Kind.PASSED, resource, namespace, name, data)

    def acted(
        self, *, actor: str, verb: str, resource: str, namespace: str, name: str, rule: str, what: str
    ) -> None:
        """A rule did something to an open watch, or after an exchange was over."""
        data = {"actor": actor, "verb": verb, "rules": [{"rule": rule, "did": what}]}
        self._append(Kind.ACTED, resource, namespace, name, data)

    def _append(self, kind: Kind, resource: str, namespace: str, name: str, data: dict[str, Any]) -> None:
        if self.trouble:
            return
        try:
            self._store.append(
                kind,
                source=self.source,
                cluster=self.cluster,
                resource=resource,
                namespace=namespace,
                name=name,
                data=data,
            )
        except CannotStart as error:
            self._losses.died(str(error))
