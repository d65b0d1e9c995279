"""How long until a control plane is ready: ours against `kwokctl create cluster --runtime binary`.

The same binaries, alternating in one run, so that both see the same machine. One JSON line; exits 1 when
ours is the slower.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hintbound import assets
from hintbound.clusters import parse
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.protocol import ComponentKind

NAME = "hintbound-yardstick"


async def ours(version: str) -> float:
    """Seconds from nothing to a control plane that is ready, and whose KWOK has made a node Ready."""
    cluster = EmbeddedCluster(parse(f"embedded:{version}"))
    began = time.monotonic()
    await cluster.start()
    took = time.monotonic() - began
    await cluster.close()
    return took


def theirs(version: str, home: Path) -> float:
    """Seconds that kwokctl takes, which waits until its components are ready."""
    binaries = assets.control_plane(version)
    kwokctl = str(assets.kwokctl())
    environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "kubeconfig")}
    create = [
        kwokctl,
        "create",
        "cluster",
        f"--name={NAME}",
        "--runtime=binary",
        f"--kube-apiserver-binary={binaries[ComponentKind.APISERVER]}",
        f"--kube-controller-manager-binary={binaries[ComponentKind.CONTROLLER_MANAGER]}",
        f"--kube-scheduler-binary={binaries[ComponentKind.SCHEDULER]}",
        f"--etcd-binary={assets.etcd()}",
        f"--kwok-controller-binary={assets.kwok()}",
        "--wait=60s",
    ]
    try:
        began = time.monotonic()
        done = subprocess.run(create, env=environment, capture_output=True, text=True, check=False)
        took = time.monotonic() - began
        if done.returncode:
            raise SystemExit(f"kwokctl failed:\n{done.stderr}")
        return took
    finally:
        delete = [kwokctl, "delete", "cluster", f"--name={NAME}"]
        subprocess.run(delete, env=environment, capture_output=True, check=False)


def main() -> int:
    """Take turns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--version", default=assets.DEFAULT_VERSION)
    options = parser.parse_args()
    own, yardstick = [], []
    with tempfile.TemporaryDirectory() as home:
        for _ in range(options.rounds):
            own.append(round(asyncio.run(ours(options.version)), 2))
            yardstick.append(round(theirs(options.version, Path(home)), 2))
    ratio = statistics.median(own) / statistics.median(yardstick)
    figures = {
        "ours": own,
        "kwokctl": yardstick,
        "ratio": round(ratio, 2),
        "bound": 1.0,
        "cpus": os.cpu_count(),
    }
    print(json.dumps({"benchmark": "control plane ready", "version": options.version, **figures}))
    return int(ratio > 1)


if __name__ == "__main__":
    sys.exit(main())
