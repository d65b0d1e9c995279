"""However a command on kind ends, no container, network, process or folder is left, unless it was asked to.

Needs a Docker engine and HINTBOUND_KIND_IMAGE.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM, Signals

import pytest

from hintbound.clusters.kind import docker
from tests.clusters.commands import Command, folders, nothing_runs, run

PATIENCE = 300.0
"""A cluster takes half a minute on an idle machine, and several where others work as well."""
SOON = 30.0
"""kind may be amidst starting a node, and docker takes seconds to remove one."""

_PLAYS_ON = """
import asyncio
from hintbound.plugin import behaviour

@behaviour("T-PLAYS-ON", must="It must.", why="Because.", source="here", deadline=300)
async def test_plays_on(arena):
    await arena.own_scheduler()
    await asyncio.Event().wait()
"""
_FAILS = """
from hintbound.plugin import behaviour

@behaviour("T-FAILS", must="It must.", why="Because.", source="here")
async def test_fails(arena):
    assert await arena.bound(await arena.pod(node=(await arena.nodes(1))[0])) == "elsewhere"
"""


def left(cluster: str) -> list[str]:
    """Containers and networks of a kind cluster."""
    networks = docker.docker("network", "ls", "--format={{.Name}}", f"--filter=name=^{cluster}$").split()
    return [*docker.containers(cluster), *networks]


def gone(cluster: str) -> list[str]:
    """What is left after a while; empty once nothing is."""
    deadline = time.monotonic() + SOON
    while (there := left(cluster)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return there


@pytest.fixture
def name() -> str:
    return f"t-{secrets.token_hex(3)}"


@pytest.fixture
def up(kind_spec: str, state: Path, name: str) -> Iterator[Command]:
    command = Command(state, "cluster", "up", kind_spec, "--name", name)
    yield command
    command.process.kill()
    command.process.communicate()


def _some_nodes(cluster: str) -> bool:
    return bool(docker.containers(cluster))


def _apiserver_runs(cluster: str) -> bool:
    if not (nodes := docker.containers(cluster, "control-plane")):
        return False
    try:
        return bool(docker.docker("exec", nodes[0], "pgrep", "-x", "kube-apiserver"))
    except docker.DockerError:
        return False


@pytest.mark.parametrize(
    ("amidst", "number", "code"),
    [
        (_some_nodes, SIGKILL, -9),
        (_apiserver_runs, SIGKILL, -9),
        (_some_nodes, SIGINT, 130),
        (_apiserver_runs, SIGTERM, 130),
    ],
)
def test_broken_off_while_it_is_created(
    up: Command, name: str, state: Path, amidst: Callable[[str], bool], number: Signals, code: int
) -> None:
    up.until(lambda: amidst(f"hintbound-{name}"), "the moment", PATIENCE)
    up.send(number)

    assert up.end()[0] == code
    assert gone(f"hintbound-{name}") == []
    assert nothing_runs(state, SOON) == {}
    pruned, _, _ = run(state, "cluster", "prune")
    assert (pruned, folders(state)) == (0, [])


def test_a_run_that_is_killed_leaves_nothing(kind_spec: str, state: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_PLAYS_ON)
    words = ("run", str(tmp_path / "test_it.py"), "--cluster", kind_spec, "--reports", str(tmp_path / "r"))
    command = Command(state, *words)
    command.runs("kube-scheduler", within=PATIENCE)  # the scenario's own
    (name,) = folders(state)
    command.send(SIGKILL)
    command.end()

    assert gone(f"hintbound-{name}") == []
    assert nothing_runs(state, SOON) == {}
    assert run(state, "cluster", "prune")[:2] == (0, f"removed {name}\n")


def test_a_failed_run_exports_the_nodes_logs_and_is_kept_if_asked(
    kind_spec: str, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(_FAILS)
    reports = tmp_path / "reports"
    options = ("--cluster", kind_spec, "--keep", "--reports", str(reports))
    code, out, err = run(state, "run", str(tmp_path / "test_it.py"), *options, within=PATIENCE)

    assert code == 1, out + err
    logs = reports / "latest" / "logs" / "shared" / "nodes"
    assert list(logs.glob("*-control-plane/pods/kube-system_kube-scheduler-*")), list(logs.rglob("*"))
    told = re.search(r"`hintbound cluster down (\S+)`", out)
    assert told is not None, out
    name = told[1]
    code, kubeconfig, _ = run(state, "cluster", "kubeconfig", name)
    assert (code, Path(kubeconfig.strip()).is_file()) == (0, True)
    assert len(docker.containers(f"hintbound-{name}")) == 3
    assert run(state, "cluster", "prune")[1] == "nothing to prune.\n"

    assert run(state, "cluster", "down", name) == (0, f"{name} is down.\n", "")
    assert left(f"hintbound-{name}") == []
    assert nothing_runs(state, SOON) == {}
