"""Which versions there are, and what a pin is made of."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from hintbound import assets, data
from hintbound.assets import pinning, pins
from hintbound.errors import CannotStart
from tests.assets.fakes import FakeGo, Recorded

UPSTREAM = """module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	example.org/thing v1.2.3
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""
PINNED = """module hintbound.dev/controlplane
go 1.26.0
godebug default=go1.26
require k8s.io/kubernetes v1.36.5
replace k8s.io/api => k8s.io/api v0.36.5
replace k8s.io/client-go => k8s.io/client-go v0.36.5
tool k8s.io/kubernetes/cmd/kube-apiserver
tool k8s.io/kubernetes/cmd/kube-controller-manager
tool k8s.io/kubernetes/cmd/kube-scheduler
tool k8s.io/kubernetes/cmd/kubelet
tool k8s.io/kubernetes/cmd/kubeadm
tool k8s.io/kubernetes/cmd/kubectl
"""


def test_versions_are_sorted_as_numbers() -> None:
    assert assets.versions() == ["1.33.13", "1.34.0", "1.34.4", "1.35.4", "1.36.3", "1.37.2"]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("1.35", "1.35.4"),
        ("1.34", "1.34.4"),
        ("1.34.0", "1.34.0"),
        ("v1.36.3", "1.36.3"),
        ("latest", "1.37.2"),
    ],
)
def test_version_means_its_newest_pin(text: str, exact: str) -> None:
    assert assets.resolve_version(text) == exact


@pytest.mark.parametrize("text", ["1.3", "1.35.99", "nonsense", "", "../etcd", "etcd"])
def test_unknown_version_lists_the_known_ones(text: str) -> None:
    with pytest.raises(CannotStart, match=r"unknown Kubernetes version .*Known: 1\.33\.13, .*1\.37\.2"):
        assets.resolve_version(text)


@pytest.mark.parametrize("version", assets.versions())
def test_every_pin_replaces_all_staging_modules_by_its_own_release(version: str) -> None:
    go_mod = (data.folder("controlplane") / version / "go.mod").read_text()

    replaced = re.findall(r"^replace (\S+) => (\S+) (\S+)$", go_mod, re.MULTILINE)

    assert len(replaced) >= 30
    assert {(name, name, f"v0.{version.removeprefix('1.')}") for name, *_ in replaced} == set(replaced)
    assert re.search(rf"k8s\.io/kubernetes v{re.escape(version)}\b", go_mod)
    assert re.search(r"^godebug default=go1\.", go_mod, re.MULTILINE)
    assert re.findall(r"^tool k8s\.io/kubernetes/cmd/(\S+)", go_mod, re.MULTILINE) == [
        *sorted(pins.CONTROL_PLANE),
        *pins.NODE,
    ]


def test_build_id_follows_pin_and_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(data.folder("controlplane"), tmp_path / "controlplane")
    monkeypatch.setattr(data, "folder", lambda name: tmp_path / name)
    before = pins.kubernetes("1.35.4").build

    with (tmp_path / "controlplane/1.35.4/go.sum").open("a") as file:
        file.write("more\n")

    assert pins.kubernetes("1.35.4").build != before
    assert pins.kubernetes("1.34.4").build != pins.kubernetes("1.34.0").build
    assert pins.kwok().build != pins.kwokctl().build


def test_pin_takes_go_godebug_and_staging_from_upstream() -> None:
    assert pinning.go_mod("1.36.5", UPSTREAM) == PINNED


def test_new_pin_is_written_whole(
    tmp_path: Path, fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "upstream.mod").write_text(UPSTREAM)
    monkeypatch.setenv("FAKE_GO_UPSTREAM", str(tmp_path / "upstream.mod"))
    (tmp_path / "into").mkdir()

    target = pinning.pin("1.36.5", tmp_path / "into", show)

    assert target == tmp_path / "into/1.36.5"
    assert (target / "go.mod").read_text() == PINNED
    assert [path.name for path in (tmp_path / "into").iterdir()] == ["1.36.5"]


def test_failed_pin_leaves_nothing(
    tmp_path: Path, fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "go: k8s.io/kubernetes@v1.36.99: unknown revision v1.36.99")
    (tmp_path / "into").mkdir()

    with pytest.raises(CannotStart, match=r"there is no Kubernetes 1\.36\.99") as error:
        pinning.pin("1.36.99", tmp_path / "into", show)

    assert "\n" not in str(error.value)
    assert list((tmp_path / "into").iterdir()) == []


def test_pin_that_exists_is_not_touched(show: Recorded) -> None:
    with pytest.raises(CannotStart, match=r"1\.35\.4 is pinned already"):
        pinning.pin("1.35.4", None, show)


@pytest.mark.parametrize("version", ["1.36", "latest", "2.0.0", "1.36.5-rc.1"])
def test_pin_wants_an_exact_release(version: str, show: Recorded) -> None:
    with pytest.raises(CannotStart, match="is no exact Kubernetes version"):
        pinning.pin(version, None, show)


def test_wheel_has_no_checkout_to_pin_into(show: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "checkout", lambda: None)

    with pytest.raises(CannotStart, match="--into DIR"):
        pinning.pin("1.36.5", None, show)
