"""A cache of its own for each test, a fake Go, a release server: nothing here builds Kubernetes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hintbound.assets import cache, download
from tests.assets.fakes import FAKE_GO, FakeGo, Recorded, Releases


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of this machine is seen: no cache, no Go, no network, no pip index."""
    for name in ("HINTBOUND_ASSETS", "PIP_FIND_LINKS", "GOROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HINTBOUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HINTBOUND_DOWNLOAD_URL", "off")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(download, "_unreachable", {})
    held: dict[Path, int | None] = {}
    monkeypatch.setattr(cache, "_in_use", held)
    yield
    for descriptor in held.values():
        if descriptor is not None:
            os.close(descriptor)


@pytest.fixture
def show() -> Recorded:
    return Recorded()


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    go = bin_folder / "go"
    go.write_text(FAKE_GO.format(python=sys.executable))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_GO_LOG", str(tmp_path / "go.log"))
    return FakeGo(tmp_path / "go.log")


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> Iterator[Releases]:
    monkeypatch.setattr("hintbound.assets.machine.os_arch", lambda: ("linux", "amd64"))
    served = Releases()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            content = served.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            for end, act in served.wrong.items():
                if self.path.endswith(end):
                    act(self, content)
                    return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HINTBOUND_DOWNLOAD_URL", served.url)
        yield served
        server.shutdown()
        thread.join()
