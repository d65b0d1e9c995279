"""`--cluster acme:VERSION`: the control plane that Acme ships, made of hintbound's embedded one."""

from collections.abc import Sequence
from typing import Any, cast

from hintbound.clusters import Asked, Capability, Cluster, parse
from hintbound.kube import resources
from hintbound.protocol import Actor

GATES = "kube-scheduler.SchedulerAsyncAPICalls=false"
BATCH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "acme-batch"},
    "value": -100,
}


class AcmeCluster:
    """An embedded cluster with Acme's gates and priority class; all else is as hintbound has it."""

    provider = "acme"

    def __init__(self, inner: Cluster) -> None:
        self._inner = inner

    @property
    def spec(self) -> str:
        """With the exact version, so that the run can be repeated."""
        return f"{self.provider}:{parse(self._inner.spec).target}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Acme runs one apiserver."""
        return self._inner.capabilities - {Capability.MANY_APISERVERS}

    @property
    def deviations(self) -> Sequence[str]:
        """What a reader of the report must know."""
        return (*self._inner.deviations, f"Acme's defaults: {GATES}, priority class acme-batch")

    async def start(self) -> None:
        """Start it, then add what every cluster of Acme's has."""
        await self._inner.start()
        await self._inner.client(Actor.ADMIN).create(resources.of(BATCH), BATCH)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def acme(argument: str, asked: Asked) -> Cluster:
    """What follows `acme:` in the SPEC is a Kubernetes version."""
    return cast(Cluster, AcmeCluster(asked.of_hintbound(f"embedded:{argument or '1.35'},{GATES}")))
