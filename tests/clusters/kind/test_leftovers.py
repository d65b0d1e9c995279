"""Nodes of a cluster whose command was killed go, sooner or later; those that were left up stay."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from click.testing import CliRunner

from hintbound import cli
from hintbound.clusters import parse, registry
from hintbound.clusters.embedded.guard import Guard
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.kind.cluster import KindCluster
from hintbound.clusters.kind.janitor import Janitor
from hintbound.clusters.registry import Entry
from hintbound.errors import CannotStart
from tests.clusters.kind.scripted import Scripted

_NODES = {"ps*": "hintbound-a-control-plane", "rm*": "", "network ls*": "0f27", "network rm*": ""}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    scripted = Scripted(tmp_path)
    scripted.program("docker", _NODES)
    monkeypatch.setenv("PATH", str(scripted.folder), prepend=os.pathsep)
    return scripted


def dead() -> ProcessId:
    with subprocess.Popen(["sleep", "60"]) as process:
        known = ProcessId.of(process.pid)
        process.kill()
    return known


def entry(owner: ProcessId | None) -> Path:
    folder = registry.create("a", spec="kind:x.yaml")
    registry.write(folder, Entry("a", "kind:x.yaml", "", owner, {}, "hintbound-a"))
    return folder


def removals(tools: Scripted) -> list[str]:
    return [line for line in tools.asked if line.startswith(("docker rm", "docker network rm"))]


_REMOVED = ["docker rm --force --volumes hintbound-a-control-plane", "docker network rm 0f27"]


def test_nodes_of_a_dead_owner_are_pruned_with_their_network(tools: Scripted) -> None:
    folder = entry(dead())

    assert registry.prune() == ["a"]
    assert removals(tools) == _REMOVED
    assert not folder.exists()


def test_nodes_of_a_living_owner_and_those_that_were_left_up_stay(tools: Scripted) -> None:
    folder = entry(ProcessId.of(os.getpid()))
    assert registry.prune() == []
    registry.write(folder, Entry("a", "kind:x.yaml", "", None, {}, "hintbound-a"))
    assert registry.prune() == []
    assert removals(tools) == []


def test_a_cluster_that_was_left_up_and_deleted_by_others_is_pruned(tools: Scripted) -> None:
    entry(None)
    tools.program("docker", {"ps*": "", "network*": ""})

    assert registry.prune() == ["a"]
    assert removals(tools) == []


def test_what_ran_beside_nodes_that_others_deleted_is_ended(tools: Scripted) -> None:
    folder = entry(None)
    tools.program("docker", {"ps*": "", "network*": ""})
    with subprocess.Popen(["sleep", "60"]) as kwok:
        processes = {"kwok": ProcessId.of(kwok.pid)}
        registry.write(folder, Entry("a", "kind:x.yaml", "", None, processes, "hintbound-a"))

        with pytest.raises(CannotStart, match="no cluster is up"):
            registry.find(None)
        assert registry.prune() == ["a"]

    assert kwok.returncode == -9


@pytest.mark.parametrize("owner", [None, dead()])
def test_without_docker_nothing_is_forgotten(tools: Scripted, owner: ProcessId | None) -> None:
    folder = entry(owner)
    tools.program("docker", {"*": (1, "Cannot connect to the Docker daemon.")})

    assert registry.prune() == []
    assert folder.is_dir()
    said = CliRunner().invoke(cli.hintbound, ["cluster", "prune"]).output
    assert said.startswith("a stays" if owner else "nothing to prune")
    found, known = registry.find("a")
    with pytest.raises(CannotStart, match="the nodes of a cannot be removed: Cannot connect"):
        registry.end(found, known)
    assert folder.is_dir()


def test_down_removes_the_nodes(tools: Scripted) -> None:
    entry(None)

    registry.end(*registry.find("a"))

    assert removals(tools) == _REMOVED
    assert list(registry.entries()) == []


def test_what_a_killed_command_held_down_in_a_node_of_others_runs_again(tools: Scripted) -> None:
    folder = registry.create("a", spec="kind:cluster=mine")
    registry.write(folder, Entry("a", "kind:cluster=mine", "", dead(), {}, attached="mine"))
    tools.program("docker", {"ps*": "mine-control-plane", "exec*": ""})

    assert registry.prune() == ["a"]
    (asked,) = [line for line in tools.asked if line.startswith("docker exec mine-control-plane sh -c")]
    assert "mv $held /etc/kubernetes/manifests/" in asked
    assert removals(tools) == []


async def test_nodes_of_a_cluster_that_is_broken_off_while_it_is_left_are_removed(tools: Scripted) -> None:
    cluster = KindCluster(parse("kind:x.yaml"))
    cluster._folder = registry.create("a", spec="kind:x.yaml")
    cluster._guard = Guard()
    cluster._nodes._janitor = Janitor("hintbound-a")  # type: ignore[attr-defined]
    part = Mock(pid=None, let_go=AsyncMock(side_effect=asyncio.CancelledError), close=AsyncMock())
    proxies = Mock(close=AsyncMock())
    cluster._assembly = Mock(components={"kwok": part}, processes=dict, proxies=proxies)
    tools.program("docker", {**_NODES, "ps*": ""})

    with pytest.raises(asyncio.CancelledError):
        await cluster.leave()
    await cluster.close()

    assert "docker network rm hintbound-a" in tools.asked


_OWNER = """
import os, sys
from hintbound.clusters.kind.janitor import Janitor
janitor = Janitor("hintbound-a")
os.write(1, b"x")
sys.stdin.read()
"""


def test_the_janitor_outlives_a_killed_owner(tools: Scripted) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        owner.stdout.read(1)
        assert removals(tools) == []
        owner.kill()

    until(lambda: "docker network rm hintbound-a" in tools.asked, tools)
    assert "docker rm --force --volumes hintbound-a-control-plane" in tools.asked


def test_the_janitor_waits_for_a_node_that_is_still_being_made(tools: Scripted) -> None:
    tools.program("docker", {"ps*": "", "network*": "", "rm*": ""})
    janitor = Janitor("hintbound-a")
    breaking = threading.Thread(target=janitor.clean, kwargs={"complete": False})
    breaking.start()
    until(lambda: len(tools.asked) >= 2, tools)
    tools.program("docker", _NODES)
    until(lambda: "docker rm --force --volumes hintbound-a-control-plane" in tools.asked, tools)
    tools.program("docker", {"ps*": "", "network*": "", "rm*": ""})
    breaking.join(30)
    assert tools.asked[-1] == "docker network rm hintbound-a"


def test_the_janitor_looks_once_where_nothing_more_can_come(tools: Scripted) -> None:
    tools.program("docker", {"ps*": "", "network*": ""})
    Janitor("hintbound-a").clean(complete=True)
    assert [line.split()[1] for line in tools.asked] == ["ps", "network"]


def test_the_janitor_leaves_what_is_to_be_kept(tools: Scripted) -> None:
    janitor = Janitor("hintbound-a")
    janitor.keep()
    janitor.clean(complete=True)
    assert tools.asked == []


def until(holds: Callable[[], bool], tools: Scripted) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, tools.asked
        time.sleep(0.02)
