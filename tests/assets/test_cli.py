"""`hintbound assets`: what a person types, and the one clear line when it cannot be."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from hintbound import assets
from hintbound.assets import cache
from hintbound.assets.pins import CONTROL_PLANE, NODE
from hintbound.cli import main
from tests.assets.fakes import FakeGo, Recorded, run_python


class Run:
    """Calls the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(["assets", *arguments])
        self.out, self.err = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


def test_fetch_gets_the_default_cluster_and_prints_paths(run: Run, fake_go: FakeGo) -> None:
    assert run("fetch") == 0

    paths = [Path(line) for line in run.out.splitlines()]
    assert [path.name for path in paths] == [*CONTROL_PLANE, "etcd", "kwok"]
    assert all(path.is_file() for path in paths)
    assert "hintbound: building Kubernetes 1.35.4" in run.err


def test_fetch_gets_the_faulty_scheduler_of_each_version_if_asked(run: Run, fake_go: FakeGo) -> None:
    assert run("fetch", "1.35", "etcd", "--faulty-scheduler") == 0

    names = [Path(line).name for line in run.out.splitlines()]
    assert names == [*CONTROL_PLANE, "faulty-scheduler", "etcd"]


def test_fetch_gets_what_a_node_needs_if_asked(run: Run, fake_go: FakeGo) -> None:
    assert run("fetch", "1.35", "kind", "--node") == 0

    assert [Path(line).name for line in run.out.splitlines()] == [*CONTROL_PLANE, *NODE, "kind"]


def test_fetch_checks_all_names_before_it_gets_any(run: Run, fake_go: FakeGo) -> None:
    assert run("fetch", "1.35", "1.99") == 254

    assert run.err.startswith("hintbound: unknown Kubernetes version '1.99'.")
    assert fake_go.builds() == []


def test_path_prints_folder_program_and_single_program(run: Run, fake_go: FakeGo) -> None:
    assert run("path", "1.35") == 0
    folder = Path(run.out.strip())
    assert (folder / "kube-apiserver").is_file()

    assert run("path", "1.35", "kube-scheduler") == 0
    assert Path(run.out.strip()) == folder / "kube-scheduler"

    assert run("path", "1.35", "kubelet") == 0
    assert Path(run.out.strip()).name == "kubelet"

    assert run("path", "etcd") == 0
    assert Path(run.out.strip()).name == "etcd"

    assert run("path", "1.35", "kube-schedular") == 254
    assert "Did you mean 'kube-scheduler'?" in run.err


def test_list_shows_what_is_there_and_what_is_not(run: Run, fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)

    assert run("list", "--format", "json") == 0
    rows = {(row["name"], row["version"]): row for row in json.loads(run.out)["assets"]}
    assert rows["etcd", "3.6.16"]["state"] == "ready"
    assert rows["etcd", "3.6.16"]["path"] == str(etcd.parent)
    assert rows["kubernetes", "1.35.4"]["state"] == "not fetched"

    assert run("list") == 0
    assert "not fetched" in run.out


def test_list_verify_finds_damage_and_ends_with_1(run: Run, fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)
    etcd.write_bytes(b"#" * etcd.stat().st_size)

    assert run("list", "--verify") == 1
    assert "damaged: etcd has another sha256" in run.out


def test_prune_keeps_what_is_pinned(run: Run, fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)
    old = etcd.parent.with_name(etcd.parent.name.replace("3.6.16", "3.5.0"))
    shutil.copytree(etcd.parent, old)
    (cache.root() / ".go" / "mod").mkdir(parents=True)

    assert run("prune") == 0
    assert f"{old.name}: freed" in run.out
    assert [entry.path for entry in cache.entries()] == [etcd.parent]
    assert not (cache.root() / ".go").exists()


def test_prune_keep_removes_other_versions(run: Run, fake_go: FakeGo) -> None:
    for version in ("1.35.4", "1.37.2"):
        process = run_python(f"from hintbound import assets; assets.control_plane_and_node('{version}')")
        process.communicate()

    assert run("prune", "--keep", "1.37") == 0
    assert [(e.manifest.name, e.manifest.version) for e in cache.entries() if e.manifest] == [
        ("kubernetes", "1.37.2"),
        ("kubernetes-node", "1.37.2"),
    ]


def test_prune_all_removes_everything(run: Run, fake_go: FakeGo) -> None:
    run_python("from hintbound import assets; assets.etcd(); assets.kwok()").communicate()

    assert run("prune", "--all") == 0
    assert list(cache.entries()) == []


def test_prune_spares_what_a_running_hintbound_was_given(run: Run, fake_go: FakeGo) -> None:
    code = "from hintbound import assets; import sys; print(assets.etcd(), flush=True); sys.stdin.read()"
    process = run_python(code)
    assert process.stdout is not None
    etcd = Path(process.stdout.readline().strip())

    assert run("prune", "--all") == 0
    assert "kept: another hintbound is using it" in run.out
    assert etcd.is_file()

    process.kill()
    process.communicate()
    assert run("prune", "--all") == 0
    assert not etcd.exists()


def test_prune_spares_what_a_program_runs_from(run: Run, fake_go: FakeGo) -> None:
    run_python("from hintbound import assets; assets.etcd()").communicate()
    (entry,) = cache.entries()
    shutil.copy("/bin/sleep", entry.path / "sleep")
    with subprocess.Popen([entry.path / "sleep", "60"]) as program:
        time.sleep(0.05)
        assert run("prune", "--all") == 0
        program.kill()

    assert "kept: sleep runs from it" in run.out
    assert entry.path.is_dir()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fetch", "1.2"], "unknown Kubernetes version '1.2'"),
        (["path"], "Missing argument"),
        (["prune", "--all", "--keep", "1.35"], "exclude each other"),
        (["prune", "--keep", "9"], "unknown Kubernetes version '9'"),
        (["pin", "1.36"], "is no exact Kubernetes version"),
        (["pin", "1.36.5", "--into", "/nowhere"], "--into /nowhere is no folder"),
        (["fetch", "kwok"], "kwok 0.8.0 can be neither downloaded"),
        (["explode"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_254(arguments: list[str], words: str, run: Run) -> None:
    assert run(*arguments) == 254

    complaint = [line for line in run.err.splitlines() if not line.endswith("...")]
    assert len(complaint) == 1, run.err
    assert words in complaint[0]
