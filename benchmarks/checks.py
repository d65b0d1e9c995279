"""How fast `hintbound check` judges audit logs: all checks, against a bare `orjson.loads` pass.

CPU time of one process, so that a busy machine counts the same for both. One JSON line per audit level.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from hintbound.checks import Context, records
from hintbound.checks.judging import ours, tally


def lines(log: Path, copies: int, level: str) -> Iterator[bytes]:
    """A log again and again, each time in namespaces of its own; at level Metadata without bodies."""
    for copy in range(copies):
        for text in log.read_bytes().splitlines():
            event = orjson.loads(text)
            event["auditID"] += f"-{copy}"
            target = event.get("objectRef") or {}
            if "namespace" in target:
                target["namespace"] += f"-{copy}"
            if level == "Metadata":
                event.pop("requestObject", None)
                event.pop("responseObject", None)
                event["level"] = level
            yield orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def measured(log: Path) -> dict[str, float | int]:
    """Both passes over a log."""
    size = log.stat().st_size
    began = time.process_time()
    with log.open("rb") as stream:
        count = sum(1 for line in stream if orjson.loads(line))
    bare = time.process_time() - began
    context = Context(behaviour="", namespace="", cluster="", nominators=frozenset({"hintbound-nominator"}))
    began = time.process_time()
    for part in records.log_parts([str(log)], context, records.Wanted(), records.Intake()):
        for check in ours():
            tally(check, part.lives, context)
    took = time.process_time() - began
    return {
        "events": count,
        "megabytes": round(size / 1e6),
        "eventsPerSecond": round(count / took),
        "megabytesPerSecond": round(size / 1e6 / took),
        "timesBare": round(took / bare, 2),
        "peakMegabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def main() -> int:
    """Each level in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path, help="the audit.ndjson of a run")
    parser.add_argument("--copies", type=int, default=10)
    asked = parser.parse_args()
    gc.disable()  # as the command does
    for level in ("Metadata", "RequestResponse"):
        with tempfile.TemporaryDirectory(prefix="hintbound-bench-") as folder:
            log = Path(folder, "audit.log")
            with log.open("wb") as stream:
                stream.writelines(lines(asked.log, asked.copies, level))
            print(json.dumps({"benchmark": "checks", "level": level, **measured(log)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
