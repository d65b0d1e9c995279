"""The wire mutants, as rules: what each does to the traffic of a scheduler or nominator."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hintbound.kube import PatchType
from hintbound.kube.errors import ApiError
from hintbound.kube.resources import PODS
from tests.kube.scripted import Peer, Request
from tests.proxy.documented import documented
from tests.proxy.world import POD, World, event, pod, well, world


async def patch(w: World, body: dict[str, Any]) -> Any:
    return await w.client.patch(PODS, "a", body, PatchType.STRATEGIC, namespace="ns", subresource="status")


async def bind(w: World, node: str = "n1") -> Any:
    body = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u"},
        "target": {"kind": "Node", "name": node},
    }
    return await w.client.create(PODS, body, subresource="binding")


async def test_never_clears() -> None:
    async with world(documented("never-clears")) as w:
        await patch(w, {"status": {"nominatedNodeName": None, "conditions": []}})
        await patch(w, {"status": {"nominatedNodeName": "n1"}})

        assert w.bodies == [{"status": {"conditions": []}}, {"status": {"nominatedNodeName": "n1"}}]
        assert w.proxy.hits("never-clears") == 1


async def test_always_clears() -> None:
    async with world(documented("always-clears")) as w:
        await patch(w, {"status": {"conditions": []}})

        assert w.bodies == [{"status": {"conditions": [], "nominatedNodeName": None}}]


async def test_hint_is_hidden_from_lists_watches_and_reads() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        if "watch" in request.query:
            await peer.begin_stream()
            await peer.chunk(event("ADDED", pod("a", hint="n1")) + event("BOOKMARK", pod("", version=9))[:20])
            await peer.chunk(event("BOOKMARK", pod("", version=9))[20:])
            await peer.end_stream()
        elif request.path.endswith("/pods"):
            await peer.json({"kind": "PodList", "metadata": {}, "items": [pod("a", hint="n1"), pod("b")]})
        else:
            await peer.json(pod("a", hint="n1"))

    async with world(documented("hints-hidden"), handler=handler) as w:
        listed = await w.client.list(PODS)
        alone = await w.client.get(PODS, "a", namespace="ns")
        watched = [(e.type, e.object) async for e in w.client.watch(PODS, send_initial_events=True)]

        assert listed["items"] == [pod("a"), pod("b")]
        assert alone == pod("a")
        assert watched == [("ADDED", pod("a")), ("BOOKMARK", pod("", version=9))]
        assert w.proxy.hits("hints-hidden") == 3
        assert all("accept-encoding" not in r.headers for r in w.server.requests if "watch" not in r.query)


async def test_binds_elsewhere() -> None:
    async with world(documented("binds-elsewhere")) as w:
        await bind(w, "zone-n1")
        await bind(w, "zone-n2")

        assert [body["target"]["name"] for body in w.bodies] == ["zone-n0", "zone-n2"]


async def test_old_status_patch_is_replayed_after_the_bind() -> None:
    async with world(documented("old-patch-after-bind")) as w:
        await patch(w, {"status": {"nominatedNodeName": "n0"}})
        await patch(w, {"status": {"nominatedNodeName": "n1"}})
        await bind(w)
        while not w.proxy.hits("old-patch-after-bind"):
            await asyncio.sleep(0.005)

        assert w.heard == [f"PATCH {POD}/status"] * 2 + [f"POST {POD}/binding", f"PATCH {POD}/status"]
        assert w.bodies[-1] == {"status": {"nominatedNodeName": "n1"}}


async def test_condition_and_hint_are_split() -> None:
    body = {
        "metadata": {"uid": "u"},
        "status": {"conditions": [{"type": "PodScheduled"}], "nominatedNodeName": "n"},
    }
    async with world(documented("condition-and-hint-split")) as w:
        await patch(w, body)
        await patch(w, {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": None}})

        assert w.bodies == [
            {"metadata": {"uid": "u"}, "status": {"conditions": [{"type": "PodScheduled"}]}},
            {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": "n"}},
            {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": None}},
        ]


async def test_victim_is_deleted_twice_and_at_once() -> None:
    rules = documented("victim-deleted-twice"), documented("victim-deleted-at-once")
    async with world(*rules) as w:
        await w.client.delete(PODS, "a", namespace="ns")

        assert w.heard == [f"DELETE {POD}"] * 2
        assert w.bodies == [{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}] * 2
        assert w.server.requests[0].headers["content-type"] == "application/json"


async def test_bind_without_uid() -> None:
    async with world(documented("bind-without-uid")) as w:
        await bind(w)

        assert "uid" not in w.bodies[0]["metadata"]


async def test_bind_is_answered_and_never_forwarded() -> None:
    async with world(documented("bind-swallowed")) as w:
        answer = await bind(w)

        assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Success", 201)
        assert w.heard == []


async def test_writer_without_preconditions() -> None:
    async with world(documented("no-preconditions")) as w:
        await patch(w, {"metadata": {"uid": "u", "resourceVersion": "7", "labels": {}}, "status": {}})

        assert w.bodies == [{"metadata": {"labels": {}}, "status": {}}]


async def test_blind_resend_after_a_conflict() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        if "resourceVersion" in request.json["metadata"]:
            await peer.json({"kind": "Status", "code": 409, "reason": "Conflict"}, status=409)
        else:
            await well(request, peer)

    async with world(documented("blind-resend"), handler=handler) as w:
        answer = await patch(w, {"metadata": {"uid": "u", "resourceVersion": "7"}})

        assert answer == {"metadata": {"uid": "u"}}
        assert [sorted(body["metadata"]) for body in w.bodies] == [["resourceVersion", "uid"], ["uid"]]


async def test_what_is_not_json_is_counted_and_passed_on() -> None:
    body, sent = b"k8s\x00\x01\x02", "application/vnd.kubernetes.protobuf"

    async def handler(request: Request, peer: Peer) -> None:
        await peer.json({})

    async with world(documented("bind-without-uid"), handler=handler) as w:
        await w.ask("POST", f"{POD}/binding", body, {"Content-Type": sent})

        assert [request.body for request in w.server.requests] == [body]
        assert w.proxy.book.tally("bind-without-uid").unreadable["scheduler"] == 1
        assert w.proxy.hits("bind-without-uid") == 0


async def test_refusals_in_both_shapes() -> None:
    rules = (
        {"name": "apf", "match": {"name": "a"}, "do": {"reply": {"status": 429, "shape": "apf"}}},
        {"name": "status", "match": {"name": "b"}, "do": {"reply": {"status": 429, "retryAfter": 7}}},
    )
    async with world(*rules) as w:
        apf = await w.client.request("GET", POD)
        with pytest.raises(ApiError) as refused:
            await w.client.get(PODS, "b", namespace="ns")

        assert (apf.status, apf.headers["retry-after"], apf.headers["content-type"]) == (
            429, "1", "text/plain; charset=utf-8",
        )  # fmt: skip
        assert apf.raw == b"Too many requests, please try again later.\n"
        assert refused.value.reason == "TooManyRequests"
        assert w.heard == []
