"""What the user of a shared cluster must be allowed to do, asked before anything is done."""

from __future__ import annotations

import asyncio
from typing import Final

from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.resources import Resource
from hintbound.kube.watch import ADDED
from hintbound.protocol import Seconds

SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
_NEEDED: Final[tuple[tuple[Resource, str, str], ...]] = (
    (resources.NAMESPACES, "", "create delete"),
    (resources.NODES, "", "get list watch create delete"),
    (resources.NODES, "status", "patch"),
    (resources.PODS, "", "get list watch create update patch delete deletecollection"),
    (resources.PODS, "status", "patch"),
    (resources.PRIORITY_CLASSES, "", "create deletecollection"),
    (resources.LEASES, "", "get list watch create update"),
    (SERVICE_ACCOUNTS, "", "list watch"),
)
"""For the actors and for KWOK, which all are the same user there."""
_USABLE_WITHIN: Final[Seconds] = 30.0


async def check(client: Client) -> None:
    """Raises CannotStart naming all that the user may not do, KubeError when nobody can be asked."""
    asked = [(resource, part, verb) for resource, part, verbs in _NEEDED for verb in verbs.split()]
    allowed = await asyncio.gather(*(_may(client, *question) for question in asked))
    missing: dict[str, list[str]] = {}
    for (resource, part, verb), yes in zip(asked, allowed, strict=True):
        if not yes:
            missing.setdefault("/".join(filter(None, (resource.plural, part))), []).append(verb)
    if missing:
        refused = "; ".join(f"{what}: {', '.join(verbs)}" for what, verbs in missing.items())
        raise CannotStart(f"its user may not ({refused}).", next_step="Grant that, or use another context.")


async def usable(client: Client, namespace: str) -> None:
    """Wait for the service account `default` of a new namespace: without it the apiserver refuses every pod.

    Raises TimeoutError, KubeError.
    """
    try:
        async with asyncio.timeout(_USABLE_WITHIN):
            while not await _has_account(client, namespace):
                pass
    except TimeoutError:
        raise TimeoutError(
            f"namespace {namespace} got no service account `default` within {_USABLE_WITHIN:g} s"
        ) from None


async def _has_account(client: Client, namespace: str) -> bool:
    """False when the watch ended before it was seen; a new one tells again what there is."""
    name = "metadata.name=default"
    async with client.watch(SERVICE_ACCOUNTS, namespace=namespace, field_selector=name) as watch:
        async for event in watch:
            if error := watch.error_in(event):
                raise error
            if event.type == ADDED:
                return True
    return False


async def _may(client: Client, resource: Resource, subresource: str, verb: str) -> bool:
    wish = {"group": resource.group, "resource": resource.plural, "subresource": subresource, "verb": verb}
    review = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": wish},
    }
    answer = await client.create(_REVIEWS, review)
    return bool(answer["status"]["allowed"])
