"""The one context that KWOK gets of the user's kubeconfig files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hintbound.clusters.kubeconfigs import of_context


def _file(path: Path, **content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **content}))
    return path


def _context(name: str, cluster: str, user: str, **more: str) -> dict[str, Any]:
    return {"name": name, "context": {"cluster": cluster, "user": user, **more}}


def _one_of(merged: dict[str, Any], kind: str, name: str) -> Any:
    (found,) = [entry for entry in merged[kind] if entry["name"] == name]
    return found


def test_context_is_the_current_one_with_its_cluster_and_user(tmp_path: Path) -> None:
    file = _file(
        tmp_path / "config",
        **{"current-context": "other"},
        clusters=[{"name": "c", "cluster": {"server": "https://c"}}],
        users=[{"name": "u", "user": {"token": "t"}}],
        contexts=[_context("mine", "c", "u", namespace="n")],
    )
    merged = of_context("mine", {"KUBECONFIG": str(file)})

    assert merged["current-context"] == "mine"
    assert _one_of(merged, "clusters", "c")["cluster"] == {"server": "https://c"}
    assert _one_of(merged, "users", "u")["user"] == {"token": "t"}
    assert _one_of(merged, "contexts", "mine")["context"] == {"cluster": "c", "user": "u", "namespace": "n"}


def test_of_two_files_the_first_counts_for_a_name_and_both_for_the_rest(tmp_path: Path) -> None:
    one = _file(tmp_path / "1", clusters=[{"name": "c", "cluster": {"server": "https://one"}}])
    two = _file(
        tmp_path / "2",
        clusters=[{"name": "c", "cluster": {"server": "https://two"}}],
        contexts=[_context("mine", "c", "u")],
        users=[{"name": "u", "user": {}}],
    )
    merged = of_context("mine", {"KUBECONFIG": f"{one}:{tmp_path / 'absent'}::{two}"})

    assert _one_of(merged, "clusters", "c")["cluster"] == {"server": "https://one"}
    assert _one_of(merged, "contexts", "mine")


def test_file_names_are_those_beside_the_file_they_stand_in(tmp_path: Path) -> None:
    file = _file(
        tmp_path / "deep" / "config",
        clusters=[{"name": "c", "cluster": {"server": "https://c", "certificate-authority": "ca.crt"}}],
        users=[
            {
                "name": "u",
                "user": {"client-certificate": "/abs/u.crt", "client-key": "keys/u.key", "tokenFile": "t"},
            }
        ],
        contexts=[_context("mine", "c", "u")],
    )
    merged = of_context("mine", {"KUBECONFIG": str(file)})

    folder = tmp_path / "deep"
    assert _one_of(merged, "clusters", "c")["cluster"]["certificate-authority"] == str(folder / "ca.crt")
    assert _one_of(merged, "users", "u")["user"] == {
        "client-certificate": "/abs/u.crt",
        "client-key": str(folder / "keys/u.key"),
        "tokenFile": str(folder / "t"),
    }


def test_credential_plugin_of_a_relative_path_is_the_one_beside_the_file(tmp_path: Path) -> None:
    users = [
        {"name": "beside", "user": {"exec": {"command": "./bin/login", "args": ["./x"]}}},
        {"name": "on-path", "user": {"exec": {"command": "aws", "args": ["eks"]}}},
    ]
    file = _file(tmp_path / "config", users=users, contexts=[_context("mine", "c", "beside")])
    merged = of_context("mine", {"KUBECONFIG": str(file)})

    beside = _one_of(merged, "users", "beside")["user"]["exec"]
    assert beside == {"command": str(tmp_path / "bin/login"), "args": ["./x"]}
    assert _one_of(merged, "users", "on-path")["user"]["exec"]["command"] == "aws"


def test_without_the_variable_it_is_the_file_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    _file(tmp_path / ".kube" / "config", contexts=[_context("mine", "c", "u")])

    assert _one_of(of_context("mine", {}), "contexts", "mine")


def test_file_without_entries_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")

    merged = of_context("mine", {"KUBECONFIG": str(tmp_path / "config")})
    assert merged["contexts"] == []
