"""Rule files: read strictly, refused with line and reason; and which of what fits a rule is acted upon."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from hintbound.errors import CannotStart
from hintbound.kube.resources import PODS
from hintbound.proxy import Book, of, read
from hintbound.proxy.paths import Path as JsonPath
from hintbound.proxy.target import Target, target
from tests.proxy.world import POD, pod, world
from tests.proxy.world import PODS as PODS_PATH

GOOD = "rules:\n- name: a\n  match: {verb: get, resource: pods}\n  do: {reply: {status: 500}}\n"


A = "rules:\n- name: a\n"
END = "  do: {reset: {}}\n"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (A + "  do: {rply: {status: 500}}\n", 3, "Did you mean 'reply'?"),
        (A + "  mach: {}\n" + END, 3, "unknown key of rules[0] 'mach'"),
        (A + "  match: {verb: wach}\n" + END, 3, "unknown verb 'wach'. Did you mean 'watch'?"),
        (A + "  match:\n    userAgent: '('\n" + END, 4, "no regular expression"),
        (A + "  match: {verb: get}\n  do:\n    editRequest: [{remove: x}]\n", 5, "cannot act upon get"),
        (A + "  match:\n    verb: list\n    body: [{path: a, is: 1}]\n" + END, 4, "have no body"),
        (A + "  match:\n    object: [{path: a, is: 1}]\n" + END, 4, "'match.object' asks what lists"),
        (A + "  match:\n    body: [{path: a, is: 1}]\n  do: {dropEvents: {}}\n", 4, "what is read"),
        (A + "  do:\n  - reply: {status: 500}\n  - delay: {seconds: 1}\n", 5, "never reached"),
        (A + "  do:\n  - delay: {seconds: 1}\n  - dropEvents: {}\n", 4, "Write two rules"),
        (A + "  do: {delay: {seconds: -1}}\n", 3, "not a number that is not negative"),
        (A + "  do: {reply: {status: 200}}\n", 3, "from 400 on"),
        (A + "  do: {reply: {status: 503, shape: apf}}\n", 3, "comes with 429"),
        (A + "  when: {nth: 2, first: 1}\n" + END, 3, "'nth' and 'first'"),
        (A + "  when: {probability: 2}\n" + END, 3, "above 1"),
        (A + "  when: {per: pod}\n" + END, 3, "unknown unit of counting"),
        (A + "  when: {until: soon}\n" + END, 3, "no time"),
        (A + "  actor: nobody\n" + END, 3, "unknown actor 'nobody'"),
        (A + "  do: {editRequest: [{set: a..b, value: 1}]}\n", 3, "is no path"),
        (A + "  do: {editRequest: [{set: a}]}\n", 3, "'set' takes value"),
        (A + "  do: {editRequest: [{replace: a, pattern: x, with: '\\1'}]}\n", 3, "does not fit its"),
        (A + "  match:\n    body: [{path: a}]\n" + END, 4, "says no condition"),
        (A + "  do: {replay: {of: {verb: get}}}\n", 3, "requests that write"),
        (A + "  do: {}\n", 3, "does nothing"),
        (GOOD + "- name: a\n" + END, 5, "is there already, on line 2"),
        (A, 2, "has no 'do'"),
        ("", 1, "is empty"),
        ("rules: [\n", 2, "not YAML"),
    ],
)  # fmt: skip
def test_bad_rules_are_refused_with_line_and_reason(tmp_path: Path, text: str, line: int, says: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)

    with pytest.raises(CannotStart) as refused:
        read(file, actors=["scheduler"])

    assert str(refused.value).startswith(f"{file}:{line}: ")
    assert says in str(refused.value)


def test_rules_of_a_book_are_all_in_force_or_none() -> None:
    book = Book()
    with pytest.raises(CannotStart, match="'b' is in force"):
        book.add([{"name": name, "do": {"reset": {}}} for name in ("a", "b", "b")])
    assert book.told() == []
    book.add(yaml.safe_load(GOOD))
    with pytest.raises(CannotStart, match="unknown rule 'b'"):
        book.hits("b")


@pytest.mark.parametrize(
    ("when", "acted"),
    [
        ({}, "1111111111"),
        ({"first": 3}, "1110000000"),
        ({"after": 3}, "0001111111"),
        ({"every": 3}, "1001001001"),
        ({"nth": 4}, "0001000000"),
        ({"after": 1, "every": 2, "first": 2}, "0101000000"),
        ({"for": 0}, "0000000000"),
        ({"until": "2020-01-01T00:00:00Z"}, "0000000000"),
        ({"until": "2999-01-01T00:00:00Z"}, "1111111111"),
        ({"probability": 0.5, "seed": 7}, "1101011011"),
    ],
)
async def test_when(when: dict[str, Any], acted: str) -> None:
    rule = {"name": "r", "match": {"name": "a"}, "when": when, "do": {"reply": {"status": 503}}}
    async with world(rule) as w:
        statuses = [(await w.client.request("GET", POD)).status for _ in acted]

    assert "".join("1" if status == 503 else "0" for status in statuses) == acted


async def test_counts_per_object() -> None:
    rule = {
        "name": "once-each",
        "match": {"verb": "get", "resource": "pods"},
        "when": {"first": 1, "per": "object"},
        "do": {"reply": {"status": 503}},
    }
    async with world(rule) as w:
        paths = [POD, POD, f"{POD}b", f"{POD}b"]
        assert [(await w.client.request("GET", path)).status for path in paths] == [503, 200, 503, 200]
        assert w.proxy.book.tally("once-each").told() == {
            "name": "once-each",
            "inForce": True,
            "fitted": {"scheduler": 4},
            "hits": {"scheduler": 2},
            "unreadable": {},
            "waiting": {},
        }


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ({"namespace": "n*"}, True),
        ({"namespace": ["x", "ns"]}, True),
        ({"namespace": "x"}, False),
        ({"name": "[ab]"}, True),
        ({"name": "b"}, False),
        ({"resource": "*"}, True),
        ({"resource": "pods/*"}, False),
        ({"resource": ["nodes", "pods"], "verb": ["get", "list"]}, True),
        ({"verb": "delete"}, False),
        ({"userAgent": "^tests"}, True),
        ({"userAgent": "^kubectl"}, False),
        ({"path": "pods/a$"}, True),
    ],
)
async def test_match(match: dict[str, Any], fits: bool) -> None:
    async with world({"name": "r", "match": match, "do": {"reply": {"status": 503}}}) as w:
        assert ((await w.client.request("GET", POD)).status == 503) is fits


async def test_rule_of_another_actor_does_not_act() -> None:
    async with world() as w:
        w.proxy.book.actors.add("nominator")
        w.proxy.book.add({"name": "r", "actor": "nominator", "do": {"reply": {"status": 503}}})
        assert (await w.client.request("GET", POD)).status == 200


async def test_held_request_goes_on_when_it_is_released_or_its_limit_is_over() -> None:
    async with world({"name": "r", "match": {"name": "a"}, "do": {"hold": {}}}) as w:
        asked = asyncio.ensure_future(w.client.get(PODS, "a", namespace="ns"))
        while not w.proxy.book.tally("r").waiting["scheduler"]:
            await asyncio.sleep(0.005)
        assert w.heard == []
        w.proxy.book.release("r")
        assert await asked == pod("a")
    async with world({"name": "r", "match": {"name": "a"}, "do": {"hold": {"limit": 0.05}}}) as w:
        assert await w.client.get(PODS, "a", namespace="ns") == pod("a")


async def test_effects_of_several_rules_come_in_their_order() -> None:
    first = {"name": "first", "match": {"name": "a"}, "do": [{"delay": {"seconds": 0.01}}]}
    then = {"name": "then", "match": {"name": "a"}, "do": {"reply": {"status": 503}}}
    async with world(first, then) as w:
        await w.client.request("GET", POD)
        assert w.said[-1]["rules"] == [("first", "delayed 0.01 s"), ("then", "answered 503")]
        assert (w.said[-1]["status"], w.said[-1]["forwarded"]) == (503, 0)


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/api/v1/namespaces/ns/pods/a", Target("get", "pods", "ns", "a")),
        ("GET", "/api/v1/pods?limit=5", Target("list", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=1&timeoutSeconds=5", Target("watch", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=false", Target("list", "pods", "", "")),
        ("GET", "/api/v1/watch/namespaces/ns/pods", Target("watch", "pods", "ns", "")),
        ("GET", f"{PODS_PATH}?fieldSelector=metadata.name%3Da&watch=1", Target("watch", "pods", "ns", "a")),
        ("POST", f"{POD}/binding", Target("create", "pods/binding", "ns", "a")),
        ("PATCH", f"{POD}/status?fieldManager=x", Target("patch", "pods/status", "ns", "a")),
        ("DELETE", "/apis/apps/v1/namespaces/ns/jobs", Target("deletecollection", "jobs", "ns", "")),
        ("PUT", "/api/v1/namespaces/ns/finalize", Target("update", "namespaces/finalize", "ns", "ns")),
        ("GET", "/api/v1/namespaces/ns", Target("get", "namespaces", "ns", "ns")),
        ("GET", "/api/v1/namespaces", Target("list", "namespaces", "", "")),
        ("GET", "/api/v1/nodes/n%201", Target("get", "nodes", "", "n 1")),
        ("GET", "/metrics", Target("get", "", "", "")),
        ("GET", "/api/v1", Target("get", "", "", "")),
        ("GET", "/apis/apps/v1", Target("get", "", "", "")),
    ],
)  # fmt: skip
def test_what_a_request_is_about(method: str, path: str, wanted: Target) -> None:
    assert target(method, path) == wanted


def test_paths() -> None:
    obj: dict[str, Any] = {
        "status": {"conditions": [{"type": "A", "status": "1"}, {"type": "B", "status": "2"}], "hint": None},
        "metadata": {"annotations": {"hintbound.dev/decision": "d"}},
    }
    assert JsonPath.of("status.conditions[type=B].status").find(obj) == ["2"]
    assert JsonPath.of("status.conditions[*].type").find(obj) == ["A", "B"]
    assert JsonPath.of('metadata.annotations["hintbound.dev/decision"]').find(obj) == ["d"]
    assert JsonPath.of("status.hint").find(obj) == [None]
    assert JsonPath.of("status.none.deeper").find(obj) == []
    assert JsonPath.of("status.conditions[*]").remove(obj)
    assert JsonPath.of("spec.node.name").set(obj, "n")
    assert obj["spec"] == {"node": {"name": "n"}}
    assert obj["status"]["conditions"] == []


def test_rules_read_from_data_are_those_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(GOOD)
    assert [rule.name for rule in of(yaml.safe_load(GOOD))] == [rule.name for rule in read(file)] == ["a"]
