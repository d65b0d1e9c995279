"""The features that behaviours ask of a scheduler: no vendor is judged by what it did not promise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from hintbound import data
from hintbound.plugin import Feature, catalogue
from hintbound.plugin.catalogue import Entry
from hintbound.protocol import Severity

CALLS = {
    ".unschedulable": Feature.CONDITIONS,
    ".told": Feature.EVENTS,
    ".tally": Feature.METRICS,
    ".caught_up": Feature.POD_AFFINITY,
    "waiting_claim": Feature.VOLUMES,
    "extender": Feature.CONFIGURATION_FILE,
}
KEYWORDS = {
    (".own_scheduler", "config"): Feature.CONFIGURATION_FILE,
    (".own_scheduler", "gates"): Feature.FEATURE_GATES,
    (".own_scheduler", "emulate"): Feature.FEATURE_GATES,
    (".pod", "host_port"): Feature.HOST_PORTS,
    (".gated_pod", "host_port"): Feature.HOST_PORTS,
}
WORDS = {"Unschedulable": Feature.CONDITIONS, "SchedulerError": Feature.CONDITIONS}


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return catalogue.collect()


def test_a_behaviour_asks_for_every_feature_that_its_test_relies_on(entries: list[Entry]) -> None:
    for entry in entries:
        missing = set(relied_on(entry)) - entry.behaviour.features
        assert not missing, f"{entry.behaviour.id} needs {', '.join(missing)}"


def test_no_foreign_scheduler_must_do_what_is_harmful(entries: list[Entry]) -> None:
    for entry in entries:
        if entry.behaviour.severity is Severity.HAZARD and entry.file.startswith("suites/scheduler/"):
            assert Feature.UPSTREAM_DETAILS in entry.behaviour.features, entry.behaviour.id


def test_every_feature_is_asked_for(entries: list[Entry]) -> None:
    assert set(Feature) == {feature for entry in entries for feature in entry.behaviour.features}


def relied_on(entry: Entry) -> Iterator[Feature]:
    """By the test of a behaviour and by what it calls in its own file."""
    file, _, name = entry.file.partition("::")
    functions = functions_in(data.folder("suites").parent / file)
    waiting, seen = [name], {name}
    words = WORDS if file.startswith("suites/scheduler/") else {}  # elsewhere tests write them themselves
    while waiting:
        for node in ast.walk(functions[waiting.pop()]):
            if isinstance(node, ast.Name) and node.id in functions.keys() - seen:
                waiting.append(node.id)
                seen.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in words:
                yield words[node.value]
            elif isinstance(node, ast.Call):
                yield from shown_by(node)


def shown_by(call: ast.Call) -> Iterator[Feature]:
    name = f".{call.func.attr}" if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in CALLS:
        yield CALLS[name]
    for keyword in call.keywords:
        if (name, keyword.arg) in KEYWORDS:
            yield KEYWORDS[name, str(keyword.arg)]


def functions_in(file: Path) -> dict[str, ast.AST]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
