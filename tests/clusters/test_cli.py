"""`hintbound cluster`: what a person types, and the one clear line when it cannot be."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hintbound.cli import main
from hintbound.clusters import registry
from hintbound.clusters.embedded.identity import ProcessId
from tests.clusters.commands import Command, folders, nothing_runs, run
from tests.clusters.world import processes_of


class Here:
    """Calls the command line in this process: for commands that start nothing."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["cluster", *arguments])
        assert isinstance(ended.value.code, int)
        return (ended.value.code, *self._capsys.readouterr())


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(capsys)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def left_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, str]]:
    """A cluster left up by a command that has ended: its state folder, its port, what the command said."""
    state = tmp_path_factory.mktemp("left-up")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code, out, err = run(state, "cluster", "up", "embedded:1.35", "--name", "mine", "--port", str(port))
    assert (code, err) == (0, "")
    yield state, port, out
    for pid in processes_of(state):
        ProcessId.of(pid).kill()


@pytest.fixture
def mine(left_up: tuple[Path, int, str], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int]:
    state, port, _ = left_up
    monkeypatch.setenv("HINTBOUND_STATE", str(state))
    return state, port


def test_up_says_how_to_use_and_how_to_end_it(left_up: tuple[Path, int, str]) -> None:
    state, _, out = left_up

    assert out.splitlines() == [
        "mine: embedded:1.35.4 is up.",
        f"export KUBECONFIG={state}/clusters/mine/kubeconfigs/hintbound-admin.yaml",
        "hintbound cluster down mine    # when you are done",
    ]


def test_cluster_left_up_survives_the_command(mine: tuple[Path, int]) -> None:
    programs = sorted(Path(program).name for program in processes_of(mine[0]).values())

    assert programs == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not there")
def test_kubectl_works_with_the_kubeconfig(here: Here, mine: tuple[Path, int]) -> None:
    code, out, _ = here("kubeconfig")
    assert code == 0

    command = ["kubectl", f"--kubeconfig={out.strip()}", "auth", "whoami", "-o", "json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert answer["status"]["userInfo"]["username"] == "hintbound-admin"


def test_list_shows_what_is_up(here: Here, mine: tuple[Path, int]) -> None:
    code, out, _ = here("list")
    assert code == 0
    (line,) = out.splitlines()
    assert line.split() == ["mine", "embedded:1.35.4", f"https://127.0.0.1:{mine[1]}", "up"]

    (row,) = json.loads(here("list", "--format", "json")[1])
    assert row["alive"] is True
    assert row["owner"] is None
    assert set(row["processes"].values()) == set(processes_of(mine[0]))


def test_second_of_the_same_name_is_refused(here: Here, mine: tuple[Path, int]) -> None:
    code, _, err = here("up", "embedded:1.35", "--name", "mine")

    assert code == 254
    assert err == (
        "hintbound: a cluster named 'mine' exists."
        " Use another name, or end it with `hintbound cluster down mine`.\n"
    )
    assert len(processes_of(mine[0])) == 5


def test_busy_port_is_refused(here: Here, mine: tuple[Path, int]) -> None:
    state, port = mine
    code, _, err = here("up", "embedded:1.35", "--name", "other", "--port", str(port))

    assert code == 254
    assert err == f"hintbound: port {port} on 127.0.0.1 is taken. Choose another, or 0 for any free one.\n"
    assert folders(state) == ["mine"]


def test_prune_leaves_what_is_up_alone(here: Here, mine: tuple[Path, int]) -> None:
    assert here("prune") == (0, "nothing to prune.\n", "")
    assert len(processes_of(mine[0])) == 5


def test_down_ends_exactly_its_own_processes(
    here: Here, mine: tuple[Path, int], stranger: subprocess.Popen[bytes]
) -> None:
    state, _ = mine
    folder, entry = registry.find("mine")
    # A pid of ours that somebody else has by now, as after a crash and a long time.
    entry.processes["gone"] = ProcessId(stranger.pid, next(iter(entry.processes.values())).birth)
    registry.write(folder, entry)

    assert here("down") == (0, "mine is down.\n", "")
    assert stranger.poll() is None
    assert nothing_runs(state, 0) == {}
    assert folders(state) == []


def test_nothing_is_up(here: Here) -> None:
    next_step = "See `hintbound cluster list`, or start one with `hintbound cluster up`."
    line = f"hintbound: no cluster is up. {next_step}\n"

    assert here("list") == (0, "no cluster is up.\n", "")
    assert here("list", "--format", "json") == (0, "[]\n", "")
    assert here("prune") == (0, "nothing to prune.\n", "")
    assert here("down", "--all") == (0, "no cluster is up.\n", "")
    assert here("down") == (254, "", line)
    assert here("kubeconfig") == (254, "", line)


def test_down_of_an_unknown_one_says_so(here: Here) -> None:
    line = "hintbound: no cluster 'x': none is up. Start one with `hintbound cluster up`.\n"

    assert here("down", "x") == (254, "", line)
    assert here("kubeconfig", "x") == (254, "", line)


def test_down_while_a_run_owns_it_is_refused(here: Here) -> None:
    registry.create("a-run", spec="embedded:1.35.4")  # this process is its owner, and runs
    pid = os.getpid()

    line = f"hintbound: a-run belongs to a hintbound that runs (pid {pid}). End that one.\n"
    assert here("down", "a-run") == (254, "", line)
    assert here("down", "--all") == (0, "no cluster is up.\n", "")
    assert here("kubeconfig", "a-run")[0] == 254
    assert f"of the run with pid {pid}" in here("list")[1]


def test_down_while_it_is_being_started_is_refused(state: Path, here: Here) -> None:
    starting = Command(state, "cluster", "up", "embedded:1.35")
    try:
        starting.runs("etcd")
        code, _, err = here("down", "default")
        pruned = here("prune")
    finally:
        starting.process.kill()
        starting.process.communicate()

    assert code == 254
    assert f"belongs to a hintbound that runs (pid {starting.process.pid})" in err
    assert pruned == (0, "nothing to prune.\n", "")
    assert nothing_runs(state, 2) == {}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["existing:x"],
            "'existing:x' is no cluster to bring up. Name embedded[:VERSION] or kind:CONFIG.yaml.",
        ),
        (["kind:cluster=x"], "'kind:cluster=x' is no cluster to bring up."),
        (["kind:x.yaml", "--port", "6443"], "--port is for embedded clusters. Set networking.apiServerPort"),
        (["kind:x.yaml"], "kind config x.yaml cannot be read: no such file or directory. Name a kind config"),
        (["embedded:1.35", "--name", "../x"], "'../x' is no name for a cluster. Use lower-case letters"),
        (["embedded:9.9"], "unknown Kubernetes version '9.9'"),
        (["embedded:1.35", "--port", "99999"], "Invalid value for '--port': 99999 is not in the range"),
        (["embedded:1.35,Aa=x"], "gate Aa='x' is no boolean. Write true or false."),
        (
            ["embedded:1.35,BogusGate=true"],
            "kube-apiserver 1.35.4 rejects a gate: unrecognized feature gate: BogusGate. Leave it out",
        ),
    ],
)
def test_up_that_cannot_be_is_told_in_one_line(state: Path, arguments: list[str], line: str) -> None:
    code, out, err = run(state, "cluster", "up", *arguments)

    assert (code, out) == (254, "")
    assert err.startswith(f"hintbound: {line}")
    assert len(err.splitlines()) == 1
    assert nothing_runs(state, 0) == {}
    assert folders(state) == []
