"""Official releases: taken only whole and proven; everything else falls back to a build."""

from __future__ import annotations

import socket
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from hintbound import assets
from hintbound.assets import cache, download
from hintbound.assets.pins import CONTROL_PLANE
from hintbound.errors import CannotStart
from tests.assets.fakes import FakeGo, Recorded, Releases, leftovers, run_python


def _declared(handler: BaseHTTPRequestHandler, length: int, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(length))
    handler.end_headers()
    handler.wfile.write(content)


def wrong_content(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    _declared(handler, len(content), b"!" * len(content))


def truncated(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    _declared(handler, len(content), content[: len(content) // 2])


def shortened(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    _declared(handler, len(content) // 2, content[: len(content) // 2])


def killed(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    _declared(handler, len(content), content[: len(content) // 2])
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.connection.close()


def failing(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.send_error(500)


def test_published_release_is_taken_without_go(releases: Releases, show: Recorded) -> None:
    releases.publish("1.35.4", *CONTROL_PLANE, padding=500_000)

    programs = assets.control_plane("1.35", show=show)

    assert {kind: path.read_bytes() for kind, path in programs.items()} == {
        kind: releases.files[f"/v1.35.4/bin/linux/amd64/{kind}"] for kind in CONTROL_PLANE
    }
    entry = cache.look(programs.paths[CONTROL_PLANE[0]].parent)
    assert entry is not None
    assert entry.manifest is not None
    assert entry.manifest.made.source == "download"
    assert leftovers() == []


def test_second_use_asks_no_server(releases: Releases, show: Recorded) -> None:
    releases.publish("1.35.4", *CONTROL_PLANE)
    first = assets.control_plane("1.35", show=show)
    asked = len(releases.asked)

    assert dict(assets.control_plane("1.35", show=show)) == dict(first)
    assert len(releases.asked) == asked


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (wrong_content, "has sha256"),
        (truncated, "broke off"),
        (shortened, "has sha256"),
        (killed, "broke off"),
        (failing, "answered 500"),
    ],
)
def test_bad_download_is_tried_twice_then_built(
    act: object, words: str, releases: Releases, fake_go: FakeGo, show: Recorded
) -> None:
    releases.publish("1.35.4", *CONTROL_PLANE, padding=500_000)
    releases.wrong["/kube-scheduler"] = act  # type: ignore[assignment]

    programs = assets.control_plane("1.35", show=show)

    assert words in show.text
    assert "trying once more" in show.text
    assert len([path for path in releases.asked if path.endswith("/kube-scheduler")]) == 2
    assert all(b"echo Fake" in path.read_bytes() for path in programs.values())
    assert leftovers() == []


def test_unknown_release_is_built_though_the_server_answers(
    releases: Releases, fake_go: FakeGo, show: Recorded
) -> None:
    assets.control_plane("1.35", show=show)

    assert "answered 404" in show.text
    assert len(fake_go.builds()) == 1


def test_checksum_that_is_none_is_no_proof(releases: Releases, fake_go: FakeGo, show: Recorded) -> None:
    releases.publish("1.35.4", *CONTROL_PLANE)
    releases.files["/v1.35.4/bin/linux/amd64/kube-apiserver.sha256"] = b"<html>sign in</html>"

    assets.control_plane("1.35", show=show)

    assert "holds no sha256" in show.text
    assert len(fake_go.builds()) == 1


def test_mirror_that_serves_another_version_is_told(releases: Releases, show: Recorded) -> None:
    releases.publish("1.35.4", *CONTROL_PLANE, says="1.35.3")

    with pytest.raises(CannotStart, match=r"gave kube-apiserver 1\.35\.3 instead of 1\.35\.4"):
        assets.control_plane("1.35", show=show)

    assert list(cache.entries()) == []


def test_unreachable_server_is_asked_once_per_process(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("HINTBOUND_DOWNLOAD_URL", f"http://127.0.0.1:{port}")

    assets.control_plane("1.35", show=show)
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(0.1)
        assets.control_plane("1.37", show=show)
        with pytest.raises(TimeoutError):
            listener.accept()

    assert "is not reachable: connection refused" in show.text
    assert len(fake_go.builds()) == 2


def test_silent_server_costs_seconds_only(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "CONNECT_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("HINTBOUND_DOWNLOAD_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        begin = time.monotonic()
        assets.control_plane("1.35", show=show)

    assert time.monotonic() - begin < 5
    assert "is not reachable" in show.text


@pytest.mark.parametrize("address", ["ftp://mirror", "mirror.example", "http://"])
def test_mirror_address_must_be_http(address: str, show: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINTBOUND_DOWNLOAD_URL", address)

    with pytest.raises(CannotStart, match=r"HINTBOUND_DOWNLOAD_URL=.* is no http"):
        assets.control_plane("1.35", show=show)


def test_full_disk_ends_a_download_with_one_line(releases: Releases, tmp_path: Path) -> None:
    releases.publish("1.35.4", *CONTROL_PLANE, padding=5_000_000)

    process = run_python(
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from hintbound.cli import main; main(['assets', 'fetch', '1.35'])"
    )
    _, stderr = process.communicate(timeout=30)

    assert process.returncode == 254, stderr
    assert "the disk that holds" in stderr
    assert "Traceback" not in stderr
    assert leftovers() == []
    assert list(cache.entries()) == []
