"""`tools/kind-node/engine`, with stand-ins for dockerd and docker: nothing of this machine is changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "tools/kind-node/engine"
NEEDED = """awk bash basename cat chmod cut dirname env flock grep kill mkdir nohup readlink realpath rm sed
            seq setsid sh sleep sort tail timeout touch true xargs"""
DOCKERD = """#!/bin/bash
while [ $# -gt 0 ]; do [ "$1" = --pidfile ] && pid=$2; shift; done
[ ! -e "$FAKES/broken" ] || { echo "failed to start daemon: $(cat "$FAKES/broken")" >&2; exit 1; }
[ ! -e "$pid" ] || { echo "pid file found" >&2; exit 1; }
echo $$ >"$pid"
echo $$ >>"$FAKES/daemons"
trap 'rm -f "$pid"; exit' TERM
while :; do sleep 0.05; done
"""
DOCKER = """#!/bin/bash
echo "$*" >>"$FAKES/docker.log"
case $1,$2 in
  ps,*) [ -e "$FAKES/no-node" ] || echo node-1 ;;
  network,ls) [ -e "$FAKES/no-network" ] || echo net-1 ;;
  rm,*) [ ! -e "$FAKES/janitor" ] || { rm "$FAKES/janitor" && exit 1; }; touch "$FAKES/no-node" ;;
  network,rm) touch "$FAKES/no-network" ;;
esac
[ -e "$FAKES/another" ] || grep -qs '^State:.[RSD]' "/proc/$(tail -n 1 "$FAKES/daemons" 2>/dev/null)/status"
"""
SYSCTL = """#!/bin/bash
case $1 in -n) cat "$FAKES/limit" ;; -qw) echo "${2#*=}" >"$FAKES/limit" ;; esac
"""


class Machine:
    """A machine on which root has the stand-ins on PATH and a state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in NEEDED.split():
            path = shutil.which(name)
            assert path is not None, name
            (self.bin / name).symlink_to(path)
        programs = {"dockerd": DOCKERD, "docker": DOCKER, "sysctl": SYSCTL, "id": "#!/bin/sh\necho 0\n"}
        for name, text in programs.items():
            self.program(name, text)
        for name in ("mmdebstrap", "jq", "iptables", "rmdir", "umount"):
            self.program(name, "#!/bin/sh\n")
        self.started: list[subprocess.Popen[str]] = []

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        state = str(self.folder / "state")
        environment = {
            "PATH": str(self.bin),
            "HINTBOUND_KIND_STATE": state,
            "FAKES": str(self.folder),
            "HOME": state,
        }
        process = subprocess.Popen(
            [ENGINE, *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def __call__(self, *words: str) -> tuple[int, str]:
        process = self.begin(*words)
        complaint = process.communicate(timeout=60)[1]
        return process.returncode, complaint

    def daemons(self) -> list[int]:
        """Those that run."""
        file = self.folder / "daemons"
        pids = [int(line) for line in file.read_text().split()] if file.exists() else []
        return [pid for pid in pids if runs(pid)]

    def asked(self) -> list[str]:
        """What docker was told to do."""
        return (self.folder / "docker.log").read_text().splitlines()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    for pid in made.daemons():
        os.kill(pid, signal.SIGKILL)


def test_up_starts_one_daemon_and_down_ends_it_with_all_that_it_had(machine: Machine) -> None:
    assert machine("up") == (0, "")
    assert machine("up") == (0, "")
    assert len(machine.daemons()) == 1

    assert machine("down") == (0, "")
    assert machine.daemons() == []
    assert {"rm --force --volumes node-1", "network rm net-1"} <= set(machine.asked())


def test_down_waits_for_the_janitor_of_a_killed_run(machine: Machine) -> None:
    machine("up")
    (machine.folder / "janitor").touch()  # docker refuses once: removal is already in progress

    assert machine("down") == (0, "")
    assert (machine.folder / "no-node").exists()
    assert machine.daemons() == []


def test_an_engine_that_runs_already_is_used_and_left_alone(machine: Machine) -> None:
    (machine.folder / "another").touch()

    assert machine("run", "true") == (0, "")
    assert machine("down") == (0, "")
    assert machine.daemons() == []
    assert not any(line.startswith(("rm", "network rm")) for line in machine.asked())


def test_run_ends_as_its_command_and_leaves_no_daemon(machine: Machine) -> None:
    assert machine("run", "bash", "-c", "docker info && exit 7")[0] == 7
    assert machine.daemons() == []


def test_a_daemon_that_was_up_before_a_run_stays(machine: Machine) -> None:
    machine("up")
    assert machine("run", "true") == (0, "")
    assert len(machine.daemons()) == 1


def test_the_last_of_two_runs_takes_the_daemon_down(machine: Machine) -> None:
    waits = f"until [ -e {machine.folder}/go ]; do sleep 0.05; done"
    first = machine.begin("run", "bash", "-c", waits)
    until(machine.daemons)
    second = machine.begin("run", "bash", "-c", f"touch {machine.folder}/second; sleep 0.1; docker info")
    assert second.wait(30) == 0
    assert len(machine.daemons()) == 1

    (machine.folder / "go").touch()
    assert first.wait(30) == 0
    assert machine.daemons() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_ends_its_command_first(machine: Machine, number: signal.Signals) -> None:
    command = (
        f"trap 'docker info && touch {machine.folder}/polite; exit 130' {int(number)}; "
        f"touch {machine.folder}/ready; while :; do sleep 0.05; done"
    )
    run = machine.begin("run", "bash", "-c", command)
    until((machine.folder / "ready").exists)
    run.send_signal(number)

    assert run.wait(30) == 130
    assert (machine.folder / "polite").exists()
    assert machine.daemons() == []


def test_a_run_that_is_killed_leaves_neither_command_nor_daemon(machine: Machine) -> None:
    pid = machine.folder / "pid"
    polite = f"trap 'docker info && touch {machine.folder}/polite; exit' TERM"
    command = f"{polite}; echo $$ >{pid}; while :; do sleep 0.05; done"
    run = machine.begin("run", "bash", "-c", command)
    until(lambda: pid.exists() and pid.read_text())
    run.kill()

    until(lambda: not machine.daemons())
    assert not runs(int(pid.read_text()))
    assert (machine.folder / "polite").exists()


@pytest.mark.parametrize(("before", "meanwhile"), [("128", "1024"), ("8192", "8192")])
def test_nodes_find_room_for_their_watches_and_the_machine_is_as_it_was(
    machine: Machine, before: str, meanwhile: str
) -> None:
    limit = machine.folder / "limit"
    limit.write_text(before)

    machine("up")
    assert limit.read_text().strip() == meanwhile
    machine("down")
    assert limit.read_text().strip() == before


def test_after_a_killed_daemon_the_next_up_starts_another(machine: Machine) -> None:
    machine("up")
    (first,) = machine.daemons()
    os.kill(first, signal.SIGKILL)
    until(lambda: not machine.daemons())

    assert machine("up") == (0, "")
    assert len(machine.daemons()) == 1
    assert "rm --force --volumes node-1" in machine.asked(), "nodes come up with the next daemon"


def test_what_a_killed_daemon_left_is_taken_away_by_another(machine: Machine) -> None:
    machine("up")
    (first,) = machine.daemons()
    os.kill(first, signal.SIGKILL)
    until(lambda: not machine.daemons())

    assert machine("down") == (0, "")
    assert machine.daemons() == []
    assert "network rm net-1" in machine.asked()
    assert not (machine.folder / "state/dockerd.pid").exists()


def test_a_pid_file_that_names_somebody_else_is_not_believed(machine: Machine) -> None:
    (machine.folder / "state").mkdir()
    (machine.folder / "state/dockerd.pid").write_text(str(os.getpid()))

    assert machine("up") == (0, "")
    assert machine("down") == (0, "")
    assert machine.daemons() == []


def test_a_daemon_that_cannot_start_is_told_in_its_own_words(machine: Machine) -> None:
    (machine.folder / "broken").write_text("no cgroups")

    code, complaint = machine("run", "touch", str(machine.folder / "ran"))
    assert code == 3
    assert complaint == "engine: Docker cannot run here: failed to start daemon: no cgroups\n"
    assert not (machine.folder / "ran").exists()


def test_only_root_can_start_one(machine: Machine) -> None:
    machine.program("id", "#!/bin/sh\necho 1000\n")

    code, complaint = machine("up")
    assert code == 3
    assert complaint.endswith("no engine answers, and only root can start one\n")


policy_can_be_set = pytest.mark.skipif(
    os.geteuid() != 0 and not Path("/usr/sbin/policy-rc.d").exists(),
    reason="only root can forbid for a moment that packages start services",
)


@policy_can_be_set
def test_packages_are_installed_where_they_are_missing_and_nothing_starts_by_itself(machine: Machine) -> None:
    dockerd, asked = machine.bin / "dockerd", machine.folder / "apt"
    dockerd.rename(machine.folder / "dockerd")
    machine.program("apt-cache", "#!/bin/sh\nexit 100\n")
    machine.program(
        "apt-get",
        f'#!/bin/sh\necho "$*" >>{asked}\n[ $2 = update ] || cp -p {machine.folder}/dockerd {dockerd}\n',
    )
    (machine.bin / "cp").symlink_to("/bin/cp")

    assert machine("up") == (0, "")
    assert len(machine.daemons()) == 1
    assert asked.read_text().splitlines()[-1].endswith("docker.io mmdebstrap jq iptables")


@policy_can_be_set
def test_packages_that_cannot_be_installed_are_told_in_their_own_words(machine: Machine) -> None:
    (machine.bin / "dockerd").unlink()
    machine.program("apt-get", "#!/bin/sh\necho E: no network >&2; exit 100\n")

    code, complaint = machine("up")
    assert code == 3
    assert complaint.endswith("its packages cannot be installed: E: no network\n")


def test_without_dockerd_and_apt_it_says_what_is_missing(machine: Machine) -> None:
    (machine.bin / "dockerd").unlink()

    code, complaint = machine("up")
    assert code == 3
    assert "there is no dockerd, and no apt-get to install it with" in complaint


@pytest.mark.parametrize("words", [[], ["start"], ["up", "now"], ["run"]])
def test_wrong_words_show_the_usage(machine: Machine, words: list[str]) -> None:
    code, complaint = machine(*words)
    assert code == 254
    assert complaint.startswith("engine up | down | run COMMAND...")
