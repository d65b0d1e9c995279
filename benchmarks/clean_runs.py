"""Whether the suites and their checks are silent where nothing is broken: everything, mixed traffic too, with
other seeds again and again. Prints a JSON line with how much was judged and every alarm; any exits with 1.

An alarm is a behaviour that fails or comes to nothing, and a violation that a check finds and no scenario
commits on purpose. Hazards, which are legal, and bugs that are known of a version are counted apart.
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
from typing import Any

HINTBOUND = Path(sys.executable).with_name("hintbound")
PURPOSE = "the scenario does that on purpose"


def judge(cluster: str, seed: int, reports: Path) -> tuple[dict[str, Any], Path]:
    """One run as its run.json has it; empty when it could not start."""
    command = [str(HINTBOUND), "run", "--profile", "all", "--cluster", cluster, "--seed", str(seed)]
    subprocess.run([*command, "--reports", str(reports)], stdout=subprocess.DEVNULL, check=False)
    folder = (reports / "latest").resolve()
    file = folder / "run.json"
    return (json.loads(file.read_text()) if file.exists() else {}), folder


def alarms(run: dict[str, Any]) -> list[str]:
    """What of a run is not as it should be."""
    if not run:
        return ["the run could not start"]
    told = [
        f"{o['behaviour']}: {o['reason']}" for o in run["outcomes"] if o["verdict"] in ("fail", "unknown")
    ]
    return told + [
        f"{check['name']}: {check['found']} violations" for check in run["checks"] if check["found"]
    ]


def main() -> int:
    """Run, sum up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--cluster", action="append", help="repeatable, they take turns [1.35, 1.37]")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each next one has the next")
    options = parser.parse_args()
    clusters = options.cluster or ["embedded:1.35", "embedded:1.37"]
    reports = Path(tempfile.mkdtemp(prefix="hintbound-clean-"))
    judged: Counter[str] = Counter()
    excused: Counter[str] = Counter()
    found = []
    for number in range(options.runs):
        cluster, seed = clusters[number % len(clusters)], options.seed + number
        run, folder = judge(cluster, seed, reports / str(number))
        outcomes = run.get("outcomes", ())
        judged["behaviours"] += sum(outcome["verdict"] in ("pass", "fail", "unknown") for outcome in outcomes)
        for check in run.get("checks", ()):
            judged["checks"] += check["judged"]
            excused.update(
                {f"{check['name']}: {why}": n for why, n in check["excused"].items() if why != PURPOSE}
            )
        if told := alarms(run):
            found.append({"cluster": cluster, "seed": seed, "folder": str(folder), "alarms": told})
        else:
            shutil.rmtree(reports / str(number))
        print(f"{cluster}, seed {seed}: {len(told)} alarms", file=sys.stderr)
    figures = {
        "runs": options.runs,
        "clusters": clusters,
        "judged": judged,
        "excused": excused,
        "alarms": found,
    }
    print(json.dumps({"benchmark": "clean runs", **figures}))
    if not found:
        shutil.rmtree(reports)
    return int(bool(found) or not judged["behaviours"])


if __name__ == "__main__":
    sys.exit(main())
