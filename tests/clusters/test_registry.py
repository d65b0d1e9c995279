"""Folders of clusters: found by name, ended exactly, and removed only when nothing runs for them."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hintbound.clusters import registry
from hintbound.clusters.embedded.identity import ProcessId
from hintbound.clusters.registry import Entry
from hintbound.errors import CannotStart

_HOUR_AGO = (time.time() - 3600,) * 2


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def _left_up(name: str, *processes: ProcessId) -> Path:
    folder = registry.create(name, spec="embedded:1.35.4")
    running = {str(number): process for number, process in enumerate(processes)}
    registry.write(folder, Entry(name, "embedded:1.35.4", "https://127.0.0.1:1", None, running))
    return folder


def _dead() -> ProcessId:
    with subprocess.Popen(["sleep", "60"]) as process:
        known = ProcessId.of(process.pid)
        process.kill()
    return known


def test_entry_is_read_as_it_was_written() -> None:
    folder = registry.create("a", spec="embedded")
    entry = Entry("a", "embedded:1.35", "https://x", ProcessId(7, "b/8"), {"etcd": ProcessId(9, "b/10")})
    registry.write(folder, entry)

    assert registry.read(folder) == entry


def test_new_folder_is_ours_from_its_first_moment() -> None:
    folder = registry.create(None, spec="embedded")
    entry = registry.read(folder)

    assert entry is not None
    assert entry.owner == ProcessId.of(os.getpid())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert registry.prune() == []


def test_prune_removes_what_nothing_runs_for(sleeper: subprocess.Popen[bytes]) -> None:
    kept = _left_up("kept", _dead(), ProcessId.of(sleeper.pid))
    gone = _left_up("gone", _dead())
    never_started = _left_up("never-started")

    assert registry.prune() == ["gone", "never-started"]
    assert kept.is_dir()
    assert not gone.exists()
    assert not never_started.exists()


def test_prune_keeps_a_cluster_whose_owner_is_still_starting_it() -> None:
    owned = registry.create("owned", spec="embedded")
    orphaned = registry.create("orphaned", spec="embedded")
    registry.write(orphaned, Entry("orphaned", "embedded", "", _dead()))

    assert registry.prune() == ["orphaned"]
    assert owned.is_dir()


def test_prune_removes_drafts_of_killed_processes(sleeper: subprocess.Popen[bytes]) -> None:
    root = registry.root()
    for name, owner in (("dead", _dead()), ("alive", ProcessId.of(sleeper.pid))):
        (root / f".{name}").mkdir(parents=True)
        registry.write(root / f".{name}", Entry(name, "embedded", "", owner))

    assert registry.prune() == [".dead"]
    assert list(registry.entries()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": "x"}', "null"])
def test_unreadable_entry_is_pruned_only_when_it_is_old(content: str) -> None:
    folder = registry.create("broken", spec="embedded")
    (folder / "cluster.json").write_text(content)
    assert registry.prune() == []

    os.utime(folder, _HOUR_AGO)
    assert registry.prune() == ["broken"]


def test_unreadable_entry_is_kept_while_a_process_uses_the_folder() -> None:
    folder = registry.create("broken", spec="embedded")
    (folder / "cluster.json").write_text("{")
    os.utime(folder, _HOUR_AGO)
    with subprocess.Popen(
        [sys.executable, "-c", "input()", f"--data={folder}/etcd"], stdin=subprocess.PIPE
    ) as user:
        assert registry.prune() == []
        user.kill()
    assert registry.prune() == ["broken"]


def test_unreadable_entry_is_told_by_name() -> None:
    folder = registry.create("broken", spec="embedded")
    (folder / "cluster.json").write_text("{")

    with pytest.raises(CannotStart, match=rf"^{folder}/cluster\.json cannot be read\."):
        registry.find("broken")


def test_reused_pid_is_never_taken_for_ours(sleeper: subprocess.Popen[bytes]) -> None:
    real = ProcessId.of(sleeper.pid)
    boot, _, ticks = real.birth.partition("/")
    for birth in (f"{boot}/{int(ticks) - 1}", f"another-boot/{ticks}", ""):
        imposter = ProcessId(sleeper.pid, birth)
        assert not imposter.runs

        registry.end(_left_up("reused", imposter), Entry("reused", "", "", None, {"etcd": imposter}))
        assert sleeper.poll() is None, f"a stranger was ended for {birth}"


def test_zombie_does_not_run() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        known = ProcessId.of(process.pid)
        assert process.stdin is not None
        process.stdin.close()
        deadline = time.monotonic() + 5
        while known.runs:
            assert time.monotonic() < deadline

    with pytest.raises(ProcessLookupError):
        ProcessId.of(process.pid)


def test_end_takes_a_stopped_process_and_the_folder(sleeper: subprocess.Popen[bytes]) -> None:
    folder = _left_up("a", ProcessId.of(sleeper.pid))
    os.kill(sleeper.pid, 19)
    threading.Thread(target=sleeper.wait).start()

    registry.end(*registry.find("a"))

    assert sleeper.wait(2) == -9
    assert not folder.exists()


def test_two_clusters_of_one_name_cannot_be() -> None:
    registry.create("a", spec="embedded")

    with pytest.raises(CannotStart) as error:
        registry.create("a", spec="embedded")

    assert str(error.value) == (
        "a cluster named 'a' exists. Use another name, or end it with `hintbound cluster down a`."
    )
    assert [path.name for path in registry.root().iterdir() if path.is_dir()] == ["a"]


def test_of_many_who_want_one_name_one_gets_it() -> None:
    outcomes: list[str] = []

    def want() -> None:
        try:
            registry.create("a", spec="embedded")
            outcomes.append("got it")
        except CannotStart:
            outcomes.append("taken")

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["got it", *["taken"] * 7]


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "A", "-a", "a" * 64, "a b", "ä"])
def test_name_that_is_no_folder_of_ours_is_refused(name: str) -> None:
    with pytest.raises(CannotStart, match="is no name for a cluster"):
        registry.create(name, spec="embedded")


def test_only_cluster_that_is_up_needs_no_name(sleeper: subprocess.Popen[bytes]) -> None:
    with pytest.raises(CannotStart, match=r"^no cluster is up\."):
        registry.find(None)

    registry.create("a-run", spec="embedded")
    folder = _left_up("a", ProcessId.of(sleeper.pid))
    assert registry.find(None)[0] == folder

    _left_up("b", ProcessId.of(sleeper.pid))
    with pytest.raises(CannotStart, match=r"^several clusters are up\."):
        registry.find(None)


def test_unknown_name_shows_the_known_ones(sleeper: subprocess.Popen[bytes]) -> None:
    with pytest.raises(CannotStart, match=r"^no cluster 'defalt': none is up\."):
        registry.find("defalt")

    _left_up("default", ProcessId.of(sleeper.pid))
    with pytest.raises(CannotStart, match=r"unknown cluster 'defalt'\. Did you mean 'default'\?"):
        registry.find("defalt")


def test_relative_state_folder_gives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HINTBOUND_STATE", "here")

    assert registry.create("a", spec="embedded") == tmp_path / "here" / "clusters" / "a"


def test_state_folder_that_cannot_be_made_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HINTBOUND_STATE", str(tmp_path / "file"))

    with pytest.raises(CannotStart, match=r"^cannot make .*: not a directory\. .* HINTBOUND_STATE\.$"):
        registry.create("a", spec="embedded")
    with pytest.raises(CannotStart, match=r"^cannot read the clusters in .*: not a directory\."):
        list(registry.entries())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_full_or_readonly_state_folder_is_told_in_one_line_and_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    registry.create("before", spec="embedded")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(CannotStart) as error:
        registry.create("a", spec="embedded")

    what = os.strerror(number).lower()
    assert str(error.value) == (
        f"cannot make {registry.root() / 'a'}: {what}. Free space there, or set HINTBOUND_STATE."
    )
    assert [path.name for path in registry.root().iterdir() if path.is_dir()] == ["before"]


def test_unreadable_state_folder_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.create("a", spec="embedded")

    def refuse(_: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "iterdir", refuse)
    for act in (registry.prune, lambda: list(registry.entries()), lambda: registry.find("a")):
        with pytest.raises(CannotStart, match=r"^cannot read the clusters in .*: permission denied\."):
            act()


def test_entry_of_a_former_version_is_not_mistaken() -> None:
    folder = registry.create("old", spec="embedded")
    former = {
        "name": "old",
        "spec": "",
        "server": "",
        "owner": None,
        "processes": {"etcd": {"pid": 1, "started": 2.5}},
    }
    (folder / "cluster.json").write_text(json.dumps(former))

    assert registry.read(folder) is None
