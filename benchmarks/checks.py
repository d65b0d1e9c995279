"""How fast `hintbound check` judges audit logs, all checks on, against a bare `orjson.loads` pass over the
same lines by as many processes.

Two mixes. In `pods` every event is an answered write to a pod: lives that a run recorded, again and again in
namespaces of their own, of which one in ten was hinted, nominated or preempted, and nine were only made,
bound and run. In `cluster` one event in ten is such a write, and the others are what an ordinary cluster logs
beside (leases, events, reviews, reads). The targets are about `pods`, the harder one.

Both passes are the wall clock of processes started for them, and `cpu…` their processor time, which a busy
machine counts much the same. One JSON line per size, level and mix.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson
import psutil

from hintbound.checks import Context, logs
from hintbound.checks.judging import ours
from hintbound.checks.records import Intake
from hintbound.history.audit_found import Wanted

BESIDE = 9
"""So many other events per write to a pod in an ordinary cluster, of the kinds in `_others`."""


def lives(log: Path, level: str) -> tuple[list[list[bytes]], list[list[bytes]]]:
    """The answered writes to each pod in a log, of ordinary pods and of others; at level Metadata without
    bodies."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for event in map(orjson.loads, log.read_bytes().splitlines()):
        target = event.get("objectRef") or {}
        write = target.get("resource") == "pods" and event["verb"] not in ("get", "list", "watch")
        if write and event["stage"] == "ResponseComplete" and event["level"] == "RequestResponse":
            found[target.get("namespace", ""), target.get("name", "")].append(event)
    ordinary: list[list[bytes]] = []
    others: list[list[bytes]] = []
    for events in found.values():
        bare = all(_ordinary(event) for event in events)
        for event in events if level == "Metadata" else ():
            event.pop("requestObject", None)
            event.pop("responseObject", None)
            event["level"] = level
        lines = [orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE) for event in events]
        (ordinary if bare and len(lines) > 2 else others).append(lines)
    return ordinary, others


def _ordinary(event: dict[str, Any]) -> bool:
    """Whether nobody hints, nominates or preempts in it."""
    scheduler = event["user"]["username"] == "system:kube-scheduler"
    hints = b"nominatedNodeName" in orjson.dumps([event.get("requestObject"), event.get("responseObject")])
    return not hints and not (scheduler and event["objectRef"].get("subresource") != "binding")


def _once(log: Path, level: str) -> list[list[bytes]]:
    """Nine lives of ordinary pods to one of others, until all others were taken."""
    ordinary, others = lives(log, level)
    taken = []
    for number, other in enumerate(others):
        for turn in range(9):
            taken.append(ordinary[(9 * number + turn) % len(ordinary)])
        taken.append(other)
    return taken


def _others(copy: int, level: str) -> Iterator[bytes]:
    kinds: list[tuple[str, str, str, Any]] = [
        (
            "update",
            "leases",
            "kube-node-lease",
            {"kind": "Lease", "spec": {"holderIdentity": "n", "x": "y" * 200}},
        ),
        ("get", "configmaps", "kube-system", None),
        (
            "create",
            "events",
            "default",
            {"kind": "Event", "message": "z" * 600, "source": {"component": "kubelet"}},
        ),
        ("create", "subjectaccessreviews", "", {"kind": "SubjectAccessReview", "spec": {"user": "u" * 50}}),
        ("list", "pods", "default", None),
        ("watch", "services", "", None),
    ]
    for number in range(BESIDE):
        verb, resource, namespace, body = kinds[number % len(kinds)]
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": level,
            "auditID": f"{copy:08x}-{number:04x}-4000-8000-000000000000",
            "stage": "ResponseComplete",
            "requestURI": f"/api/v1/namespaces/{namespace}/{resource}/name-{number}?timeout=10s",
            "verb": verb,
            "user": {"username": "system:node:worker-1", "groups": ["system:nodes", "system:authenticated"]},
            "sourceIPs": ["10.0.0.7"],
            "userAgent": "kubelet/v1.35.4 (linux/amd64) kubernetes/abcdef0",
            "objectRef": {"resource": resource, "namespace": namespace, "name": f"name-{number}"},
            "responseStatus": {"metadata": {}, "code": 200},
            "requestReceivedTimestamp": "2026-11-30T09:00:00.000001Z",
            "stageTimestamp": "2026-11-30T09:00:00.000002Z",
            "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
        }
        if level != "Metadata" and body is not None:
            event |= {"requestObject": body, "responseObject": body}
        yield orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def write(path: Path, once: list[list[bytes]], count: int, mix: str, level: str) -> None:
    """So many events."""
    with path.open("wb", buffering=1 << 20) as stream:
        written = pod = 0
        while written < count:
            mark = b"%08x-" % pod  # makes each life one of a pod of its own
            for text in once[pod % len(once)][: count - written]:
                text = text.replace(b'"namespace":"', b'"namespace":"' + mark)
                stream.write(text.replace(b'"auditID":"', b'"auditID":"' + mark, 1))
                written += 1
                for other in _others(written, level) if mix == "cluster" else ():
                    stream.write(other)
                    written += 1
            pod += 1


def _bare(path: str, start: int, end: int) -> None:
    import gc

    gc.disable()  # as the checks do
    with open(path, "rb") as stream:
        if start:
            stream.seek(start - 1)
            stream.readline()
        while stream.tell() < end and (lines := stream.readlines(1 << 20)):
            for line in lines:
                orjson.loads(line)


def bare(path: Path, processes: int) -> None:
    """A pass of `orjson.loads`, each process over a part of the file."""
    size = path.stat().st_size
    edges = [size * number // processes for number in range(processes + 1)]
    fork = multiprocessing.get_context("fork")
    parts = [fork.Process(target=_bare, args=(str(path), edges[n], edges[n + 1])) for n in range(processes)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()


def judged(path: Path, processes: int) -> None:
    """As `hintbound check` does."""
    context = Context(behaviour="", namespace="", cluster="", nominators=frozenset({"hintbound-nominator"}))
    logs.judge([str(path)], ours(), context, Wanted(), Intake(), processes=processes)


def timed(call: Callable[[Path, int], None], path: Path, processes: int) -> tuple[float, float, int]:
    """Seconds, seconds of processors, and the most bytes that all processes together had in memory (RSS,
    shared pages counted in each). In a process that has nothing of this one."""
    peak = 0
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_timed, args=(theirs, call, path, processes))
    worker.start()
    while not ours.poll(0.05):
        if not worker.is_alive():
            sys.exit(f"the pass ended with exit code {worker.exitcode}")
        with contextlib.suppress(psutil.Error):
            own = psutil.Process(worker.pid)
            family = [own, *own.children(recursive=True)]
            peak = max(peak, sum(one.memory_info().rss for one in family))
    took, used = ours.recv()
    worker.join()
    return took, used, peak


def _timed(pipe: Connection, call: Callable[[Path, int], None], path: Path, processes: int) -> None:
    began, used = time.perf_counter(), _used()
    call(path, processes)
    pipe.send((time.perf_counter() - began, _used() - used))


def _used() -> float:
    """Processor time of this process and of all those of it that ended."""
    spent = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


def main() -> int:
    """Each size, level and mix in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path, help="an audit log, for instance that of a run")
    parser.add_argument("--sizes", default="100000,1000000", help="events; 10000000 takes 11 to 40 GB")
    parser.add_argument("--levels", default="Metadata,RequestResponse")
    parser.add_argument("--mixes", default="pods,cluster")
    parser.add_argument("--processes", type=int, default=logs.processors())
    parser.add_argument("--folder", type=Path, help="where the logs are written, for a while")
    asked = parser.parse_args()
    for level in asked.levels.split(","):
        once = _once(asked.log, level)
        for mix in asked.mixes.split(","):
            for size in map(int, asked.sizes.split(",")):
                with tempfile.TemporaryDirectory(prefix="hintbound-bench-", dir=asked.folder) as folder:
                    log = Path(folder, "audit.log")
                    write(log, once, size, mix, level)
                    megabytes = log.stat().st_size / 1e6
                    # The first reading fills the page cache for both.
                    timed(bare, log, asked.processes)
                    without, cpu_without, _ = timed(bare, log, asked.processes)
                    took, cpu, peak = timed(judged, log, asked.processes)
                    print(
                        json.dumps(
                            {
                                "benchmark": "checks",
                                "mix": mix,
                                "level": level,
                                "events": size,
                                "megabytes": round(megabytes),
                                "processes": asked.processes,
                                "checks": len(ours()),
                                "eventsPerSecond": round(size / took),
                                "megabytesPerSecond": round(megabytes / took),
                                "timesBare": round(took / without, 2),
                                "cpuEventsPerSecond": round(size / cpu),
                                "cpuTimesBare": round(cpu / cpu_without, 2),
                                "peakMegabytes": peak >> 20,
                                "load": round(os.getloadavg()[0], 1),
                            }
                        ),
                        flush=True,
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
