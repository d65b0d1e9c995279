"""How long `hintbound run` takes, process start to exit, binaries cached: the first behaviours, all of core.

JSON lines; exits 1 when a bound is broken or a run does not pass.
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
FIRST = (
    "NNN-BIND-CLEARS",
    "NNN-BOUND-FORBIDDEN",
    "NNN-CLEAR-NOTHING-FITS",
    "NNN-FIELD-DROPPED-AT-CREATE",
    "NNN-FIELD-MAIN-RESOURCE-IGNORED",
    "NNN-FIELD-VALIDATED",
    "NNN-HINT-EQUAL-YIELDS",
    "NNN-HINT-FALLS-THROUGH",
    "NNN-HINT-HIGHER-IGNORES",
    "NNN-HINT-TAKEN",
    "NNN-PREEMPT-NOMINATES-WAITS-BINDS",
)
FIRST_BOUND, CORE_BOUND = 20.0, 60.0
"""Seconds that the median may take on 2 cores."""


def timed(*arguments: str) -> float:
    """Seconds of one run; ends the benchmark when it does not pass."""
    with tempfile.TemporaryDirectory() as reports:
        command = [str(HINTBOUND), "run", *arguments, "--reports", reports]
        began = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        took = time.monotonic() - began
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise SystemExit(1)
    return round(took, 2)


def measure(name: str, bound: float, runs: int, *arguments: str) -> bool:
    """Print one line; whether the median, because machines are shared, keeps the bound."""
    taken = [timed(*arguments) for _ in range(runs)]
    median = statistics.median(taken)
    figures = {"seconds": taken, "median": median, "bound": bound, "cpus": os.cpu_count()}
    print(json.dumps({"benchmark": f"{name}, start to exit", **figures}), flush=True)
    return median <= bound


def main() -> int:
    """Measure both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cluster", default="embedded:1.35")
    options = parser.parse_args()
    cluster = f"--cluster={options.cluster}"
    first = [f"--behaviour={behaviour}" for behaviour in FIRST]
    kept = [
        measure(f"{len(FIRST)} behaviours", FIRST_BOUND, options.runs, cluster, *first),
        measure("core", CORE_BOUND, options.runs, cluster),
    ]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
