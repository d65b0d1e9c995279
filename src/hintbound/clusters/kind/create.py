"""A program of its own: `python -m hintbound.clusters.kind.create NAME CONFIG KUBECONFIG KIND [IMAGE]`.

pytest-kind is licensed under the GPL and is imported here only. A process of its own can be ended when a run
is broken off, its output goes to a log, and what it leaves in the current folder is in the cluster's own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_kind import KindCluster


def main(name: str, config: str, kubeconfig: str, kind: str, image: str = "") -> None:
    """Create the cluster. kubectl is not needed for it, and must not be downloaded."""
    cluster = KindCluster(
        name,
        kubeconfig=Path(kubeconfig),
        image=image or None,
        kind_path=Path(kind),
        kubectl_path=Path("kubectl"),
    )
    cluster.create(config_file=config)


if __name__ == "__main__":
    main(*sys.argv[1:])
