"""What a request is about, in the words that RBAC uses: read from its method, path and query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from hintbound.kube.resources import behind_group, spoken_of

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_BY_METHOD: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_OF_COLLECTION: Final = {"get": "list", "delete": "deletecollection"}
_FALSE: Final = ("0", "false")


@dataclass(frozen=True, slots=True)
class Target:
    """Who is spoken of. Empty strings where the path does not tell."""

    verb: str
    """One of VERBS, or the method in lower case where Kubernetes has no verb for it."""
    resource: str
    """With the subresource: `pods/status`. Empty for paths that are no resources: `/metrics`."""
    namespace: str
    name: str


def target(method: str, path: str) -> Target:
    """Read a request line's method and target, as the apiserver reads it (k8s.io/apiserver RequestInfo)."""
    path, _, query = path.partition("?")
    steps = behind_group(path)
    verb = _BY_METHOD.get(method, method.lower())
    if not steps:
        return Target(verb, "", "", "")
    watches = steps[0] == "watch" and len(steps) > 1  # the old form of a watch
    resource, namespace, name = spoken_of(steps[1:] if watches else steps)
    if not namespace and resource.partition("/")[0] == "namespaces":
        namespace = name
    if not name:
        verb = _OF_COLLECTION.get(verb, verb)
    if query and verb in ("get", "list", "watch"):
        asked = dict(parse_qsl(query, keep_blank_values=True))
        watches = watches or asked.get("watch", "0").lower() not in _FALSE
        if not name and (found := asked.get("fieldSelector", "")).startswith("metadata.name="):
            name = found.removeprefix("metadata.name=").partition(",")[0]
        if watches and "/" not in resource:
            verb = "watch"
    elif watches:
        verb = "watch"
    return Target(verb, resource, namespace, name)
