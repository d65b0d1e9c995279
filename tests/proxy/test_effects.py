"""Effects upon answers, and what the client sees of them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from hintbound.kube import PatchType
from hintbound.kube.errors import ConnectionLost, TransportError
from hintbound.kube.resources import PODS
from hintbound.proxy.admin import Admin
from tests.kube.scripted import Peer, Request
from tests.proxy.world import POD, event, pod, well, world


def rule(do: dict[str, Any], **match: Any) -> dict[str, Any]:
    return {"name": "r", "match": match, "do": do}


async def test_lost_answer_was_applied_and_lost_request_was_not() -> None:
    for do, applied in (("dropAnswer", True), ("reset", False)):
        async with world(rule({do: {}}, verb="patch")) as w:
            with pytest.raises(ConnectionLost) as lost:
                await w.client.patch(PODS, "a", {"x": 1}, PatchType.MERGE, namespace="ns")

            assert (w.heard == [f"PATCH {POD}"]) is applied
            assert lost.value.may_have_been_applied
            assert (w.said[-1]["status"], w.said[-1]["forwarded"]) == (0, int(applied))


async def test_refusal_of_what_was_done() -> None:
    async with world(rule({"reply": {"status": 504, "forward": True}}, verb="patch")) as w:
        answer = await w.client.request("PATCH", POD, body={"x": 1})

        assert (answer.status, answer.body["reason"]) == (504, "Timeout")
        assert w.heard == [f"PATCH {POD}"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [(409, "Conflict"), (410, "Expired"), (500, "InternalError"), (503, "ServiceUnavailable")],
)
async def test_status_has_the_reason_of_its_code(status: int, reason: str) -> None:
    async with world(rule({"reply": {"status": status, "message": "why not"}})) as w:
        answer = await w.client.request("GET", POD)

        assert answer.status == answer.body["code"] == status
        assert (answer.body["reason"], answer.body["message"]) == (reason, "why not")


async def test_retry_after_stands_in_the_field_and_in_the_status() -> None:
    async with world(rule({"reply": {"status": 429, "retryAfter": 7}})) as w:
        answer = await w.client.request("GET", POD)

        assert answer.headers["retry-after"] == "7"
        assert answer.body["details"] == {"retryAfterSeconds": 7}


async def test_watch_can_be_refused_with_410() -> None:
    async with world(rule({"reply": {"status": 410}}, verb="watch")) as w:
        assert (await w.client.request("GET", "/api/v1/pods?watch=true")).status == 410


async def test_delay() -> None:
    async with world(rule({"delay": {"seconds": 0.1}}, verb="get")) as w:
        began = time.monotonic()
        await w.client.get(PODS, "a", namespace="ns")
        assert time.monotonic() - began >= 0.1


async def test_answer_is_changed_also_where_it_would_have_been_compressed() -> None:
    async with world(rule({"editAnswer": [{"set": "status.phase", "value": "Odd"}]}, name="a")) as w:
        answer = await w.ask("GET", POD, headers={"Accept-Encoding": "gzip", "Accept": "application/json"})

        assert b'"phase":"Odd"' in answer
        assert w.server.requests[0].headers["accept"] == "application/json"
        assert "accept-encoding" not in w.server.requests[0].headers


async def test_hidden_objects_are_in_no_list() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.json({"kind": "PodList", "metadata": {}, "items": [pod("a"), pod("b", hint="n")]})

    hidden = rule(
        {"hideObjects": {}}, resource="pods", object=[{"path": "status.nominatedNodeName", "present": True}]
    )
    async with world(hidden, handler=handler) as w:
        assert (await w.client.list(PODS))["items"] == [pod("a")]
        assert w.proxy.hits("r") == 1


async def test_body_that_is_too_large_for_a_rule_is_refused() -> None:
    async with world(rule({"editRequest": [{"remove": "x"}]}, verb="create")) as w:
        answer = await w.ask("POST", "/api/v1/namespaces/ns/pods", b" " * (16 * 1024 * 1024 + 1))

        assert answer.startswith(b"HTTP/1.1 413 ")
        assert w.heard == []


async def test_replay_needs_an_earlier_request_of_the_same_object() -> None:
    late = {"name": "late", "match": {"verb": "delete"}, "do": {"replay": {"of": {"verb": "patch"}}}}
    async with world(late) as w:
        await w.client.patch(PODS, "b", {"x": 1}, PatchType.MERGE, namespace="ns")
        await w.client.delete(PODS, "a", namespace="ns")
        await w.client.delete(PODS, "b", namespace="ns")
        while not w.proxy.hits("late"):
            await asyncio.sleep(0.005)

        other = f"{POD[:-1]}b"
        assert w.heard == [f"PATCH {other}", f"DELETE {POD}", f"DELETE {other}", f"PATCH {other}"]


async def test_only_one_of_several_requests_carries_the_audit_id_and_what_comes_later_is_told() -> None:
    late = {"name": "late", "match": {"verb": "delete"}, "do": {"replay": {"of": {"verb": "patch"}}}}
    twice = {"name": "twice", "match": {"verb": "delete"}, "do": {"repeat": {}}}
    async with world(late, twice) as w:
        await w.client.patch(PODS, "a", {"x": 1}, PatchType.MERGE, namespace="ns")
        await w.client.delete(PODS, "a", namespace="ns")
        while not w.proxy.hits("late"):
            await asyncio.sleep(0.005)

        assert w.heard == [f"PATCH {POD}", f"DELETE {POD}", f"DELETE {POD}", f"PATCH {POD}"]
        assert ["audit-id" in request.headers for request in w.server.requests] == [True, True, False, False]
        assert w.said[-1]["what"] == "an earlier patch of pods was sent again, answered 200"


async def test_table_is_not_the_objects() -> None:
    table = {"kind": "Table", "rows": [{"object": pod("a", hint="n")}]}

    async def handler(request: Request, peer: Peer) -> None:
        if "watch" in request.query:
            await peer.begin_stream()
            await peer.chunk(event("ADDED", table))
            await peer.end_stream()
        else:
            await peer.json(table)

    edit = rule({"editObjects": [{"remove": "status.nominatedNodeName"}]}, resource="pods")
    async with world(edit, handler=handler) as w:
        assert (await w.client.request("GET", "/api/v1/pods")).body == table
        assert [one.object async for one in w.client.watch(PODS)] == [table]
        assert w.proxy.book.tally("r").unreadable["scheduler"] == 2


async def test_admin_api_adds_tells_releases_and_removes() -> None:
    import aiohttp

    async with world() as w, Admin(w.proxy.book) as admin, aiohttp.ClientSession() as session:
        rules = f"{admin.url}/rules"
        async with session.post(
            rules, data="- name: a\n  match: {name: a}\n  do: {reply: {status: 503}}"
        ) as said:
            assert (said.status, await said.json()) == (201, {"added": ["a"]})
        async with session.post(rules, data="- name: b\n  do: {rest: {}}") as said:
            assert said.status == 400
            assert (await said.json())["error"].startswith(
                "sent:2: unknown key of sent[0].do 'rest'. Did you mean"
            )
        assert (await w.client.request("GET", POD)).status == 503
        async with session.get(rules) as said:
            assert (await said.json())["rules"][0]["hits"] == {"scheduler": 1}
        async with session.post(f"{rules}/a/release") as said:
            assert not (await said.json())["inForce"]
        async with session.get(f"{rules}/b") as said:
            assert said.status == 404
        assert (await w.client.request("GET", POD)).status == 200
        async with session.delete(f"{rules}/a") as said:
            assert said.status == 200
        async with session.get(admin.url.rpartition("/")[0] + "/rules") as said:
            assert said.status == 404, "without its secret it is not there"
        assert w.proxy.book.told() == []


async def test_many_watches_and_requests_at_once() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await asyncio.sleep(0.01)
        await well(request, peer)

    async with world(handler=handler) as w:
        answers = await asyncio.gather(*(w.client.get(PODS, "a", namespace="ns") for _ in range(100)))
        assert answers == [pod("a")] * 100
        assert w.server.connections <= 101


async def test_end_of_the_proxy_resets_its_clients() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await asyncio.Event().wait()

    async with world(handler=handler) as w:
        asked = asyncio.ensure_future(w.client.get(PODS, "a", namespace="ns"))
        while not w.heard:
            await asyncio.sleep(0.005)
        await w.proxy.stop()
        with pytest.raises(TransportError):
            await asked
