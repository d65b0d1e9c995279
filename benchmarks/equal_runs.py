"""Many runs in a row must give equal verdicts: one JSON line at the end, exit 1 when any run differs.

A difference is a flake, and a flake is a defect of ours: the folders of runs that differ are kept and named.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HINTBOUND = Path(sys.executable).with_name("hintbound")

Verdicts = tuple[tuple[str, str], ...]


def judge(cluster: str, profile: str, reports: Path) -> tuple[Verdicts, Path]:
    """One run: every behaviour with its verdict, none when it could not start, and the run's folder."""
    command = [str(HINTBOUND), "run", "--cluster", cluster, "--profile", profile, "--reports", str(reports)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    folder = (reports / "latest").resolve()
    if not (folder / "run.json").exists():
        return (), reports
    outcomes = json.loads((folder / "run.json").read_text())["outcomes"]
    return tuple(sorted((outcome["behaviour"], outcome["verdict"]) for outcome in outcomes)), folder


def main() -> int:
    """Run, compare with the most common result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cluster", default="embedded:1.35")
    parser.add_argument("--profile", default="core")
    options = parser.parse_args()
    reports = Path(tempfile.mkdtemp(prefix="hintbound-runs-"))
    results = []
    for number in range(1, options.runs + 1):
        results.append(judge(options.cluster, options.profile, reports / str(number)))
        print(f"{options.cluster}: run {number} of {options.runs}", file=sys.stderr)
    usual = Counter(verdicts for verdicts, _ in results).most_common(1)[0][0]
    unlike = [
        {"folder": str(folder), "differs": sorted(set(verdicts) ^ set(usual))}
        for verdicts, folder in results
        if verdicts != usual
    ]
    judged = Counter(verdict for _, verdict in usual)
    figures = {
        "runs": options.runs,
        "equal": options.runs - len(unlike),
        "verdicts": judged,
        "unlike": unlike,
    }
    print(json.dumps({"benchmark": "equal runs", "cluster": options.cluster, **figures}))
    if not unlike:
        shutil.rmtree(reports)
    return int(bool(unlike) or not judged or "fail" in judged or "unknown" in judged)


if __name__ == "__main__":
    sys.exit(main())
