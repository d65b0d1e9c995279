"""The client: one request per call, as asked for, and every failure told apart."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import aiohttp
import pytest

from hintbound.kube import Call, Client, Connection, Json, Outcome, PatchType, Propagation, errors
from hintbound.kube.resources import NAMESPACES, NODES, PODS
from tests.kube.scripted import Peer, Request, ScriptedServer

POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}}


class Recorder:
    """A tap that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Call, Outcome | None]] = []

    def start(self, call: Call) -> None:
        self.told.append(("start", call, None))

    def opened(self, call: Call, outcome: Outcome) -> None:
        self.told.append(("opened", call, outcome))

    def finished(self, call: Call, outcome: Outcome) -> None:
        self.told.append(("finished", call, outcome))

    @property
    def last(self) -> Outcome:
        outcome = self.told[-1][2]
        assert outcome is not None
        return outcome


async def echo(request: Request, peer: Peer) -> None:
    await peer.json({"kind": "Pod", "seen": request.path, "extra": {"unknown": [1, None]}})


async def sent(call: Any) -> Request:
    """The request that a call of a client makes."""
    async with ScriptedServer(echo) as server, server.client() as client:
        await call(client)
    (request,) = server.requests
    return request


async def test_unknown_fields_survive() -> None:
    async with ScriptedServer(echo) as server, server.client() as client:
        pod = await client.get(PODS, "p", namespace="a")

    assert pod == {"kind": "Pod", "seen": "/api/v1/namespaces/a/pods/p", "extra": {"unknown": [1, None]}}


@pytest.mark.parametrize("patch_type", PatchType)
async def test_each_patch_type_has_its_content_type(patch_type: PatchType) -> None:
    request = await sent(
        lambda c: c.patch(PODS, "p", {"a": None}, patch_type, namespace="a", subresource="status")
    )

    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/a/pods/p/status")
    assert request.headers["content-type"] == patch_type.value
    assert request.json == {"a": None}


async def test_json_patch_is_a_list() -> None:
    operations = [{"op": "test", "path": "/spec/nodeName", "value": None}]

    request = await sent(lambda c: c.patch(PODS, "p", operations, PatchType.JSON, namespace="a"))

    assert request.json == operations
    assert request.headers["content-type"] == "application/json-patch+json"


async def test_apply_names_its_manager_and_takes_place_and_name_from_the_object() -> None:
    request = await sent(lambda c: c.apply(PODS, POD, field_manager="me", force=True, subresource="status"))

    assert request.path == "/api/v1/namespaces/a/pods/p/status"
    assert request.query == {"fieldManager": "me", "force": "true"}
    assert request.headers["content-type"] == "application/apply-patch+yaml"


async def test_apply_without_force_does_not_mention_it() -> None:
    assert (await sent(lambda c: c.apply(PODS, POD, field_manager="me"))).query == {"fieldManager": "me"}


async def test_create_goes_to_the_objects_namespace() -> None:
    request = await sent(lambda c: c.create(PODS, POD, dry_run=True, field_manager="me"))

    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/a/pods")
    assert request.query == {"dryRun": "All", "fieldManager": "me"}
    assert request.json == POD


async def test_create_of_a_subresource_goes_to_the_object() -> None:
    binding = {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}

    request = await sent(lambda c: c.create(PODS, binding, namespace="a", subresource="binding"))

    assert request.path == "/api/v1/namespaces/a/pods/p/binding"


async def test_create_without_any_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="pods are namespaced"):
        await sent(lambda c: c.create(PODS, {"metadata": {"name": "p"}}))


async def test_replace_puts_the_whole_object() -> None:
    request = await sent(lambda c: c.replace(NODES, {"metadata": {"name": "n"}}, subresource="status"))

    assert (request.method, request.path) == ("PUT", "/api/v1/nodes/n/status")


async def test_delete_carries_its_options() -> None:
    request = await sent(
        lambda c: c.delete(
            PODS,
            "p",
            namespace="a",
            grace_period=0,
            uid="u",
            resource_version="7",
            propagation=Propagation.FOREGROUND,
        )
    )

    assert request.method == "DELETE"
    assert request.json == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
    }


async def test_delete_without_options_has_no_body() -> None:
    request = await sent(lambda c: c.delete(PODS, "p", namespace="a"))

    assert request.body == b""
    assert "content-type" not in request.headers


async def test_list_selects_and_pages() -> None:
    request = await sent(
        lambda c: c.list(
            PODS,
            label_selector="a in (b, c)",
            field_selector="spec.nodeName=n",
            limit=2,
            continue_from="x/y=",
            resource_version="0",
            params={"resourceVersionMatch": "NotOlderThan"},
        )
    )

    assert request.path == "/api/v1/pods"
    assert request.query == {
        "labelSelector": "a in (b, c)",
        "fieldSelector": "spec.nodeName=n",
        "limit": "2",
        "continue": "x/y=",
        "resourceVersion": "0",
        "resourceVersionMatch": "NotOlderThan",
    }


async def test_raw_request_gives_refusals_as_answers() -> None:
    async def teapot(request: Request, peer: Peer) -> None:
        await peer.answer(429, b"Too many requests", "text/plain", Retry_After="3")

    async with ScriptedServer(teapot) as server, server.client() as client:
        answer = await client.request("PURGE", "/x", params={"a": True}, body=[1])

    assert (answer.status, answer.body, answer.headers["retry-after"]) == (429, "Too many requests", "3")
    assert server.requests[0].query == {"a": "true"}
    assert isinstance(answer.error, errors.TooManyRequests)
    assert answer.error.retry_after == 3


async def test_text_pages_are_text_whatever_they_claim() -> None:
    async def page(request: Request, peer: Peer) -> None:
        await peer.answer(200, "ok ü".encode(), "application/json" if request.path == "/a" else "text/plain")

    async with ScriptedServer(page) as server, server.client() as client:
        assert await client.get_text("/a") == "ok ü"
        assert await client.get_text("/healthz") == "ok ü"


async def test_text_page_that_fails_raises_with_its_text() -> None:
    async def unwell(request: Request, peer: Peer) -> None:
        await peer.answer(500, b"[+]ping ok\n[-]etcd failed", "text/plain")

    async with ScriptedServer(unwell) as server, server.client() as client:
        with pytest.raises(errors.ServerError, match="etcd failed") as caught:
            await client.get_text("/readyz")
    assert caught.value.body == "[+]ping ok\n[-]etcd failed"


async def test_success_that_is_no_object_is_an_error() -> None:
    async def page(request: Request, peer: Peer) -> None:
        await peer.answer(200, b"<html>", "text/html")

    async with ScriptedServer(page) as server, server.client() as client:
        with pytest.raises(errors.MalformedAnswer, match="<html>"):
            await client.get(NODES, "n")


async def test_redirects_are_not_followed() -> None:
    async def elsewhere(request: Request, peer: Peer) -> None:
        await peer.answer(307, b"", Location="/elsewhere")

    async with ScriptedServer(elsewhere) as server, server.client() as client:
        with pytest.raises(errors.MalformedAnswer, match="307"):
            await client.get(NODES, "n")
    assert len(server.requests) == 1


async def test_clones_share_connections_under_names_of_their_own() -> None:
    async with ScriptedServer(echo) as server, server.client(user_agent="hintbound/1") as client:
        await client.get(NODES, "n")
        async with client.named("hintbound/1 (NNN-HINT-TAKEN)") as clone:
            await clone.get(NODES, "n")
        await client.get(NODES, "n")

    assert server.connections == 1
    assert [request.headers["user-agent"] for request in server.requests] == [
        "hintbound/1",
        "hintbound/1 (NNN-HINT-TAKEN)",
        "hintbound/1",
    ]


async def test_a_closed_client_says_so() -> None:
    async with ScriptedServer(echo) as server:
        client = server.client()
        await client.aclose()
        await client.aclose()
        with pytest.raises(RuntimeError, match="closed"):
            await client.get(NODES, "n")


async def test_cookies_are_not_kept() -> None:
    async def sweet(request: Request, peer: Peer) -> None:
        await peer.json({"kind": "Node"}, Set_Cookie="a=b")

    async with ScriptedServer(sweet) as server, server.client() as client:
        await client.get(NODES, "n")
        await client.get(NODES, "n")
    assert "cookie" not in server.requests[1].headers


# What is sent once stays sent once

WRITES = ["POST", "PUT", "PATCH", "DELETE"]


def closes_at_second_request(how: str) -> Any:
    """A server that takes a second request on a kept-alive connection and closes instead of answering."""
    seen = 0

    async def handler(request: Request, peer: Peer) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            await peer.json({"kind": "Status"})
        else:
            getattr(peer, how)()

    return handler


@pytest.mark.parametrize("how", ["close", "abort"])
@pytest.mark.parametrize("method", ["GET", *WRITES])
async def test_lost_keep_alive_connection_is_told_not_retried(method: str, how: str) -> None:
    async with ScriptedServer(closes_at_second_request(how)) as server, server.client() as client:
        await client.get(NODES, "n")
        with pytest.raises(errors.ConnectionLost) as caught:
            await client.request(method, "/api/v1/nodes/n", body=None if method == "GET" else {})

    assert len(server.requests) == 2
    assert server.connections == 1
    assert caught.value.may_have_been_applied is (method in WRITES)
    assert ("it may have been applied" in str(caught.value)) is (method in WRITES)


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_aiohttp_left_alone_would_have_retried(how: str) -> None:
    """If this fails, aiohttp no longer does what the client guards against."""
    async with ScriptedServer(closes_at_second_request(how)) as server, aiohttp.ClientSession() as session:
        await (await session.get(server.url)).read()
        with pytest.raises(aiohttp.ClientError):
            await session.put(server.url, json={})

    assert len(server.requests) == 3


async def test_dry_run_that_is_lost_changed_nothing() -> None:
    async with ScriptedServer(closes_at_second_request("close")) as server, server.client() as client:
        await client.get(NODES, "n")
        with pytest.raises(errors.ConnectionLost) as caught:
            await client.delete(NODES, "n", dry_run=True)
    assert not caught.value.may_have_been_applied


async def test_connection_closed_while_idle_is_replaced_without_a_word() -> None:
    async def once(request: Request, peer: Peer) -> None:
        await peer.json({"kind": "Node"})
        peer.close()

    async with ScriptedServer(once) as server, server.client() as client:
        for _ in range(3):
            await client.get(NODES, "n")
            await asyncio.sleep(0.02)
    assert (len(server.requests), server.connections) == (3, 3)


async def test_no_server_means_nothing_was_sent() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with Client(Connection(url), actor="a", user_agent="u") as client:
            with pytest.raises(errors.ConnectionFailed, match="nothing was changed") as caught:
                await client.create(PODS, POD)
    assert not caught.value.may_have_been_applied


async def test_unknown_host_means_nothing_was_sent() -> None:
    async with Client(Connection("http://host.invalid:1"), actor="a", user_agent="u") as client:
        with pytest.raises(errors.ConnectionFailed, match=r"host\.invalid"):
            await client.create(PODS, POD)


async def test_answer_that_breaks_off_tells_its_status() -> None:
    async def half(request: Request, peer: Peer) -> None:
        await peer.send(b'HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"kind"')
        peer.close()

    async with ScriptedServer(half) as server, server.client() as client:
        with pytest.raises(errors.ConnectionLost) as caught:
            await client.create(PODS, POD)
    assert (caught.value.status, caught.value.may_have_been_applied) == (201, True)


@pytest.mark.parametrize("answer", [b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
async def test_answer_that_is_no_http_is_a_lost_connection(answer: bytes) -> None:
    async def noise(request: Request, peer: Peer) -> None:
        await peer.send(answer)
        peer.close()

    async with ScriptedServer(noise) as server, server.client() as client:
        with pytest.raises(errors.ConnectionLost):
            await client.get(NODES, "n")
    assert len(server.requests) == 1


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
async def test_deadline_spans_the_whole_answer(begun: bytes) -> None:
    async def slow(request: Request, peer: Peer) -> None:
        await peer.send(begun)
        await asyncio.sleep(30)

    async with ScriptedServer(slow) as server, server.client() as client:
        with pytest.raises(errors.DeadlineExceeded, match=r"within 0\.05 s; it may") as caught:
            await client.create(PODS, POD, timeout=0.05)
    assert caught.value.may_have_been_applied


async def test_deadline_before_any_connection_changed_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        # A listener that never accepts, with its queue full: a connection is neither made nor refused.
        fillers = []
        for _ in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
            fillers.append(filler)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        async with Client(Connection(url), actor="a", user_agent="u", timeout=0.1) as client:
            with pytest.raises(errors.DeadlineExceeded) as caught:
                await client.create(PODS, POD)
        for filler in fillers:
            filler.close()
    assert not caught.value.may_have_been_applied


async def test_connection_is_not_reused_after_a_deadline() -> None:
    async def slow_once(request: Request, peer: Peer) -> None:
        if request.path.endswith("slow"):
            await asyncio.sleep(0.1)
        await peer.json({"kind": "Node", "seen": request.path})

    async with ScriptedServer(slow_once) as server, server.client() as client:
        with pytest.raises(errors.DeadlineExceeded):
            await client.get(NODES, "slow", timeout=0.02)
        assert (await client.get(NODES, "n"))["seen"] == "/api/v1/nodes/n"


# Taps


async def test_tap_sees_both_halves_of_an_exchange() -> None:
    tap = Recorder()
    async with ScriptedServer(echo) as server, server.client(tap=tap) as client:
        await client.patch(PODS, "p", {"a": 1}, namespace="a", field_manager="me")

    (_, call, _), (_, same, outcome) = tap.told
    assert [kind for kind, _, _ in tap.told] == ["start", "finished"]
    assert call is same
    assert (call.actor, call.user_agent, call.method) == ("tester", "tests/1", "PATCH")
    assert (call.path, call.query) == ("/api/v1/namespaces/a/pods/p", {"fieldManager": "me"})
    assert (call.content_type, call.body) == (PatchType.MERGE.value, {"a": 1})
    assert outcome is not None
    assert (outcome.status, outcome.body["kind"], outcome.error) == (200, "Pod", None)
    assert outcome.headers["content-type"] == "application/json"
    assert call.started <= outcome.ended
    assert call.started_at <= outcome.ended_at
    assert not call.watch


async def test_id_of_a_call_travels_as_audit_id() -> None:
    tap = Recorder()
    async with ScriptedServer(echo) as server, server.client(tap=tap) as client:
        await client.get(NODES, "n")
        await client.get(NODES, "n")

    ids = [call.id for kind, call, _ in tap.told if kind == "start"]
    assert ids == [request.headers["audit-id"] for request in server.requests]
    assert len(set(ids)) == 2


async def test_tap_sees_refusals_with_their_text() -> None:
    async def refuse(request: Request, peer: Peer) -> None:
        await peer.answer(429, b"no\n", "text/plain", Retry_After="1")

    tap = Recorder()
    async with ScriptedServer(refuse) as server, server.client(tap=tap) as client:
        with pytest.raises(errors.TooManyRequests):
            await client.get(NODES, "n")
    assert (tap.last.status, tap.last.body, tap.last.headers["retry-after"]) == (429, "no\n", "1")
    assert isinstance(tap.last.error, errors.TooManyRequests)


async def test_tap_sees_what_was_never_answered() -> None:
    tap = Recorder()
    async with ScriptedServer(closes_at_second_request("close")) as server, server.client(tap=tap) as client:
        await client.get(NODES, "n")
        with pytest.raises(errors.ConnectionLost) as caught:
            await client.delete(NODES, "n")
    assert tap.last.error is caught.value
    assert tap.last.status is None


async def test_tap_sees_that_the_caller_gave_up() -> None:
    async def never(request: Request, peer: Peer) -> None:
        await asyncio.sleep(30)

    tap = Recorder()
    async with ScriptedServer(never) as server, server.client(tap=tap) as client:
        task = asyncio.create_task(client.get(NODES, "n"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert isinstance(tap.last.error, asyncio.CancelledError)


async def test_tap_of_a_clone_replaces_that_of_the_client() -> None:
    first, second = Recorder(), Recorder()
    async with ScriptedServer(echo) as server, server.client(tap=first) as client:
        await client.named("x", tap=second).get(NODES, "n")
        await client.named("y").get(NODES, "n")
    assert len(first.told) == len(second.told) == 2


async def test_a_failing_tap_fails_the_call_before_anything_is_sent() -> None:
    class Full(Recorder):
        def start(self, call: Call) -> None:
            raise OSError("disk full")

    async with ScriptedServer(echo) as server, server.client(tap=Full()) as client:
        with pytest.raises(OSError, match="disk full"):
            await client.get(NODES, "n")
    assert server.requests == []


async def test_many_calls_at_once_do_not_wait_for_each_other() -> None:
    inside = 0
    together = asyncio.Event()

    async def gather(request: Request, peer: Peer) -> None:
        nonlocal inside
        inside += 1
        if inside == 150:
            together.set()
        await together.wait()
        await peer.json({"kind": "Namespace"})

    async with ScriptedServer(gather) as server, server.client() as client:
        await asyncio.gather(*(client.get(NAMESPACES, f"n{i}", timeout=10) for i in range(150)))
    assert server.connections == 150


async def test_a_server_url_with_a_path_is_kept() -> None:
    async with ScriptedServer(echo) as server:
        connection = Connection(f"{server.url}/k8s/clusters/c-1/")
        async with Client(connection, actor="a", user_agent="u") as client:
            await client.get(NODES, "n")
    assert server.requests[0].path == "/k8s/clusters/c-1/api/v1/nodes/n"
