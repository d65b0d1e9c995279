"""HINTBOUND_ASSETS: the user's own programs win, and must be what they claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound import assets
from hintbound.assets.pins import CONTROL_PLANE, NODE
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind
from tests.assets.fakes import FakeGo, Recorded


def put(folder: Path, *names: str, version: str = "1.35.4", script: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(script or f"#!/bin/sh\necho Kubernetes v{version}\n")
        (folder / name).chmod(0o755)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "given").mkdir()
    monkeypatch.setenv("HINTBOUND_ASSETS", str(tmp_path / "given"))
    return tmp_path / "given"


def test_folder_per_version_is_taken(given: Path, show: Recorded) -> None:
    put(given / "1.35.4", *CONTROL_PLANE)
    put(given / "etcd", "etcd", version="3.6.1")
    put(given / "kwok", "kwok", "kwokctl", version="0.7.0")

    everything = assets.binaries("1.35", show=show)

    assert everything.version == "1.35.4"
    assert everything[ComponentKind.APISERVER] == given / "1.35.4/kube-apiserver"
    assert everything[ComponentKind.ETCD] == given / "etcd/etcd"
    assert everything[ComponentKind.KWOK] == given / "kwok/kwok"
    assert assets.kwokctl(show=show) == given / "kwok/kwokctl"
    assert assets.pinned_version(ComponentKind.ETCD) == "3.6.1"
    assert show.lines == []


def test_flat_folder_is_taken(given: Path, show: Recorded) -> None:
    put(given, *CONTROL_PLANE)
    put(given, "etcd", "kwok", version="3.6.1")

    assert set(assets.binaries("1.35", show=show).values()) == {
        given / name for name in (*CONTROL_PLANE, "etcd", "kwok")
    }


def test_folder_of_a_version_wins_over_flat_programs(given: Path, show: Recorded) -> None:
    put(given, *CONTROL_PLANE, version="1.37.2")
    put(given / "1.35.4", *CONTROL_PLANE)

    assert assets.control_plane("1.35", show=show)[ComponentKind.SCHEDULER] == given / "1.35.4/kube-scheduler"
    assert assets.control_plane("1.37", show=show)[ComponentKind.SCHEDULER] == given / "kube-scheduler"


def test_version_without_a_pin_is_known_when_its_folder_is_there(given: Path, show: Recorded) -> None:
    put(given / "1.35.2", *CONTROL_PLANE, version="1.35.2")

    assert assets.control_plane("1.35.2", show=show).version == "1.35.2"


@pytest.mark.parametrize("place", [".", "1.35.4"])
def test_wrong_version_is_an_error_that_says_so(place: str, given: Path, show: Recorded) -> None:
    put(given / place, *CONTROL_PLANE)
    put(given / place, "kube-scheduler", version="1.34.0")

    with pytest.raises(CannotStart, match=r"kube-scheduler is version 1\.34\.0, not 1\.35\.4"):
        assets.control_plane("1.35", show=show)


def test_distributors_build_metadata_is_the_same_version(given: Path, show: Recorded) -> None:
    put(given, *CONTROL_PLANE, version="1.35.4+vendor.1")

    assert assets.control_plane("1.35", show=show).version == "1.35.4"


def test_folder_that_lacks_a_program_is_an_error_that_names_it(given: Path, show: Recorded) -> None:
    put(given, "kube-apiserver", "etcd")

    with pytest.raises(CannotStart, match="lacks kube-controller-manager, kube-scheduler"):
        assets.control_plane("1.35", show=show)


@pytest.mark.parametrize("script", ["no program", "#!/bin/sh\necho broken >&2; exit 3\n", "#!/nowhere\n"])
def test_program_that_does_not_run_is_an_error(script: str, given: Path, show: Recorded) -> None:
    put(given, *CONTROL_PLANE)
    put(given, "kube-apiserver", script=script)

    with pytest.raises(CannotStart, match=r"HINTBOUND_ASSETS: .*kube-apiserver"):
        assets.control_plane("1.35", show=show)


def test_what_the_folder_lacks_comes_from_elsewhere(given: Path, fake_go: FakeGo, show: Recorded) -> None:
    put(given / "1.35.4", *CONTROL_PLANE)

    assert assets.control_plane("1.34.0", show=show)[ComponentKind.APISERVER].is_file()
    assert assets.etcd(show=show).is_file()
    assert len(fake_go.builds()) == 2


@pytest.mark.parametrize("place", [".", "1.35.4"])
def test_programs_of_a_node_are_taken(place: str, given: Path, show: Recorded) -> None:
    put(given / place, *CONTROL_PLANE, *NODE)

    plane, node = assets.control_plane_and_node("1.35", show=show)

    assert dict(node) == {name: given / place / name for name in NODE}
    assert plane[ComponentKind.SCHEDULER] == given / place / "kube-scheduler"


def test_a_control_plane_without_its_node_is_whole(given: Path, fake_go: FakeGo, show: Recorded) -> None:
    put(given / "1.35.4", *CONTROL_PLANE)

    plane, node = assets.control_plane_and_node("1.35", show=show)

    assert plane[ComponentKind.SCHEDULER] == given / "1.35.4/kube-scheduler"
    assert [path.is_file() for path in node.values()] == [True, True, True]
    (build,) = fake_go.builds()
    assert "cmd/kube-scheduler" not in build


def test_a_node_in_part_is_an_error_that_names_the_rest(given: Path, show: Recorded) -> None:
    put(given / "1.35.4", *CONTROL_PLANE, "kubelet")

    with pytest.raises(CannotStart, match="lacks kubeadm, kubectl"):
        assets.node("1.35", show=show)


def test_the_users_kind_wins_over_one_on_path(
    given: Path, tmp_path: Path, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "bin", "kind", version="0.33.0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert assets.kind(show=show) == tmp_path / "bin/kind"

    put(given / "kind", "kind", version="0.34.0")
    assert assets.kind(show=show) == given / "kind/kind"


def test_folder_that_does_not_exist_is_an_error(show: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINTBOUND_ASSETS", "/nowhere")

    with pytest.raises(CannotStart, match=r"HINTBOUND_ASSETS=/nowhere cannot be read: no such file"):
        assets.etcd(show=show)
