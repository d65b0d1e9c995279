"""Logs judged by several processes, spilled and partitioned: the same as one after the other in memory."""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hintbound.checks import Context, judging, logs, worker
from hintbound.checks.judging import Tally, ours
from hintbound.checks.model import Unknown
from hintbound.checks.records import Intake
from hintbound.checks.traits import traits_of
from hintbound.history import Source, audit_files
from hintbound.history.audit_found import Wanted
from hintbound.protocol import CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING as CLEARING
from hintbound.protocol import ComponentKind
from tests.checks.breaks import BREAKS
from tests.checks.in_memory import in_memory
from tests.checks.record import CONTEXT, Record, clean
from tests.checks.test_families import NAMES
from tests.history.lines import audit, line


def _scenes() -> Iterator[tuple[str, Record]]:
    yield "clean", clean()
    for name, breaks in BREAKS.items():
        for number, spoil in enumerate(breaks):
            record = Record()
            record.created()
            spoil(record)
            yield f"{name}-{number}", record


def _moved(text: bytes, scene: str) -> bytes:
    """The same about other pods and nodes: a cluster's record is judged as a whole."""
    event = orjson.loads(text.replace(b'"ns"', b'"' + scene.encode() + b'"'))
    event["auditID"] += f"-{scene}"
    return line(_elsewhere(event, scene))


def _elsewhere(value: Any, scene: str) -> Any:
    if isinstance(value, dict):
        return {
            key: f"{scene}-{inner}"
            if key in ("nodeName", "nominatedNodeName") and inner
            else {"name": f"{scene}-{inner['name']}"}
            if key == "target" and inner
            else _elsewhere(inner, scene)
            for key, inner in value.items()
        }
    return [_elsewhere(inner, scene) for inner in value] if isinstance(value, list) else value


LINES = [
    _moved(line(dict(event.data)), scene)
    for scene, record in _scenes()
    for event in record.events
    if event.source == Source.AUDIT
]


def simply(files: Sequence[str], context: Context, wanted: Wanted) -> tuple[list[Tally], Intake]:
    lives, intake = in_memory(files, wanted)
    return [judging.tally(check, lives, context) for check in ours()], intake


def at_once(
    files: Sequence[str], context: Context = CONTEXT, wanted: Wanted | None = None
) -> tuple[list[Tally], Intake]:
    intake = Intake()
    return logs.judge(files, ours(), context, wanted or Wanted(), intake, processes=2), intake


def told(tallies: Sequence[Tally], intake: Intake) -> dict[str, Any]:
    found: dict[str, Any] = {
        tally.check.name: (
            tally.judged,
            tally.violations,
            dict(tally.unknowns),
            [violation.said for violation in tally.shown],
        )
        for tally in tallies
    }
    return found | {"intake": replace(intake, places={})}


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_logs_shuffled_split_doubled_and_cut_are_judged_as_in_memory(
    data: st.DataObject, tmp_path: Path
) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    lines = list(LINES)
    for number in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=20), label="doubled"):
        lines.append(lines[number])
    for number in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=4), label="cut"):
        lines[number] = lines[number][:60] + b"\n"
    random.Random(data.draw(st.integers(0, 99))).shuffle(lines)
    edges = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=3), label="edges"))
    for number, (start, end) in enumerate(zip([0, *edges], [*edges, len(lines)], strict=True)):
        text = b"".join(lines[start:end])
        if data.draw(st.booleans(), label="compressed"):
            (tmp_path / f"{number}.log.gz").write_bytes(gzip.compress(text, 1))
        else:
            (tmp_path / f"{number}.log").write_bytes(text)
    wanted = data.draw(st.sampled_from([Wanted(), Wanted(since="2026-11-30T09:00:05.000000Z")]))
    files = audit_files.files([str(tmp_path)])

    assert told(*at_once(files, wanted=wanted)) == told(*simply(files, CONTEXT, wanted))


@pytest.mark.parametrize("gates", [{}, {CLEARING: True}, {CLEARING: False}], ids=["untold", "on", "off"])
@pytest.mark.parametrize("tried", [False, True], ids=["bound", "tried"])
@pytest.mark.parametrize("level", ["RequestResponse", "Request", "Metadata"])
def test_traits_tell_of_a_life_what_a_look_tells(
    level: str, tried: bool, gates: dict[str, bool], tmp_path: Path
) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join(_spoiled(text, level, tried=tried) for text in LINES))
    context = replace(CONTEXT, gates={ComponentKind.APISERVER: gates})
    told = Counter[str]()
    for life in in_memory([str(log)], Wanted())[0]:
        traits = traits_of(life, context, {})
        for check in ours():
            said: bool | Unknown | None = None
            if check.needs is not None and not check.needs & traits:
                said = False
            elif check.by_traits is not None:
                said = check.by_traits(traits, context)
                told[check.name] += said is not None
            if said is None:
                continue
            by_traits, looked = Tally(check), Tally(check)
            judging.add_by_traits(by_traits, said, 1, context)
            judging.add_life(looked, life, context)
            assert by_traits == looked, life.requests

    assert tried or set(+told) == {check.name for check in ours() if check.by_traits is not None}


def _spoiled(text: bytes, level: str, *, tried: bool) -> bytes:
    """The same at another level, or with bindings that were only tried."""
    event = orjson.loads(text)
    if tried and event["objectRef"].get("subresource") == "binding":
        event["requestURI"] = event.get("requestURI", "") + "?dryRun=All"
    if level != "RequestResponse":
        event["level"] = level
        event.pop("responseObject", None)
    if level == "Metadata":
        event.pop("requestObject", None)
    return line(event)


@pytest.mark.parametrize("length", [300, 5000])
def test_ranges_of_one_file_are_the_whole_file(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b"\n" + b"".join([*LINES[:40], b"x\n", *LINES[40:80]]).rstrip())
    monkeypatch.setattr(logs, "_RANGE", length)

    tallies, intake = at_once([str(log)])

    assert told(tallies, intake) == told(*simply([str(log)], CONTEXT, Wanted()))
    assert dict(intake.places) == {"not JSON": [f"{log}:42"]}


def test_partition_that_is_too_long_is_judged_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join(LINES))
    monkeypatch.setattr(worker, "_MOST_AT_ONCE", 2000)

    assert told(*at_once([str(log)])) == told(*simply([str(log)], CONTEXT, Wanted()))


def test_every_check_is_broken_by_these_lines(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(b"".join(LINES))
    tallies, _ = at_once([str(log)])

    silent = {tally.check.name for tally in tallies if not tally.violations and not tally.unknowns}
    assert {tally.check.name for tally in tallies} == set(NAMES)
    assert silent <= {"hints-come-to-rest"}, "its hints are close together only where a watch saw them"


ROTATED = "audit-2026-11-30T09-01-00.000.log"


def _at(second: int) -> bytes:
    return line(audit("create", name=f"p{second}", code=201, at=float(second)))


@pytest.mark.parametrize(
    ("names", "told_missing"),
    [
        ({ROTATED: 0, "audit-2026-11-30T09-20-00.000.log.gz": 60, "audit.log": 1200}, []),
        ({ROTATED: 0, "audit.log": 1200}, [f"between .*{ROTATED} and audit.log"]),
        ({ROTATED: 0, "other.log": 1200}, []),
        ({"audit.log": 1200, "audit.log.1": 600, "audit.log.3.gz": 0}, ["the rotated file .*/audit.log.2"]),
        ({"audit.log.4": 600, "audit.log.5": 0}, []),
    ],
    ids=["whole", "hole", "another", "number", "oldest"],
)
def test_rotated_file_that_is_missing_is_told(
    names: dict[str, int], told_missing: list[str], tmp_path: Path
) -> None:
    for name, second in names.items():
        text = _at(second) + _at(second + 1)
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    _, intake = at_once(audit_files.files([str(tmp_path)]))

    assert len(intake.missing) == len(told_missing), intake.missing
    for missing, words in zip(intake.missing, told_missing, strict=True):
        assert re.search(words, missing)
