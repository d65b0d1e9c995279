"""Play every public bug of `suites/regressions` on the clusters that it names, and write the track record.

    python tools/track_record.py [BUG...] [--on SPEC]... [--times 5]
    python tools/track_record.py --page            # writes docs/track-record.md anew, plays nothing

A behaviour must fail on each cluster that has its bug and pass on each that has not, every time, and the
checks that it names must find it in the record. Clusters are played one after the other. Exits 1 when
something came out otherwise, 254 for bad input. What is not played now is kept as it was.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hintbound import __version__, mutants
from hintbound.errors import CannotStart, one_of
from hintbound.plugin import catalogue
from hintbound.plugin.catalogue import Entry
from hintbound.plugin.regressions import Regression
from hintbound.protocol import ExitCode, Verdict
from hintbound.report import run_json, track_record
from hintbound.report.model import Outcome
from hintbound.report.track_record import Bug, History, Play, TrackRecord

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HINTBOUND = (sys.executable, "-m", "hintbound")
TIMES = 5


def declared() -> list[tuple[Entry, Regression]]:
    """Every bug with its behaviour, by number."""
    entries = catalogue.collect([str(ROOT / "suites" / "regressions")])
    found = [(entry, entry.regression) for entry in entries if entry.regression]
    return sorted(found, key=lambda pair: (pair[1].bug.partition("#")[0], int(pair[1].bug.partition("#")[2])))


def unplayed(entry: Entry, bug: Regression) -> Bug:
    """What is said of a bug, before anything was played."""
    shows = (*bug.shows, *(f"{track_record.MUTANT}{name}" for name in bug.mutants))
    plays = [Play(spec, True, 0, 0, "") for spec in shows]
    plays += [Play(spec, False, 0, 0, "") for spec in bug.absent]
    history = History(bug.history, "") if bug.history else None
    return Bug(bug.bug, bug.about, entry.behaviour.id, bug.checks, bug.means, bug.note, tuple(plays), history)


def play(bugs: Sequence[Bug], spec: str, times: int) -> dict[str, Play]:
    """Play these on one cluster, as often; by behaviour."""
    ids = [bug.behaviour for bug in bugs]
    has = {bug.behaviour: next(p.has for p in bug.plays if p.cluster == spec) for bug in bugs}
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    seen: dict[str, list[set[str]]] = defaultdict(list)
    for number in range(times):
        with tempfile.TemporaryDirectory() as folder:
            came = judged(spec, ids, Path(folder))
            by_checks = found(Path(folder) / "latest")
            for behaviour, outcome in came.items():
                outcomes[behaviour].append(outcome)
                wanted = Verdict.FAIL if has[behaviour] else Verdict.PASS
                if outcome.verdict is not wanted:
                    print(f"  {behaviour} is {outcome.verdict} on {spec}: {outcome.reason}", flush=True)
                if has[behaviour]:
                    seen[behaviour].append(by_checks[outcome.namespace])
        print(f"{spec}: {number + 1} of {times}", flush=True)
    today = datetime.now(UTC).date().isoformat()
    return {
        behaviour: Play(
            cluster=spec,
            has=has[behaviour],
            times=times,
            as_said=sum(o.verdict is (Verdict.FAIL if has[behaviour] else Verdict.PASS) for o in all_of),
            last=today,
            seen_by=tuple(sorted(set.intersection(*seen[behaviour]))) if has[behaviour] else (),
            said=plain(all_of[-1].reason, all_of[-1].namespace) if has[behaviour] else "",
        )
        for behaviour, all_of in outcomes.items()
    }


def judged(spec: str, ids: Sequence[str], reports: Path) -> Mapping[str, Outcome]:
    """One run of these behaviours. Raises CannotStart when it made no report."""
    only = [f"--behaviour={behaviour}" for behaviour in ids]
    suite = str(ROOT / "suites" / "regressions")
    if spec.startswith(track_record.MUTANT):
        mutant = mutants.named(spec.removeprefix(track_record.MUTANT))
        only += ["--mutant", mutant.name]
        spec = mutant.cluster
    command = [*HINTBOUND, "run", suite, "--cluster", spec, "--jobs", "4", "--reports", str(reports), *only]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (ExitCode.PASS, ExitCode.FAIL, ExitCode.UNKNOWN):
        said = (run.stderr.strip() or run.stdout.strip() or str(run.returncode)).splitlines()[-1]
        raise CannotStart(f"{spec} could not be played: {said}")
    return {one.behaviour: one for one in run_json.read(reports / "latest" / "run.json").outcomes}


def found(run: Path) -> Mapping[str, set[str]]:
    """The checks that find something in a run's record, by the namespace of the scenario."""
    command = [*HINTBOUND, "check", str(run), "--format", "json"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    if checked.returncode not in (ExitCode.PASS, ExitCode.FAIL, ExitCode.UNKNOWN):
        raise CannotStart(f"hintbound check could not judge {run}: {checked.stderr.strip()}")
    by_namespace: dict[str, set[str]] = defaultdict(set)
    for check in json.loads(checked.stdout)["checks"]:
        for violation in check["shown"]:
            by_namespace[violation["pod"].partition("/")[0]].add(check["name"])
    return by_namespace


def plain(reason: str, namespace: str) -> str:
    """A failure's reason without the names that are drawn anew in every run."""
    return re.sub(r", resourceVersion=\d+", "", reason).replace(namespace.removeprefix("hb-"), "…")


def in_history(history: History) -> History:
    """Have the test find it. The day is empty when it does not."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", history.test]
    tested = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if tested.returncode:
        print(tested.stdout)
    return replace(history, last="" if tested.returncode else datetime.now(UTC).date().isoformat())


def chosen(said: Sequence[Bug], names: Sequence[str], specs: Sequence[str]) -> dict[str, list[Bug]]:
    """By cluster, what is to be played there. Raises CannotStart for an unknown one."""
    known = [bug.bug for bug in said]
    everywhere = dict.fromkeys(play.cluster for bug in said for play in bug.plays)
    for name in names:
        if name not in known:
            raise one_of("bug", name, known)
    for spec in specs:
        if spec not in everywhere:
            raise one_of("cluster of a regression", spec, sorted(everywhere))
    wanted = {
        spec: [
            bug
            for bug in said
            if (not names or bug.bug in names) and spec in [play.cluster for play in bug.plays]
        ]
        for spec in sorted(specs or everywhere)
    }
    return {spec: bugs for spec, bugs in wanted.items() if bugs}


def write(record: TrackRecord) -> None:
    """The data, and the page of it."""
    text = json.dumps(record.to_json(), indent=1, ensure_ascii=False) + "\n"
    (DOCS / track_record.FILE).write_text(text, encoding="utf-8")
    (DOCS / track_record.PAGE).write_text(track_record.page(record), encoding="utf-8")


def main() -> int:
    """Play what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="kubernetes#134249; all when none is named")
    parser.add_argument("--on", action="append", default=[], metavar="SPEC", help="only on this cluster")
    parser.add_argument("--times", type=int, default=TIMES, metavar="N", help="[default: 5]")
    parser.add_argument("--page", action="store_true", help="write the page anew, play nothing")
    asked = parser.parse_args()
    if asked.times < 1:
        raise CannotStart(f"{asked.times} times are none.", next_step="Write 1 or more.")
    said = [unplayed(entry, bug) for entry, bug in declared()]
    wanted = {} if asked.page else chosen(said, asked.bugs, asked.on)
    file = DOCS / track_record.FILE
    now = {bug.bug: bug for bug in said}
    for spec, bugs in wanted.items():
        came = play(bugs, spec, asked.times)
        for bug in bugs:
            plays = [came.get(bug.behaviour, p) if p.cluster == spec else p for p in now[bug.bug].plays]
            now[bug.bug] = replace(now[bug.bug], plays=tuple(plays))
        store(file, now)
    played = {bug.bug for bugs in wanted.values() for bug in bugs}
    for bug in said:
        if bug.history and bug.bug in played:
            now[bug.bug] = replace(now[bug.bug], history=in_history(bug.history))
    record = store(file, now)
    wrong = [bug.bug for bug in record.bugs if not bug.holds]
    for name in wrong:
        print(f"not as it is said: {name}", flush=True)
    return ExitCode.FAIL if wrong else ExitCode.PASS


def store(file: Path, now: Mapping[str, Bug]) -> TrackRecord:
    """Keep what was played so far: a long play may be broken off."""
    record = TrackRecord(__version__, tuple(now.values()))
    if file.exists():
        record = TrackRecord.from_json(json.loads(file.read_bytes())).updated(record)
    write(record)
    return record


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as error:
        print(f"track_record: {error}", file=sys.stderr)
        sys.exit(ExitCode.CANNOT_START)
