"""What passes where no rule is in force: everything, unchanged, at the reader's pace; and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
from pathlib import Path

import pytest

from hintbound.errors import CannotStart
from hintbound.kube import Client, Connection
from hintbound.kube.errors import ConnectionLost
from hintbound.kube.resources import PODS
from hintbound.proxy import FaultProxy, listener
from hintbound.proxy.upstream import Pool
from tests.kube.pki import Authority
from tests.kube.scripted import Peer, Request, ScriptedServer
from tests.proxy.world import POD, pod, well, world

HOST = b"Host: x\r\n"
LOOK = {"name": "look", "match": {"name": "*"}, "do": {"delay": {"seconds": 0}}}
"""A rule that changes nothing: the way past rules must carry the same as the straight one."""


@pytest.mark.parametrize("rules", [(), (LOOK,)], ids=["straight", "past-rules"])
async def test_answers_come_back_as_they_were(rules: tuple[dict[str, object], ...]) -> None:
    packed = gzip.compress(b"{}" * 500)

    async def handler(request: Request, peer: Peer) -> None:
        if request.path.endswith("gzip"):
            await peer.answer(200, packed, Content_Encoding="gzip", X_Kubernetes_Pf_Flowschema_Uid="u")
        elif request.path.endswith("chunked"):
            await peer.begin_stream()
            await peer.chunk(b"one")
            await peer.chunk(b"two")
            await peer.end_stream()
        else:
            await peer.answer(404, b"none", "text/plain", Warning='299 - "old"')

    async with world(*rules, handler=handler) as w:
        unpacked = await w.client.request("GET", "/apis/gzip")
        chunked = await w.client.request("GET", f"{POD}-chunked")
        missing = await w.client.request("GET", f"{POD}-none")

        assert unpacked.raw == b"{}" * 500
        assert unpacked.headers["x-kubernetes-pf-flowschema-uid"] == "u"
        assert chunked.raw == b"onetwo"
        assert (missing.status, missing.raw, missing.headers["warning"]) == (404, b"none", '299 - "old"')
        assert w.server.connections == 1, "connections to the apiserver are kept and used again"


async def test_request_goes_on_with_its_own_fields_and_without_what_is_about_the_connection() -> None:
    async with world() as w:
        await w.ask(
            "GET",
            POD,
            headers={"Audit-ID": "7", "Keep-Alive": "x", "Connection": "close, X-Mine", "X-Mine": "1"},
        )
        headers = w.server.requests[0].headers

        assert headers["audit-id"] == "7"
        assert headers["host"] == w.server.url.removeprefix("http://")
        assert not headers.keys() & {"keep-alive", "x-mine", "connection", "authorization"}


async def test_stranger_is_not_let_in() -> None:
    async with world() as w:
        wire = await w.connect()
        await wire.raw(b"GET /api HTTP/1.1\r\n" + HOST + b"\r\n")

        assert (await wire.head()).startswith("HTTP/1.1 401 ")
        assert w.heard == []
        wire.close()


async def test_own_bearer_token_is_passed_on_where_the_proxy_has_no_identity() -> None:
    async with (
        ScriptedServer(well) as server,
        FaultProxy(Connection(server.url), actor="x", pass_identity=True) as proxy,
        Client(proxy.connection(), actor="x", user_agent="t") as client,
    ):
        await client.get_text("/version")
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(proxy.url.rpartition(":")[2]), ssl=ssl.create_default_context(cadata=proxy.ca)
        )
        writer.write(b"GET /api HTTP/1.1\r\nAuthorization: Bearer mine\r\n" + HOST + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")

        assert [r.headers.get("authorization") for r in server.requests] == [None, "Bearer mine"]
        writer.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /api HTTP/1.1\r\n\r\n", 400),
        (b"GET /api HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
        (b"GET http://other/api HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /api HTTP/2.0\r\n" + HOST + b"\r\n", 400),
        (b"GET /api HTTP/1.0\r\n" + HOST + b"\r\n", 505),
        (b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /api HTTP/1.1\r\n" + HOST + b"X : 1\r\n\r\n", 400),
        (b"GET /api HTTP/1.1\r\n" + HOST + b"X: 1\r\n 2\r\n\r\n", 400),
        (b"GET /api HTTP/1.1\r\n" + HOST + b"X: 1\nY: 2\r\n\r\n", 400),
        (b"GET /api HTTP/1.1\r\n" + HOST + b"X: \x00\r\n\r\n", 400),
        (b"POST /api HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST /api HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /api HTTP/1.1\r\n" + HOST + b"Content-Length: +1\r\n\r\n", 400),
        (b"POST /api HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"GET /api HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"nonsense\r\n\r\n", 400),
    ],
)
async def test_what_could_be_read_in_two_ways_is_refused(sent: bytes, status: int) -> None:
    async with world() as w:
        wire = await w.connect()
        await wire.raw(sent)

        assert (await wire.head()).startswith(f"HTTP/1.1 {status} ")
        assert (await wire.reader.read()).endswith(b"}"), "and the connection is closed"
        assert w.heard == []


@pytest.mark.parametrize(
    "chunk", [b"x\r\nhello\r\n", b"-5\r\nhello\r\n", b"5\nhello\r\n", b"5\r\nhelloGET /\r\n"]
)
async def test_malformed_chunks_are_refused(chunk: bytes) -> None:
    async with world() as w:
        wire = await w.connect()
        await wire.send("POST", "/api", headers={"Transfer-Encoding": "chunked"})
        await wire.raw(chunk)
        answer = await wire.reader.read()

        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
        assert all(request.body == b"" for request in w.server.requests)


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with world() as w:
        wire = await w.connect()
        one = b"GET %b HTTP/1.1\r\nAuthorization: Bearer " + w.proxy.token.encode() + b"\r\n" + HOST + b"\r\n"
        await wire.raw(one % b"/first" + one % b"/second")
        for _ in range(2):
            await wire.head()
            await wire.reader.readexactly(len(pod_json()))

        assert w.heard == ["GET /first", "GET /second"]
        wire.close()


def pod_json() -> bytes:
    import orjson

    return orjson.dumps(pod("a"))


@pytest.mark.parametrize("rules", [(), ({**LOOK, "match": {}},)], ids=["straight", "past-rules"])
async def test_body_in_chunks_and_expect_continue(rules: tuple[dict[str, object], ...]) -> None:
    got: list[bytes] = []

    async def handler(request: Request, peer: Peer) -> None:
        while (size := int(await peer.reader.readline(), 16)) != 0:
            got.append(await peer.reader.readexactly(size))
            await peer.reader.readline()
        await peer.reader.readline()
        assert "expect" not in request.headers
        await peer.json({})

    async with world(*rules, handler=handler) as w:
        wire = await w.connect()
        await wire.send("POST", "/api", headers={"Transfer-Encoding": "chunked", "Expect": "100-continue"})
        assert await wire.head() == "HTTP/1.1 100 Continue\r\n\r\n"
        await wire.raw(b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

        assert (await wire.head()).startswith("HTTP/1.1 200 ")
        assert b"".join(got) == b"abcde"
        wire.close()


async def test_connection_that_was_answered_before_it_had_the_body_is_not_used_again() -> None:
    heard: list[bytes] = []
    served: list[asyncio.Event] = []

    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.Event())
        over = served[-1]
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            heard.append((await reader.readuntil(b"\r\n\r\n")).partition(b" HTTP")[0])
            writer.write(b"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n")
            await reader.read()  # whatever else comes on this connection is taken for the body
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        over.set()

    server = await asyncio.start_server(hasty, "127.0.0.1", 0)
    upstream = Connection(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with (
        FaultProxy(upstream, actor="x") as proxy,
        Client(proxy.connection(), actor="x", user_agent="t", timeout=5) as client,
    ):
        tls, port = ssl.create_default_context(cadata=proxy.ca), int(proxy.url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        writer.write(
            b"POST /api HTTP/1.1\r\nContent-Length: 99999999\r\n"
            + HOST
            + f"Authorization: Bearer {proxy.token}\r\n\r\n".encode()
            + b"x" * 1000
        )
        while len(heard) < 1:
            await asyncio.sleep(0.005)
        await client.request("GET", "/next")
        writer.close()
    server.close()
    await asyncio.gather(*(over.wait() for over in served))

    assert heard[:1] + heard[-1:] == [b"POST /api", b"GET /next"]


async def test_connection_is_used_again_after_a_refusal_that_did_not_wait_for_the_body() -> None:
    async with world({"name": "r", "match": {"verb": "create"}, "do": {"reply": {"status": 503}}}) as w:
        wire = await w.connect()
        for _ in range(3):
            await wire.send("POST", "/api", headers={"Content-Length": "4"})
            await asyncio.sleep(0.01)
            await wire.raw(b"body")
            head = await wire.head()
            assert head.startswith("HTTP/1.1 503 ")
            await wire.reader.readexactly(int(head.partition("Content-Length: ")[2].split("\r")[0]))
        assert w.heard == []
        wire.close()


async def test_head_has_a_length_and_no_body() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")

    for rules in ((), (LOOK,)):
        async with world(*rules, handler=handler) as w:
            wire = await w.connect()
            for _ in range(2):
                await wire.send("HEAD", POD)
                assert "content-length: 99" in (await wire.head()).lower()
            wire.close()


@pytest.mark.parametrize("rules", [(), (LOOK,)], ids=["straight", "past-rules"])
async def test_slow_reader_holds_the_apiserver_back(rules: tuple[dict[str, object], ...]) -> None:
    sent = 0
    whole = 64 * 1024 * 1024

    async def handler(request: Request, peer: Peer) -> None:
        nonlocal sent
        await peer.send(f"HTTP/1.1 200 OK\r\nContent-Length: {whole}\r\n\r\n".encode())
        piece = b"x" * 1024 * 1024
        while sent < whole:
            await peer.send(piece)
            sent += len(piece)

    async with world(*rules, handler=handler) as w:
        wire = await w.connect()
        await wire.send("GET", POD)
        await wire.head()
        before = -1
        while before != sent:  # until it does not get on any more
            before = sent
            await asyncio.sleep(0.2)
        assert sent < whole / 2, "the apiserver was not held back"
        left = whole
        while left:
            left -= len(await wire.reader.read(1024 * 1024))
        assert sent == whole
        wire.close()


@pytest.mark.parametrize("rules", [(), (LOOK,)], ids=["straight", "past-rules"])
@pytest.mark.parametrize("after", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
async def test_killed_apiserver_is_a_reset_and_no_hang(
    rules: tuple[dict[str, object], ...], after: bytes
) -> None:
    async def handler(request: Request, peer: Peer) -> None:
        if request.path == "/warm":
            await peer.json({})
            return
        await peer.send(after)
        await asyncio.sleep(0.05)
        peer.abort()

    async with world(*rules, handler=handler) as w:
        await w.client.request("GET", "/warm")
        with pytest.raises(ConnectionLost):
            await w.client.request("GET", POD)
        assert w.said[-1]["error"]


async def test_client_that_goes_away_takes_its_request_along() -> None:
    gone = asyncio.Event()

    async def handler(request: Request, peer: Peer) -> None:
        if request.path == "/warm":
            await peer.json({})
            return
        with contextlib.suppress(ConnectionError):
            await peer.reader.read()
        gone.set()

    for rules in ((), (LOOK,)):
        gone.clear()
        async with world(*rules, handler=handler) as w:
            await w.client.request("GET", "/warm")
            wire = await w.connect()
            await wire.send("GET", POD)
            while len(w.heard) < 2:
                await asyncio.sleep(0.005)
            wire.close()
            async with asyncio.timeout(3):
                await gone.wait()


async def test_client_that_does_not_end_its_head_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_SWEEP", 0.02)
    monkeypatch.setattr(listener, "_HEAD_LIMIT", 0.1)
    async with world() as w:
        wire, patient = await w.connect(), await w.connect()
        await wire.raw(b"GET /api HTTP/1.1\r\nHost: x")
        async with asyncio.timeout(3):
            assert await wire.reader.read() == b""
        await patient.send("GET", "/api")  # who asks nothing is given more time
        assert (await patient.head()).startswith("HTTP/1.1 200 ")
        patient.close()
        wire.close()


async def test_credentials_that_cannot_be_had_are_a_reset() -> None:
    async def none() -> dict[str, str]:
        raise CannotStart("the plugin failed.")

    async with ScriptedServer(well) as server:
        proxy = FaultProxy(Connection(server.url), actor="x")
        async with proxy, Client(proxy.connection(), actor="x", user_agent="t") as client:
            proxy.pool = Pool(Connection(server.url, credentials=none))
            with pytest.raises(ConnectionLost):
                await client.get_text("/version")
        assert not proxy.failures


async def test_upgraded_connection_is_a_tunnel() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        assert (request.headers["connection"], request.headers["upgrade"]) == ("Upgrade", "SPDY/3.1")
        await peer.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n\x80early"
        )
        while data := await peer.reader.read(100):
            await peer.send(data[::-1])
        peer.close()

    async with world(handler=handler) as w:
        wire = await w.connect()
        await wire.send("POST", f"{POD}/exec", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"})
        head = await wire.head()
        assert head.startswith("HTTP/1.1 101 ")
        assert "Upgrade: SPDY/3.1" in head
        assert await wire.reader.readexactly(6) == b"\x80early"
        await wire.raw(b"\x80abc")
        assert await wire.reader.readexactly(4) == b"cba\x80"
        wire.close()


async def test_refused_upgrade_is_an_ordinary_answer() -> None:
    async def handler(request: Request, peer: Peer) -> None:
        await peer.json({"code": 403}, status=403)

    async with world(handler=handler) as w:
        answer = await w.ask("POST", f"{POD}/exec", headers={"Upgrade": "SPDY/3.1", "Connection": "Upgrade"})
        assert answer.startswith(b"HTTP/1.1 403 ")


async def test_upgrade_with_a_body_is_refused() -> None:
    async with world() as w:
        answer = await w.ask("POST", "/exec", b"x", {"Upgrade": "SPDY/3.1", "Connection": "Upgrade"})
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert w.heard == []


async def test_only_http_1_1_is_offered() -> None:
    async with world() as w:
        tls = ssl.create_default_context(cadata=w.proxy.ca)
        tls.set_alpn_protocols(["h2", "http/1.1"])
        _, writer = await asyncio.open_connection("127.0.0.1", int(w.proxy.url.rpartition(":")[2]), ssl=tls)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
        writer.close()


async def test_apiserver_of_another_authority_stops_the_start_unless_told(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    trusted, other = Authority(tmp_path), Authority(tmp_path / "other")
    async with ScriptedServer(well, tls=other.server()) as server:
        with pytest.raises(CannotStart, match="does not verify"):
            await FaultProxy(Connection.from_pem(server.url, ca=trusted.ca), actor="x").start()
        told = FaultProxy(Connection.from_pem(server.url, ca=trusted.ca), actor="x", verify=False)
        async with told, Client(told.connection(), actor="x", user_agent="t") as client:
            assert await client.get(PODS, "a", namespace="ns") == pod("a")


async def test_client_certificate_of_the_proxy_is_presented(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.user("system:kube-scheduler")
    seen: list[str] = []

    async def handler(request: Request, peer: Peer) -> None:
        seen.append(str(peer.writer.get_extra_info("peercert")["subject"]))
        await peer.json({})

    async with ScriptedServer(handler, tls=authority.server()) as server:
        upstream = Connection.from_pem(server.url, ca=authority.ca, cert=pair.cert, key=pair.key)
        async with (
            FaultProxy(upstream, actor="x") as proxy,
            Client(proxy.connection(), actor="x", user_agent="t") as client,
        ):
            await client.get_text("/version")

    assert "system:kube-scheduler" in seen[0]


async def test_apiserver_that_is_not_there_stops_the_start() -> None:
    with pytest.raises(CannotStart, match="no connection"):
        await FaultProxy(Connection("http://127.0.0.1:1"), actor="x").start()
