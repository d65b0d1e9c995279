"""A scheduler of ours, built from a version's pin and the sources in `subjects/`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hintbound import assets, data
from hintbound.assets import cache, pins
from hintbound.assets.pins import CONTROL_PLANE
from hintbound.assets.prune import prune
from hintbound.errors import CannotStart
from tests.assets.fakes import FakeGo, Recorded, leftovers
from tests.assets.test_given import put


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `subjects/` that may be changed."""
    copied = tmp_path / "subjects"
    shutil.copytree(data.folder("subjects"), copied)
    real = data.folder
    monkeypatch.setattr(data, "folder", lambda name: copied if name == "subjects" else real(name))
    return copied


def test_it_is_built_with_the_tags_of_its_version_and_all_before(fake_go: FakeGo, show: Recorded) -> None:
    built = {version: assets.faulty_scheduler(version, show=show) for version in ("1.33.13", "1.36.3")}

    old, new = fake_go.builds()
    assert "-tags" not in old
    assert "-tags=kubernetes1.34,kubernetes1.35,kubernetes1.36 " in new
    assert "gitVersion=v1.36.3" in new
    assert new.endswith("/faulty-scheduler .")
    assert built["1.36.3"].is_file()
    assert "building faulty-scheduler 1.36.3 with Go 1.27.3" in show.text
    assert leftovers() == []


def test_changed_source_is_built_anew_and_an_equal_one_is_not(
    sources: Path, fake_go: FakeGo, show: Recorded
) -> None:
    main = sources / "faulty-scheduler" / "main.go"
    before = main.read_text()
    first = assets.faulty_scheduler("1.35.4", show=show)
    main.write_text(before.replace("as ordered", "as told"))
    second = assets.faulty_scheduler("1.35.4", show=show)
    main.write_text(before)

    assert first != second
    assert assets.faulty_scheduler("1.35.4", show=show) == first
    assert len(fake_go.builds()) == 2


def test_its_sources_do_not_touch_the_build_of_the_control_plane(sources: Path) -> None:
    before = pins.kubernetes("1.35.4").build
    (sources / "faulty-scheduler" / "main.go").write_text("package main\n")

    assert pins.kubernetes("1.35.4").build == before


def test_prune_keeps_it_and_with_keep_only_that_version(fake_go: FakeGo, show: Recorded) -> None:
    for version in ("1.35.4", "1.37.2"):
        assets.faulty_scheduler(version, show=show)
    cache._in_use.clear()

    assert list(prune()) == []
    (gone,) = prune(keep={"1.37.2"})
    assert "faulty-scheduler-1.35.4" in gone.path.name


def test_given_one_wins_and_must_be_of_the_version(
    tmp_path: Path, show: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINTBOUND_ASSETS", str(tmp_path))
    put(tmp_path / "1.35.4", "faulty-scheduler")

    assert assets.faulty_scheduler("1.35.4", show=show) == tmp_path / "1.35.4" / "faulty-scheduler"

    put(tmp_path / "1.35.4", "faulty-scheduler", version="1.34.4")
    with pytest.raises(CannotStart, match=r"faulty-scheduler is version 1\.34\.4, not 1\.35\.4"):
        assets.faulty_scheduler("1.35.4", show=show)


def test_version_without_a_pin_cannot_be_built(show: Recorded) -> None:
    with pytest.raises(
        CannotStart, match=r"faulty-scheduler 1\.35\.9 cannot be built: .* not pinned"
    ) as error:
        assets.faulty_scheduler("1.35.9", show=show)

    assert "assets pin 1.35.9" in error.value.next_step


def test_control_plane_is_at_hand_once_it_is_in_the_cache(fake_go: FakeGo, show: Recorded) -> None:
    assert assets.at_hand("1.34.4") is None
    assert fake_go.builds() == []

    got = assets.control_plane("1.34.4", show=show)

    assert assets.at_hand("1.34.4") == got


def test_damaged_control_plane_is_not_at_hand(fake_go: FakeGo, show: Recorded) -> None:
    got = assets.control_plane("1.34.4", show=show)
    next(iter(got.values())).write_text("cut short")

    assert assets.at_hand("1.34.4") is None


def test_given_control_plane_is_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINTBOUND_ASSETS", str(tmp_path))
    put(tmp_path / "1.34.4", *CONTROL_PLANE, version="1.34.4")

    found = assets.at_hand("1.34.4")

    assert found is not None
    assert {path.parent for path in found.values()} == {tmp_path / "1.34.4"}


@pytest.mark.parametrize(
    ("version", "older"), [("1.34.0", "1.33.13"), ("1.35.4", "1.34.4"), ("1.37.2", "1.36.3")]
)
def test_older_minor_is_the_newest_pin_of_it(version: str, older: str) -> None:
    assert assets.older_minor(version) == older


def test_oldest_version_has_no_older_minor() -> None:
    with pytest.raises(CannotStart, match=r"unknown Kubernetes version '1\.32'"):
        assets.older_minor("1.33.13")
