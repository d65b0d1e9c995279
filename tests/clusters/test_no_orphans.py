"""However hintbound ends, nothing of its clusters goes on running, and no folder stays for long."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals

import pytest

from tests.clusters.commands import Command, folders, nothing_runs, run

SOON = 5.0
"""Processes are gone within a second on an idle machine; a very busy one may need a few."""

_OWNER = """
import asyncio
from hintbound.clusters import parse
from hintbound.clusters.embedded.cluster import EmbeddedCluster

async def main():
    cluster = EmbeddedCluster(parse("embedded:1.35"))
    await cluster.start()
    try:
        print("up", flush=True)
        await asyncio.sleep(60)
    finally:
        await cluster.close()

asyncio.run(main())
"""


@pytest.fixture
def up(state: Path) -> Iterator[Command]:
    command = Command(state, "cluster", "up", "embedded:1.35")
    yield command
    command.process.kill()
    command.process.communicate()


@pytest.mark.parametrize(
    ("program", "signals"),
    [
        ("etcd", [SIGINT]),
        ("kube-apiserver", [SIGTERM]),
        ("kube-scheduler", [SIGINT, SIGINT, SIGINT]),
        ("kube-apiserver", [SIGTERM, SIGINT] * 100),  # 4 s of it: well beyond its end
    ],
)
def test_interrupted_up_leaves_no_half_started_cluster(
    up: Command, program: str, signals: list[Signals]
) -> None:
    up.runs(program)
    up.send(*signals)
    code, _, err = up.end()

    assert (code, err.strip()) == (130, "hintbound: interrupted.")
    assert nothing_runs(up.state, SOON) == {}
    assert folders(up.state) == [], "not even for prune"


@pytest.mark.parametrize("number", [SIGKILL, SIGHUP])
def test_killed_up_leaves_no_process_and_prune_removes_its_folder(up: Command, number: Signals) -> None:
    up.runs("kube-apiserver")
    up.send(number)
    code, _, _ = up.end()

    assert code == -number
    assert nothing_runs(up.state, SOON) == {}
    assert folders(up.state) == ["default"]
    assert run(up.state, "cluster", "prune") == (0, "removed default\n", "")
    assert folders(up.state) == []


@pytest.mark.parametrize("number", [SIGINT, SIGKILL])
def test_owner_that_ends_while_its_cluster_is_up_leaves_no_process(state: Path, number: Signals) -> None:
    owner = Command(state, script=_OWNER)
    owner.runs("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok")
    assert owner.process.stdout is not None
    assert owner.process.stdout.readline() == "up\n"
    owner.send(number)
    owner.end()

    assert nothing_runs(state, SOON) == {}
    assert folders(state) == [] or number == SIGKILL
    assert run(state, "cluster", "prune")[0] == 0
    assert folders(state) == []


@pytest.mark.parametrize("number", [SIGINT, SIGTERM, SIGKILL])
def test_run_that_is_ended_leaves_no_process(state: Path, tmp_path: Path, number: Signals) -> None:
    judging = Command(state, "run", "--cluster", "embedded:1.35", cwd=tmp_path)
    judging.runs("kube-apiserver")
    judging.send(number)
    code, _, err = judging.end()

    assert code == (130 if number != SIGKILL else -SIGKILL), err
    assert nothing_runs(state, SOON) == {}
    assert folders(state) == [] or number == SIGKILL


@pytest.mark.parametrize("number", [SIGINT, SIGKILL])
def test_matrix_that_is_ended_leaves_no_process(state: Path, tmp_path: Path, number: Signals) -> None:
    laying = Command(state, "matrix", "--version", "1.35", "--into", str(tmp_path), cwd=tmp_path)
    laying.runs("kube-scheduler")
    laying.send(number)
    code, _, err = laying.end()

    assert code == (130 if number != SIGKILL else -SIGKILL), err
    assert nothing_runs(state, SOON) == {}
    assert folders(state) == [] or number == SIGKILL
    assert list(tmp_path.glob("matrix.*")) == [], "not half of one"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("size", ["16k", "1m"])
def test_full_disk_is_told_and_leaves_nothing(tmp_path: Path, size: str) -> None:
    """16k hold not even the keys, 1m holds those but not etcd's data."""
    state = tmp_path / "small"
    state.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(state)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this machine lets nobody mount")
    try:
        code, _, err = run(state, "cluster", "up", "embedded:1.35")
        left, kept = nothing_runs(state, SOON), folders(state)
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)

    assert code == 254
    assert err.startswith("hintbound: "), err
    assert "no space left" in err
    assert "Traceback" not in err
    assert left == {}
    assert kept == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a read-only disk")
def test_readonly_state_folder_is_told_in_one_line(tmp_path: Path) -> None:
    state = tmp_path / "readonly"
    state.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(state)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this machine lets nobody mount")
    try:
        code, _, err = run(state, "cluster", "up", "embedded:1.35")
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)

    assert code == 254
    assert err == (
        f"hintbound: cannot make {state}/clusters/default: read-only file system."
        " Free space there, or set HINTBOUND_STATE.\n"
    )
