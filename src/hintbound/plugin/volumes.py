"""Claims that hold a pod in PreBind: they wait for a first consumer and a provisioner that never comes.

The scheduler chooses a node, writes it on the claim and waits until a volume is bound. Nobody makes one,
unless the scenario does: so it decides how long PreBind lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hintbound.kube import resources
from hintbound.plugin.arena import Arena
from hintbound.plugin.awaits import setting_the_stage
from hintbound.protocol import Actor

_SELECTED: Final = "volume.kubernetes.io/selected-node"
_BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
_SIZE: Final = "1Gi"
_MODES: Final = ["ReadWriteOnce"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim that waits for its first consumer."""

    arena: Arena
    name: str
    storage_class: str

    @property
    def spec(self) -> dict[str, Any]:
        """What a pod that uses it has in its spec."""
        return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": self.name}}]}

    async def selected(self) -> str:
        """Wait until a scheduler has chosen a node for it, as it does when PreBind begins."""
        with setting_the_stage():
            claim = await self.arena.shown(
                resources.PERSISTENT_VOLUME_CLAIMS,
                lambda claim: _SELECTED in (claim["metadata"].get("annotations") or {}),
                f"a node to be selected for claim {self.name}",
                field_selector=f"metadata.name={self.name}",
            )
        return str(claim["metadata"]["annotations"][_SELECTED])

    async def provide(self, node: str) -> None:
        """Make its volume, on this node, and bind the claim to it: PreBind is over when the scheduler looks
        next, once in a second.

        The controller that binds would do the same, but may look only every 15 s.
        """
        admin = self.arena.client(Actor.ADMIN)
        namespace = self.arena.namespace
        claim = await admin.get(resources.PERSISTENT_VOLUME_CLAIMS, self.name, namespace=namespace)
        on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        reference = {"namespace": namespace, "name": self.name, "uid": claim["metadata"]["uid"]}
        await self.arena.make(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": self.storage_class},
                "spec": {
                    "capacity": {"storage": _SIZE},
                    "accessModes": _MODES,
                    "storageClassName": self.storage_class,
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
                    "local": {"path": "/hintbound"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
                },
            }
        )
        bound = {"metadata": {"annotations": _BOUND}, "spec": {"volumeName": self.storage_class}}
        await admin.patch(resources.PERSISTENT_VOLUME_CLAIMS, self.name, bound, namespace=namespace)


async def waiting_claim(arena: Arena, name: str = "claim") -> Claim:
    """A claim of a storage class of its own, whose provisioner does not exist."""
    storage_class = f"{arena.namespace}-{name}"
    await arena.make(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": storage_class},
            "provisioner": "hintbound.dev/nobody",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    await arena.make(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {
                "storageClassName": storage_class,
                "accessModes": _MODES,
                "resources": {"requests": {"storage": _SIZE}},
            },
        }
    )
    return Claim(arena, name, storage_class)
