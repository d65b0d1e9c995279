"""What the apiserver calls its resources, and the URL paths they live under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

_SAFE_IN_NAME: Final = ":@!$&'()*+,;="
"""What a path segment may hold as it is (RFC 3986); RBAC names such as `system:node` use the colon."""


def behind_group(path: str) -> list[str]:
    """The steps of an API path (without its query) behind group and version, unquoted; none for a path that
    is about no resource: `/metrics`."""
    parts = [unquote(part) if "%" in part else part for part in path.split("/") if part]
    return parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []


def spoken_of(steps: Sequence[str]) -> tuple[str, str, str]:
    """Resource (with subresource), namespace and name that such steps mean; empty where they do not tell."""
    namespace = ""
    if len(steps) >= 3 and steps[0] == "namespaces" and steps[2] not in ("status", "finalize"):
        namespace, steps = steps[1], steps[2:]
    resource, name, *subresource = [*steps, "", ""][: max(len(steps), 2)]
    return "/".join((resource, *subresource)), namespace, name


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object that an apiserver serves."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """As objects spell it: `v1`, `coordination.k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The path of one object, or of a collection when `name` is absent.

        Raises ValueError for a path that would mean something else than was asked for: a namespace for a
        cluster-scoped resource, one namespaced object without its namespace, a subresource without a name.
        """
        if namespace is not None and not self.namespaced:
            raise ValueError(f"{self.plural} are not namespaced, but namespace {namespace!r} was given")
        if name is not None and self.namespaced and namespace is None:
            raise ValueError(f"{self.plural} are namespaced: {name!r} needs a namespace")
        if subresource is not None and name is None:
            raise ValueError(f"subresource {subresource!r} of {self.plural} needs a name")
        if "" in (namespace, name, subresource):
            raise ValueError(f"an empty name in the path of {self.plural} would name the collection")
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        if subresource is not None:
            parts += subresource.split("/")
        return "/" + "/".join(quote(part, safe=_SAFE_IN_NAME) for part in parts)


PODS: Final = Resource("", "v1", "pods", "Pod", namespaced=True)
BINDINGS: Final = Resource("", "v1", "bindings", "Binding", namespaced=True)
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event", namespaced=True)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
PERSISTENT_VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
PERSISTENT_VOLUME_CLAIMS: Final = Resource(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True
)
STORAGE_CLASSES: Final = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
POD_DISRUPTION_BUDGETS: Final = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True
)
CLUSTER_ROLES: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
CLUSTER_ROLE_BINDINGS: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLES: Final = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role", namespaced=True)
ROLE_BINDINGS: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", namespaced=True
)
PRIORITY_LEVEL_CONFIGURATIONS: Final = Resource(
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "prioritylevelconfigurations",
    "PriorityLevelConfiguration",
    namespaced=False,
)
FLOW_SCHEMAS: Final = Resource(
    "flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", namespaced=False
)
VALIDATING_ADMISSION_POLICIES: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY_BINDINGS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
VALIDATING_WEBHOOK_CONFIGURATIONS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
POD_GROUPS: Final = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup", namespaced=True)

_BY_KIND: Final = {
    (resource.api_version, resource.kind): resource
    for resource in list(globals().values())
    if isinstance(resource, Resource)
}


def of(manifest: Mapping[str, Any]) -> Resource:
    """The resource that a manifest's `apiVersion` and `kind` name. Raises KeyError for an unknown pair."""
    return _BY_KIND[manifest["apiVersion"], manifest["kind"]]
