"""How long a whole `hintbound run` of the core profile takes: process start to exit, binaries cached.

One JSON line; exits 1 when the bound is broken or a run does not pass.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HINTBOUND = Path(sys.executable).with_name("hintbound")


def main() -> int:
    """Run it a few times; the median counts, because machines are shared."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cluster", default="embedded:1.35")
    parser.add_argument("--bound", type=float, default=20.0, help="seconds that the median may take")
    options = parser.parse_args()
    taken = []
    with tempfile.TemporaryDirectory() as reports:
        command = [str(HINTBOUND), "run", "--cluster", options.cluster, "--reports", reports]
        for _ in range(options.runs):
            began = time.monotonic()
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            taken.append(round(time.monotonic() - began, 2))
            if done.returncode:
                print(done.stdout, file=sys.stderr)
                return 1
    median = statistics.median(taken)
    figures = {"seconds": taken, "median": median, "bound": options.bound, "cpus": os.cpu_count()}
    print(json.dumps({"benchmark": "core run, start to exit", "cluster": options.cluster, **figures}))
    return int(median > options.bound)


if __name__ == "__main__":
    sys.exit(main())
