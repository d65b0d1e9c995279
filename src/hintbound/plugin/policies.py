"""An admission policy that refuses bindings in one scenario's namespace: the way a binding fails in real
clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hintbound.kube import resources
from hintbound.kube.errors import ApiError
from hintbound.plugin.arena import PATIENCE, Arena
from hintbound.plugin.judgement import Unproven
from hintbound.protocol import Actor, Seconds

_GROUP = "admissionregistration.k8s.io/v1"
_LOOK: Seconds = 0.1


async def refuse_bindings(arena: Arena, *, to: str = "") -> None:
    """From now on bindings (to one node, or to any) are refused in the scenario's namespace.

    A new policy takes up to a second to be seen, so a binding that must be refused is tried, without effect,
    until it is. Raises Unproven.
    """
    name, allowed = arena.namespace, f"object.target.name != '{to}'" if to else "false"
    bindings = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": arena.namespace}}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [bindings], "namespaceSelector": here},
        "validations": [{"expression": allowed, "message": "refused by the scenario"}],
    }
    await arena.make(_object("ValidatingAdmissionPolicy", name, policy))
    binding = {"policyName": name, "validationActions": ["Deny"]}
    await arena.make(_object("ValidatingAdmissionPolicyBinding", name, binding))
    await _active(arena, to or "some-node")


async def _active(arena: Arena, node: str) -> None:
    probe = await arena.pod("probe", scheduler="hintbound-nobody")
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": probe.name}, "target": {"name": node}}
    client = arena.client(Actor.ADMIN)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                await client.create(
                    resources.PODS, body, namespace=arena.namespace, subresource="binding", dry_run=True
                )
                await asyncio.sleep(_LOOK)
    except ApiError as error:
        if "refused by the scenario" not in str(error):
            raise
    except TimeoutError:
        raise Unproven(f"the policy that refuses bindings was not active within {PATIENCE:g} s") from None


def _object(kind: str, name: str, spec: Mapping[str, object]) -> dict[str, object]:
    return {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
