"""How long `hintbound run` takes, process start to exit, binaries cached, and how much memory its own process
holds: the first behaviours, all of core, everything.

JSON lines; exits 1 when a bound is broken or a run does not pass.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

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
FIRST_BOUND, CORE_BOUND, ALL_BOUND = 20.0, 60.0, 240.0
"""Seconds that the median may take on 2 cores."""
MEMORY_BOUND = 200
"""MB that hintbound's own process may hold at any moment, the control planes not counted."""


def timed(*arguments: str) -> tuple[float, int]:
    """Seconds and peak MB of one run; ends the benchmark when it does not pass."""
    with tempfile.TemporaryDirectory() as reports, tempfile.TemporaryFile("w+") as out:
        command = [str(HINTBOUND), "run", *arguments, "--reports", reports]
        began = time.monotonic()
        with psutil.Popen(command, stdout=out) as run:
            peak = 0
            while run.poll() is None:
                with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    peak = max(peak, run.memory_info().rss)
                time.sleep(0.1)
        took = time.monotonic() - began
        if run.returncode:
            out.seek(0)
            print(out.read(), file=sys.stderr)
            raise SystemExit(1)
    return round(took, 2), round(peak / 1e6)


def measure(name: str, bound: float, runs: int, *arguments: str) -> bool:
    """Print one line; whether the median, because machines are shared, keeps the bound, and the memory."""
    measured = [timed(*arguments) for _ in range(runs)]
    taken = [seconds for seconds, _ in measured]
    median, memory = statistics.median(taken), max(peak for _, peak in measured)
    figures = {"seconds": taken, "median": median, "bound": bound, "MB": memory, "cpus": os.cpu_count()}
    print(json.dumps({"benchmark": f"{name}, start to exit", **figures}), flush=True)
    return median <= bound and memory <= MEMORY_BOUND


def main() -> int:
    """Measure all three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cluster", default="embedded:1.35")
    options = parser.parse_args()
    cluster = f"--cluster={options.cluster}"
    first = [f"--behaviour={behaviour}" for behaviour in FIRST]
    kept = [
        measure(f"{len(FIRST)} behaviours", FIRST_BOUND, options.runs, cluster, *first),
        measure("core", CORE_BOUND, options.runs, cluster),
        measure("everything", ALL_BOUND, 1, cluster, "--profile=all"),
    ]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
