"""The fault proxy side by side with a plain aiohttp reverse proxy: TLS on both sides, 4.6 KB GETs, one event
loop each, rules and recorder on; and what open watches weigh. One JSON line per measurement.

Figures of one run are to be compared, not those of two machines. Load comes from wrk and answers from nginx
where both are installed (Debian: `apt install wrk nginx-light`); else from processes of our own, which are
slower than the proxy, and each line says so. `cpuMicrosecondsEach` is the proxy's own CPU time: by that a
busy machine counts less.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from hintbound.clusters.embedded.pki import Authority
from hintbound.history import ProxyRecorder, Store
from hintbound.kube import Connection
from hintbound.proxy import Book, FaultProxy, ServingAuthority

BODY = json.dumps({"kind": "Pod", "padding": "x" * 4560}).encode()
POD = "/api/v1/namespaces/bench/pods/a"
NAMES = "names.lua"
SCRIPT = f"""local n = 0
function request()
  n = (n + 1) % 5000
  return wrk.format("GET", "{POD}-" .. n)
end
"""
"""For wrk: not always the same pod."""
RULES = [
    {
        "name": f"rule-{number}",
        "match": {
            "verb": ["get", "patch"],
            "resource": ["pods", "pods/status"],
            "name": f"pod-{number}",
            "namespace": "bench",
        },
        "do": {"reply": {"status": 429, "retryAfter": 1}},
    }
    for number in range(50)
]
"""All of the resource that is asked for, so that each must be looked at, and none about the pod."""


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM files of a server, and of the authority that signed them."""

    cert: Path
    key: Path
    ca: Path

    @classmethod
    def made(cls, folder: Path) -> Pair:
        """For 127.0.0.1."""
        authority = Authority(folder)
        signed = authority.server("bench")
        return cls(signed.cert, signed.key, authority.cert)


@contextlib.contextmanager
def upstream(folder: Path, pair: Pair) -> Iterator[str]:
    """An apiserver that has one answer: nginx, or our own process."""
    port = _free_port()
    if shutil.which("nginx"):
        command = ["nginx", "-p", str(folder), "-c", str(_nginx(folder, pair, port)), "-g", "daemon off;"]
    else:
        command = [sys.executable, __file__, "serve", str(port), str(pair.cert), str(pair.key)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _nginx(folder: Path, pair: Pair, port: int) -> Path:
    (folder / "a").write_bytes(BODY)
    config = folder / "nginx.conf"
    config.write_text(
        f"""{"user root;" if os.getuid() == 0 else ""} worker_processes 1;
        pid {folder}/pid; error_log /dev/null;
        events {{ worker_connections 8192; }}
        http {{ access_log off; keepalive_requests 100000000; default_type application/json;
          client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
          uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; open_file_cache max=10;
          server {{ listen 127.0.0.1:{port} ssl backlog=4096; ssl_certificate {pair.cert};
            ssl_certificate_key {pair.key}; location / {{ root {folder}; try_files /a =500; }} }} }}"""
    )
    return config


def load(url: str, token: str, script: Path, *, connections: int, seconds: int) -> dict[str, float]:
    """Requests per second and latencies in ms, as wrk or our own loader saw them."""
    if shutil.which("wrk"):
        command = ["wrk", f"-c{connections}", "-t1", f"-d{seconds}s", "--latency", "-s", str(script), url]
        said = subprocess.run(
            [*command, "-H", f"Authorization: Bearer {token}"], capture_output=True, text=True, check=True
        ).stdout
        assert "Non-2xx" not in said, said
        return {
            "requestsPerSecond": round(float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])),  # type: ignore[index]
            "p50ms": _ms(re.search(r"\n\s+50%\s+(\S+)", said)[1]),  # type: ignore[index]
            "p99ms": _ms(re.search(r"\n\s+99%\s+(\S+)", said)[1]),  # type: ignore[index]
        }
    command = [sys.executable, __file__, "load", url, token, str(connections), str(seconds)]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return found


def _ms(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return round(float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit], 3)


Started = Callable[[str, Pair, Path], contextlib.AbstractAsyncContextManager[tuple[str, str]]]
"""Begins a proxy to an upstream; gives its URL and the token that it asks for."""


@contextlib.asynccontextmanager
async def ours(server: str, pair: Pair, folder: Path) -> AsyncIterator[tuple[str, str]]:
    """The fault proxy with fifty rules and a recorder."""
    store = Store(folder / "history.ndjson")
    connection = Connection.from_pem(server, ca=pair.ca)
    proxy = FaultProxy(connection, actor="bench", rules=RULES, witness=ProxyRecorder(store))
    async with proxy:
        yield proxy.url, proxy.token
    store.close()


@contextlib.asynccontextmanager
async def theirs(server: str, pair: Pair, folder: Path) -> AsyncIterator[tuple[str, str]]:
    """What one writes in an hour: aiohttp's server before aiohttp's client."""
    import aiohttp
    from aiohttp import web

    trust = ssl.create_default_context(cafile=str(pair.ca))
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:

        async def forward(request: web.Request) -> web.StreamResponse:
            async with session.request(
                request.method, server + request.path_qs, headers=request.headers, data=request.content
            ) as answer:
                return web.Response(
                    status=answer.status,
                    body=await answer.read(),
                    headers={"Content-Type": answer.headers["Content-Type"]},
                )

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", forward)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ServingAuthority().context(), backlog=4096)
        await site.start()
        port = runner.addresses[0][1]
        yield f"https://127.0.0.1:{port}", "none"
        await runner.cleanup()


def loop_factory(kind: str) -> Callable[[], asyncio.AbstractEventLoop]:
    """The event loop that is asked for; CannotRun when it is not installed."""
    if kind == "asyncio":
        return asyncio.new_event_loop
    import uvloop

    found: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return found


def measured(kind: str, started: Started, server: str, pair: Pair, seconds: int) -> dict[str, Any]:
    """One proxy under load of 32 connections, and of one."""

    async def run() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            async with started(server, pair, Path(folder)) as (url, token):
                before = time.process_time()
                busy = await asyncio.to_thread(
                    load, url, token, pair.cert.parent / NAMES, connections=32, seconds=seconds
                )
                spent = time.process_time() - before
                alone = await asyncio.to_thread(
                    load, url, token, pair.cert.parent / NAMES, connections=1, seconds=max(2, seconds // 3)
                )
        each = round(spent * 1e6 / (busy["requestsPerSecond"] * seconds), 1)
        return {**busy, "p50AloneMs": alone["p50ms"], "cpuMicrosecondsEach": each}

    with asyncio.Runner(loop_factory=loop_factory(kind)) as runner:
        return runner.run(run())


def idle_watches(kind: str, count: int, pair: Pair) -> dict[str, Any]:
    """What the process weighs with so many open watches that say nothing."""

    async def run() -> dict[str, Any]:
        port = _free_port()
        command = [sys.executable, __file__, "watched", str(port), str(pair.cert), str(pair.key)]
        process = await asyncio.create_subprocess_exec(*command)
        clients: asyncio.subprocess.Process | None = None
        try:
            await asyncio.to_thread(_wait, port)
            connection = Connection.from_pem(f"https://127.0.0.1:{port}", ca=pair.ca)
            book = Book()
            proxy = FaultProxy(connection, actor="bench", book=book, rules=RULES)
            async with proxy:
                before = psutil.Process().memory_info().rss
                command = [sys.executable, __file__, "watch", proxy.url, proxy.token, str(count)]
                clients = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
                assert clients.stdout is not None
                await clients.stdout.readline()
                after = psutil.Process().memory_info().rss
                return {
                    "watches": len(proxy.connections),
                    "megabytes": round(after / 1e6, 1),
                    "kilobytesPerWatch": round((after - before) / 1e3 / count, 1),
                }
        finally:
            for one in (clients, process):
                if one is not None:
                    one.kill()
                    await one.wait()

    with asyncio.Runner(loop_factory=loop_factory(kind)) as runner:
        return runner.run(run())


# What runs in processes of its own where wrk and nginx are missing, and for watches.


async def _serve(port: int, cert: str, key: str, answer: bytes, *, once: bool) -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                if once:
                    await reader.read()
                    return

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = await asyncio.start_server(peer, "127.0.0.1", port, ssl=context, backlog=4096)
    await server.serve_forever()


async def _clients(url: str, token: str, count: int, work: Callable[..., Awaitable[None]]) -> None:
    port = int(url.rpartition(":")[2])
    context = ssl._create_unverified_context()
    gate = asyncio.Semaphore(32)

    async def one() -> None:
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        await work(reader, writer, f"Host: b\r\nAuthorization: Bearer {token}\r\n\r\n".encode())

    await asyncio.gather(*(one() for _ in range(count)))


async def _load(url: str, token: str, connections: int, seconds: float) -> None:
    took: list[float] = []
    until = time.monotonic() + seconds

    async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes) -> None:
        request = f"GET {POD} HTTP/1.1\r\n".encode() + rest
        while (began := time.monotonic()) < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            assert length is not None, head
            await reader.readexactly(int(length[1]))
            took.append(time.monotonic() - began)
        writer.close()

    await _clients(url, token, connections, work)
    took.sort()
    print(
        json.dumps(
            {
                "requestsPerSecond": round(len(took) / seconds),
                "p50ms": round(took[len(took) // 2] * 1000, 3),
                "p99ms": round(took[len(took) * 99 // 100] * 1000, 3),
            }
        )
    )


async def _watch(url: str, token: str, count: int) -> None:
    opened = 0

    async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes) -> None:
        nonlocal opened
        writer.write(b"GET /api/v1/pods?watch=true HTTP/1.1\r\n" + rest)
        await reader.readuntil(b"BOOKMARK")
        opened += 1
        if opened == count:
            print("open", flush=True)
        with contextlib.suppress(ConnectionError):
            await reader.read()

    await _clients(url, token, count, work)


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait(port: int) -> None:
    import socket

    for _ in range(500):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)
    raise SystemExit("the upstream did not start")


def _head(length: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()


def _play(asked: argparse.Namespace) -> None:
    """One of the processes."""
    words = asked.words
    match asked.what:
        case "serve":
            answer = _head(f"Content-Length: {len(BODY)}") + BODY
            asyncio.run(_serve(int(words[0]), words[1], words[2], answer, once=False))
        case "watched":
            event = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
            answer = _head("Transfer-Encoding: chunked") + b"%x\r\n%b\r\n" % (len(event), event)
            asyncio.run(_serve(int(words[0]), words[1], words[2], answer, once=True))
        case "load":
            asyncio.run(_load(words[0], words[1], int(words[2]), float(words[3])))
        case "weigh":
            found = idle_watches(words[0], int(words[1]), Pair(*map(Path, words[2:5])))
            print(json.dumps({"benchmark": "proxy-watches", "loop": words[0], **found}), flush=True)
        case "watch":
            asyncio.run(_watch(words[0], words[1], int(words[2])))


def main() -> int:
    """Each proxy on each event loop in turn, then the watches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="all", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--watches", type=int, default=2000)
    asked = parser.parse_args()
    if asked.what != "all":
        _play(asked)
        return 0
    fast = bool(shutil.which("wrk") and shutil.which("nginx"))
    if not fast:
        print(
            "wrk or nginx is missing: our own processes play them, and are what is measured.", file=sys.stderr
        )
    loops = ["asyncio"]
    with contextlib.suppress(ImportError):
        loop_factory("uvloop")
        loops.append("uvloop")
    if len(loops) == 1:
        print("uvloop is not installed: only asyncio's own loop is measured.", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="hintbound-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        pair = Pair.made(folder)
        (folder / NAMES).write_text(SCRIPT)
        about = {"benchmark": "proxy", "load": "wrk" if fast else "own processes"}
        with upstream(folder, pair) as server:
            direct = load(server, "none", folder / NAMES, connections=1, seconds=2)
            for kind in loops:
                rates: dict[str, float] = {}
                for who, started in (("aiohttp", theirs), ("hintbound", ours)):
                    found = measured(kind, started, server, pair, asked.seconds)
                    rates[who] = found["requestsPerSecond"]
                    added = round(found["p50AloneMs"] - direct["p50ms"], 3)
                    told = {**about, "loop": kind, "proxy": who, **found, "p50AddedMs": added}
                    if who == "hintbound":
                        told["timesAiohttp"] = round(rates["hintbound"] / rates["aiohttp"], 2)
                    print(json.dumps({**told, "loadAverage": round(os.getloadavg()[0], 2)}), flush=True)
        for kind in loops:  # each in a process of its own: what was freed before would be used again
            words = [kind, str(asked.watches), str(pair.cert), str(pair.key), str(pair.ca)]
            subprocess.run([sys.executable, __file__, "weigh", *words], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
