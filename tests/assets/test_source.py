"""`src=DIR`: a Kubernetes checkout is built once per content of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hintbound import assets
from hintbound.assets import source
from hintbound.assets.pins import CONTROL_PLANE
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind
from tests.assets.fakes import FakeGo, Recorded

PATH = os.environ["PATH"]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "kubernetes"
    for kind in CONTROL_PLANE:
        (root / "cmd" / kind).mkdir(parents=True)
        (root / "cmd" / kind / "main.go").write_text("package main\n")
    (root / "go.mod").write_text("module k8s.io/kubernetes\n\ngo 1.26.0\n")
    base = root / "staging/src/k8s.io/component-base/version/base.go"
    base.parent.mkdir(parents=True)
    base.write_text('package version\n\nconst DefaultKubeBinaryVersion = "1.38"\n')
    return root


@pytest.fixture
def clone(tree: Path) -> Path:
    (tree / ".gitignore").write_text("_output\n")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    git(tree, "tag", "v1.38.0-alpha.1")
    return tree


def test_tagged_checkout_has_that_version(clone: Path, fake_go: FakeGo, show: Recorded) -> None:
    version, programs = assets.from_source(clone, show=show)

    assert version == "1.38.0-alpha.1"
    assert set(programs) == set(CONTROL_PLANE)
    assert programs[ComponentKind.APISERVER].is_file()
    (build,) = fake_go.builds()
    assert f"gitCommit={git(clone, 'rev-parse', 'HEAD')}" in build
    assert "gitTreeState=clean" in build
    assert "./cmd/kube-scheduler" in build


def test_same_content_is_built_once(clone: Path, fake_go: FakeGo, show: Recorded) -> None:
    first = assets.from_source(clone, show=show)
    (clone / "_output").mkdir()
    (clone / "_output" / "ignored").touch()

    assert assets.from_source(str(clone), show=show) == first
    assert len(fake_go.builds()) == 1


def test_changed_staged_new_and_committed_content_are_each_built(
    clone: Path, fake_go: FakeGo, show: Recorded
) -> None:
    def change() -> None:
        (clone / "cmd/kube-scheduler/main.go").write_text("package main // changed\n")

    def stage() -> None:
        (clone / "cmd/kube-apiserver/main.go").write_text("package main // staged\n")
        git(clone, "add", ".")

    def create() -> None:
        (clone / "cmd/kube-scheduler/new.go").write_text("package main\n")

    def edit_created() -> None:
        (clone / "cmd/kube-scheduler/new.go").write_text("package main // edited\n")

    def commit() -> None:
        git(clone, "add", ".")
        git(clone, "commit", "-qm", "two")

    seen = [assets.from_source(clone, show=show)]
    for act in (change, stage, create, edit_created, commit):
        act()
        seen.append(assets.from_source(clone, show=show))

    assert len(fake_go.builds()) == len(seen)
    assert len({programs[ComponentKind.SCHEDULER] for _, programs in seen}) == len(seen)
    assert seen[1][0] == "1.38.0-alpha.1+dirty"
    assert seen[-1][0] == f"1.38.0-alpha.1.1+{git(clone, 'rev-parse', '--short=14', 'HEAD')}"


def test_change_that_is_taken_back_finds_the_first_build(
    clone: Path, fake_go: FakeGo, show: Recorded
) -> None:
    main = clone / "cmd/kube-scheduler/main.go"
    before = main.read_text()
    first = assets.from_source(clone, show=show)
    main.write_text("package main // changed\n")
    assets.from_source(clone, show=show)
    main.write_text(before)

    assert assets.from_source(clone, show=show) == first
    assert len(fake_go.builds()) == 2


def test_checkout_without_tags_has_the_version_of_its_source(
    clone: Path, fake_go: FakeGo, show: Recorded
) -> None:
    git(clone, "tag", "-d", "v1.38.0-alpha.1")

    assert source.examine(clone).version == f"1.38.0-source+{git(clone, 'rev-parse', 'HEAD')[:14]}"


def test_tree_without_git_is_built_anew_when_a_file_changes(
    tree: Path, fake_go: FakeGo, show: Recorded
) -> None:
    assert assets.from_source(tree, show=show)[0] == "1.38.0-source"
    assets.from_source(tree, show=show)
    assert len(fake_go.builds()) == 1

    (tree / "cmd/kube-scheduler/main.go").write_text("package main // changed\n")
    assets.from_source(tree, show=show)
    assert len(fake_go.builds()) == 2


@pytest.mark.parametrize(
    ("described", "dirty", "version"),
    [
        ("v1.36.3", False, "1.36.3"),
        ("v1.36.3", True, "1.36.3+dirty"),
        ("v1.36.3-5-g0123456789abcd", False, "1.36.3-5+0123456789abcd"),
        ("v1.37.0-alpha.1-5-g0123456789abcd", True, "1.37.0-alpha.1.5+0123456789abcd-dirty"),
    ],
)
def test_version_is_written_as_upstream_writes_it(described: str, dirty: bool, version: str) -> None:
    assert source.described_version(described, dirty=dirty) == version


def test_absent_folder_is_one_clear_line(tmp_path: Path, show: Recorded) -> None:
    with pytest.raises(CannotStart, match=r"src=.*nowhere is no folder"):
        assets.from_source(tmp_path / "nowhere", show=show)


def test_other_go_module_is_one_clear_line(tree: Path, show: Recorded) -> None:
    (tree / "go.mod").write_text("module example.org/other\n\ngo 1.26.0\n")

    with pytest.raises(
        CannotStart, match=r"is no Kubernetes checkout: its go\.mod is not of k8s\.io/kubernetes"
    ):
        assets.from_source(tree, show=show)


def test_folder_of_anything_is_one_clear_line(tmp_path: Path, show: Recorded) -> None:
    with pytest.raises(CannotStart, match=r"is no Kubernetes checkout: it lacks go\.mod, cmd/kube-apiserver"):
        assets.from_source(tmp_path, show=show)


def test_failing_checkout_shows_the_compiler(
    clone: Path, fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "cmd/kube-scheduler/main.go:3:1: syntax error")

    with pytest.raises(CannotStart, match=r"main\.go:3:1: syntax error"):
        assets.from_source(clone, show=show)


def test_real_go_builds_a_tiny_checkout(clone: Path, show: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", PATH)
    if shutil.which("go") is None:
        pytest.skip("there is no Go on this machine")
    (clone / "go.mod").write_text("module k8s.io/kubernetes\n\ngo 1.21.0\n")
    for kind in CONTROL_PLANE:
        program = 'package main\n\nfunc main() { println("x"); print_version() }\n'
        (clone / "cmd" / kind / "main.go").write_text(program)
        (clone / "cmd" / kind / "version.go").write_text(
            'package main\n\nimport "fmt"\n\nfunc print_version() { fmt.Println("Kubernetes v1.38.0") }\n'
        )

    version, programs = assets.from_source(clone, show=show)

    assert version == "1.38.0-alpha.1+dirty"
    said = subprocess.run([programs[ComponentKind.SCHEDULER]], capture_output=True, text=True, check=True)
    assert said.stdout == "Kubernetes v1.38.0\n"
