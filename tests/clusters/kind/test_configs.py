"""kind configs: what is generated, and what a run adds to a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hintbound import data
from hintbound.clusters.embedded.components import GATED_APIS
from hintbound.clusters.gatesets import GATE_SETS
from hintbound.clusters.kind import configs
from hintbound.errors import CannotStart


def config(minor: int, gate_set: str) -> dict[str, Any]:
    loaded = yaml.safe_load(configs.text(minor, gate_set))
    assert isinstance(loaded, dict)
    return loaded


def patches(of: dict[str, Any]) -> list[dict[str, Any]]:
    return [yaml.safe_load(text) for text in of["kubeadmConfigPatches"]]


def test_the_checked_in_configs_are_current() -> None:
    folder = data.folder("kind-configs")
    there = {path.name: path.read_text() for path in folder.glob("*.yaml")}
    assert there == {configs.file_name(*one): configs.text(*one) for one in configs.names()}, (
        "run `hintbound kind-config --write kind-configs`"
    )


def test_every_minor_that_has_the_gates_has_every_set() -> None:
    assert {minor for minor, _ in configs.names()} == {34, 35, 36, 37}
    assert {name for minor, name in configs.names() if minor == 37} == set(GATE_SETS)


@pytest.mark.parametrize(("minor", "gate_set"), configs.names())
def test_config_sets_the_gates_on_one_control_plane_and_two_workers(minor: int, gate_set: str) -> None:
    made = config(minor, gate_set)
    assert made.get("featureGates", {}) == dict(GATE_SETS[gate_set].gates)
    assert [node["role"] for node in made["nodes"]] == ["control-plane", "worker", "worker"]
    assert str(configs.version_of(made, None)).startswith(f"1.{minor}.")
    assert "networking" not in made, "stock images bring their network plugin"


def test_gates_that_need_an_api_come_with_it() -> None:
    assert config(37, "pod-groups")["runtimeConfig"] == {GATED_APIS["GenericWorkload"][1]: "true"}
    assert "runtimeConfig" not in config(37, "default")


@pytest.mark.parametrize("minor", [35, 36])
def test_arguments_are_written_as_kubeadm_of_that_minor_reads_them(minor: int) -> None:
    (patch,) = patches(configs.observed(config(minor, "default"), minor, Path("/run/audit")))
    arguments = patch["apiServer"]["extraArgs"]
    as_map = {pair["name"]: pair["value"] for pair in arguments} if minor >= 36 else arguments
    assert isinstance(arguments, list) == (minor >= 36)
    assert as_map["audit-log-path"] == f"{configs.AUDIT}/{configs.LOG}"


def test_an_observed_config_writes_the_audit_log_to_this_machine_and_keeps_the_rest() -> None:
    users = config(35, "nnn-on")
    users["nodes"][0]["extraMounts"] = [{"hostPath": "/data", "containerPath": "/data"}]
    users["kubeadmConfigPatches"] = ["kind: InitConfiguration\n"]

    made = configs.observed(users, 35, Path("/run/audit"))

    mounts = made["nodes"][0]["extraMounts"]
    assert mounts == [
        {"hostPath": "/data", "containerPath": "/data"},
        {"hostPath": "/run/audit", "containerPath": configs.AUDIT},
    ]
    assert [node.get("extraMounts") for node in made["nodes"][1:]] == [None, None]
    assert made["featureGates"] == users["featureGates"]
    server = patches(made)[-1]["apiServer"]
    assert server["extraArgs"]["audit-log-path"] == f"{configs.AUDIT}/{configs.LOG}"
    assert server["extraVolumes"][0]["hostPath"] == configs.AUDIT
    assert made["kubeadmConfigPatches"][0] == "kind: InitConfiguration\n"
    assert len(users["kubeadmConfigPatches"]) == 1, "the user's is as it was"


@pytest.mark.parametrize("name", ["1.35-nnn-on.yaml", "kind-configs/1.35-nnn-on.yaml"])
def test_shipped_configs_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert configs.find(Path(name)) == data.folder("kind-configs") / "1.35-nnn-on.yaml"
    assert configs.find(Path("other") / name) == Path("other") / name
    assert configs.find(Path("no-such.yaml")) == Path("no-such.yaml")

    own = Path(name)
    own.parent.mkdir(exist_ok=True)
    own.touch()
    assert configs.find(own) == own


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: no such file"),
        ("kind: [", ":1: not YAML"),
        ("kind: Cluster\n---\nkind: Cluster\n", ":2: not YAML"),
        ("kind: Cluster\0", ":1: not YAML"),
        ("[" * 3000, ":1: not YAML: it is nested too deeply"),
        ("kind: Cluster\nsince: 2026-13-01\n", "cannot be read: month must be in 1..12"),
        ("kind: Cluster\n#" + "x" * 2**20, "more than the 1048576 that are read"),
        ("- a\n- b\n", "is no kind config"),
        ("kind: Pod\n", "is no kind config"),
    ],
)
def test_what_is_no_config_is_told_by_its_path(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CannotStart) as error:
        configs.read(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("nodes: worker", "`nodes` is no list of mappings"),
        ("nodes: [worker]", "`nodes` is no list of mappings"),
        ("nodes: [null]", "`nodes` is no list of mappings"),
        ("nodes: [{extraMounts: /tmp}]", "`extraMounts` of a node is no list of mappings"),
        ("kubeadmConfigPatches: 'kind: ClusterConfiguration'", "`kubeadmConfigPatches` is no list of texts"),
        ("featureGates: [A]", "`featureGates` does not map names to true or false"),
        ("featureGates: {A: 'true'}", "`featureGates` does not map names to true or false"),
    ],
)
def test_a_part_that_kind_would_refuse_is_named(tmp_path: Path, part: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"kind: Cluster\n{part}\n")

    with pytest.raises(CannotStart) as error:
        configs.read(path)

    assert error.value.message == f"kind config {path}: {said}."
    assert "`hintbound kind-config` prints one" in error.value.next_step


def test_parts_that_are_empty_are_as_good_as_none(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("kind: Cluster\nfeatureGates:\nkubeadmConfigPatches:\nnodes: [{role: , extraMounts: }]\n")

    observed = configs.observed(configs.read(path), 35, tmp_path)

    assert len(observed["nodes"][0]["extraMounts"]) == len(observed["kubeadmConfigPatches"]) == 1


@pytest.mark.parametrize("name", ["a" * 300, f"kind-configs/{'a' * 300}", "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    with pytest.raises(CannotStart, match="cannot be read"):
        configs.read(configs.find(Path(name)))


def test_a_config_to_edit_does_not_forbid_it() -> None:
    assert configs.to_edit(35, "nnn-on").startswith("# Kubernetes 1.35, gates: nnn-on. Yours to edit.\n")
    assert yaml.safe_load(configs.to_edit(35, "nnn-on")) == config(35, "nnn-on")


@pytest.mark.parametrize(
    ("images", "image", "version"),
    [
        (["kindest/node:v1.35.8@sha256:aa"], None, "1.35.8"),
        (["hintbound/node:v1.37.2-0123456789ab"] * 2, None, "1.37.2"),
        (["kindest/node:v1.35.8", "kindest/node:v1.34.1"], None, None),
        (["kindest/node:v1.35.8", ""], None, None),
        ([""], "hintbound/node:v1.36.3", "1.36.3"),
        (["kindest/node:latest"], None, None),
        ([], None, None),
    ],
)
def test_the_version_is_read_from_the_images(
    images: list[str], image: str | None, version: str | None
) -> None:
    assert configs.version_of({"nodes": [{"image": name} for name in images]}, image) == version
