"""The cache: only whole entries are used; what is damaged heals; what the disk refuses is told."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hintbound import assets
from hintbound.assets import cache
from hintbound.assets.manifest import MANIFEST, Manifest
from hintbound.errors import CannotStart
from tests.assets.fakes import FakeGo, Recorded, leftovers, run_python


def _same_size_other_content(etcd: Path) -> None:
    etcd.write_bytes(b"#" * etcd.stat().st_size)


def _truncated(etcd: Path) -> None:
    os.truncate(etcd, 3)


def _missing(etcd: Path) -> None:
    etcd.unlink()


def _not_executable(etcd: Path) -> None:
    etcd.chmod(0o644)


def _no_manifest(etcd: Path) -> None:
    (etcd.parent / MANIFEST).unlink()


def _cut_manifest(etcd: Path) -> None:
    os.truncate(etcd.parent / MANIFEST, 40)


def _strange_manifest(etcd: Path) -> None:
    (etcd.parent / MANIFEST).write_text('{"name": "etcd", "files": []}')


def _file_instead_of_folder(etcd: Path) -> None:
    shutil.rmtree(etcd.parent)
    etcd.parent.write_text("?")


@pytest.mark.parametrize(
    "damage",
    [
        _same_size_other_content,
        _truncated,
        _missing,
        _not_executable,
        _no_manifest,
        _cut_manifest,
        _strange_manifest,
        _file_instead_of_folder,
    ],
)
def test_damaged_entry_heals_itself(damage: Callable[[Path], None], fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)
    good = etcd.read_bytes()
    damage(etcd)

    assert assets.etcd(show=show).read_bytes() == good
    assert "in the cache is damaged" in show.text
    assert len(fake_go.builds()) == 2
    assert leftovers() == []


def test_half_made_entry_is_made_anew(fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)
    shutil.rmtree(etcd.parent)
    etcd.parent.mkdir()
    etcd.write_text("half")

    assert assets.etcd(show=show).read_text() != "half"


def test_untouched_entry_is_not_read_again(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets.etcd(show=show)
    monkeypatch.setattr("hintbound.assets.manifest.digest", lambda path: pytest.fail(f"{path} was read"))

    assets.etcd(show=show)


def test_cache_restored_elsewhere_is_read_once_and_kept(
    fake_go: FakeGo, show: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets.etcd(show=show)
    shutil.copytree(tmp_path / "cache", tmp_path / "restored")
    monkeypatch.setenv("HINTBOUND_CACHE", str(tmp_path / "restored"))

    assets.etcd(show=show)
    monkeypatch.setattr("hintbound.assets.manifest.digest", lambda path: pytest.fail(f"{path} was read"))
    assets.etcd(show=show)

    assert len(fake_go.builds()) == 1


def test_thorough_look_finds_what_a_cheap_one_cannot(fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)
    before = etcd.stat()
    with etcd.open("r+b") as file:
        file.write(b"?")
    os.utime(etcd, ns=(before.st_atime_ns, before.st_mtime_ns))

    cheap, thorough = cache.look(etcd.parent), cache.look(etcd.parent, thoroughly=True)

    assert cheap is not None
    assert cheap.problem == ""
    assert thorough is not None
    assert "another sha256" in thorough.problem


def test_manifest_tells_where_each_file_came_from(fake_go: FakeGo, show: Recorded) -> None:
    etcd = assets.etcd(show=show)

    manifest = Manifest.read(etcd.parent)

    assert manifest is not None
    assert (manifest.name, manifest.made.source, manifest.made.go) == ("etcd", "build", "1.27.3")
    assert manifest.files["etcd"].size == etcd.stat().st_size
    assert set(json.loads((etcd.parent / MANIFEST).read_text())["files"]) == {"etcd"}


def test_read_only_cache_with_the_entry_is_enough(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    etcd = assets.etcd(show=show)
    real = os.open

    def read_only(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(cache, "_in_use", {})
    monkeypatch.setattr(os, "open", read_only)

    assert assets.etcd(show=show) == etcd


def test_read_only_cache_without_the_entry_is_told(
    fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)

    with pytest.raises(CannotStart, match=r"cannot be written: read-only file system\. .*HINTBOUND_CACHE"):
        assets.etcd(show=show)


def test_unreadable_cache_is_told_in_one_line(fake_go: FakeGo, show: Recorded, tmp_path: Path) -> None:
    assets.etcd(show=show)
    (tmp_path / "cache" / "assets").chmod(0o000)
    process = run_python(
        "import os, hintbound.assets as assets\n"
        "from hintbound.errors import CannotStart\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "try: assets.etcd()\n"
        "except CannotStart as error: print(error)"
    )
    stdout, stderr = process.communicate(timeout=20)
    (tmp_path / "cache" / "assets").chmod(0o755)

    assert "cannot be read: permission denied." in stdout, stderr
    assert "HINTBOUND_CACHE" in stdout


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_leaves_no_entry(
    code: int, fake_go: FakeGo, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Manifest, "write", full)

    with pytest.raises(CannotStart, match=r"the disk that holds .* is full.*assets prune"):
        assets.etcd(show=show)

    assert list(cache.entries()) == []
    assert leftovers() == []


def test_cache_that_is_a_file_is_told(
    fake_go: FakeGo, show: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HINTBOUND_CACHE", str(tmp_path / "file"))

    with pytest.raises(CannotStart, match="not a directory"):
        assets.etcd(show=show)


def test_temporary_folder_of_a_living_run_is_not_swept(show: Recorded) -> None:
    with cache.temporary() as folder:
        cache.sweep()
        assert folder.is_dir()
    assert leftovers() == []
