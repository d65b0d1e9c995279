"""What a kind cluster cannot be made of is told in one line with the next step, before anything is made."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from hintbound import assets
from hintbound.clusters import from_kind, open_cluster, parse, registry
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.kind import nodes
from hintbound.clusters.kind.cluster import KindCluster
from hintbound.errors import CannotStart
from tests.clusters.commands import run
from tests.clusters.kind.scripted import Scripted

_STOCK = "kindest/node:v1.35.8@sha256:aa"
_DOCKER = {"version*": "20.10.24", "image inspect*": "sha256:aa", "ps*": "", "network*": ""}
_FAILS = """
import sys
class KindCluster:
    def __init__(self, *_, **__): pass
    def create(self, config_file):
        sys.exit('ERROR: failed to create cluster: could not find a log line\\nStack Trace: ')
"""
_KIND = {"version": "kind v0.33.0 go1.26.8 linux/amd64"}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """A machine where everything is as it should be."""
    scripted = Scripted(tmp_path)
    scripted.program("docker", _DOCKER)
    scripted.program("kind", _KIND)
    monkeypatch.setenv("PATH", str(scripted.folder))
    monkeypatch.setattr(nodes, "find_spec", lambda _name: object())
    monkeypatch.setattr(assets, "kwok", lambda: Path("kwok"))
    return scripted


def config(folder: Path, *images: str, roles: tuple[str, ...] = ("control-plane", "worker")) -> Path:
    path = folder / "kind.yaml"
    made = [
        {"role": role, "image": image} for role, image in zip(roles, images or (_STOCK,) * 9, strict=False)
    ]
    path.write_text(yaml.safe_dump({"kind": "Cluster", "nodes": made}))
    return path


def refusal(spec: str) -> str:
    with pytest.raises(CannotStart) as error:
        open_cluster(parse(spec), name="shared")
    return str(error.value)


def test_a_machine_where_all_is_well_is_not_refused(tools: Scripted, tmp_path: Path) -> None:
    cluster = open_cluster(parse(f"kind:{config(tmp_path)}"), name="shared")

    assert isinstance(cluster, KindCluster)
    assert [line for line in tools.asked if "run" in line or "create" in line] == []


def test_no_docker(tools: Scripted, tmp_path: Path) -> None:
    (tools.folder / "docker").unlink()

    said = refusal(f"kind:{config(tmp_path)}")

    assert said == "docker is not on PATH. Install Docker, or use --cluster embedded, which needs none."


@pytest.mark.parametrize(
    ("complaint", "next_step"),
    [
        (
            "permission denied while trying to connect to the Docker daemon socket at unix:///x.",
            "Join the group docker, or run as a user who may.",
        ),
        ("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", "Start Docker."),
    ],
)
def test_a_docker_that_does_not_serve_us(
    tools: Scripted, tmp_path: Path, complaint: str, next_step: str
) -> None:
    tools.program("docker", {"version*": (1, complaint)})

    said = refusal(f"kind:{config(tmp_path)}")

    assert said == f"docker cannot be used: {complaint.partition('. ')[0].rstrip('.')}. {next_step}"


@pytest.mark.parametrize(
    ("images", "minor", "version", "wanted"),
    [(_STOCK, 35, "v0.26.0", "v0.27"), ("kindest/node:v1.36.4", 36, "v0.31.0", "v0.32")],
)
def test_a_kind_that_is_too_old_for_the_minor(
    tools: Scripted, tmp_path: Path, images: str, minor: int, version: str, wanted: str
) -> None:
    tools.program("kind", {"version": f"kind {version} go1.22 linux/amd64"})

    said = refusal(f"kind:{config(tmp_path, images)}")

    assert said == (
        f"{tools.folder}/kind is kind {version}, which is too old for Kubernetes 1.{minor}. Update it to "
        f"{wanted} or newer, or take it off PATH: the pinned one is built then."
    )


def test_a_kind_that_does_not_run(tools: Scripted, tmp_path: Path) -> None:
    tools.program("kind", {"version": (126, "exec format error")})

    assert refusal(f"kind:{config(tmp_path)}").startswith(f"{tools.folder}/kind does not run: ")


def test_no_kind_is_made_from_the_pin(
    tools: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tools.folder / "kind").rename(tools.folder / "pinned")
    monkeypatch.setattr("hintbound.assets.resolve._program", lambda pin, *_: tools.folder / "pinned")

    open_cluster(parse(f"kind:{config(tmp_path)}"), name="shared")

    assert "kind version" in tools.asked


def test_no_pytest_kind(tools: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "find_spec", lambda _name: None)

    assert refusal(f"kind:{config(tmp_path)}") == (
        "kind clusters need pytest-kind, which is not installed. Install it: pip install 'hintbound[kind]'."
    )


def test_an_image_of_ours_that_was_not_built(tools: Scripted, tmp_path: Path) -> None:
    tools.program("docker", {**_DOCKER, "image inspect*": (1, "Error: No such image")})

    said = refusal(f"kind:{config(tmp_path)},image=hintbound/node:v1.37.2-0123456789ab")

    assert said == (
        "there is no node image hintbound/node:v1.37.2-0123456789ab here. "
        "Build it: make kind-image VERSION=1.37.2."
    )


@pytest.mark.parametrize("images", [("kindest/node:latest",), (_STOCK, "kindest/node:v1.34.1"), ("",)])
def test_images_that_do_not_tell_a_version(tools: Scripted, tmp_path: Path, images: tuple[str, ...]) -> None:
    path = config(tmp_path, *images)

    assert refusal(f"kind:{path}") == (
        f"{path} does not say which Kubernetes its nodes run. "
        "Give all its nodes an `image:` of one version, or add image=kindest/node:v1.35.8."
    )


def test_several_control_planes(tools: Scripted, tmp_path: Path) -> None:
    path = config(tmp_path, roles=("control-plane", "control-plane", "worker"))

    assert refusal(f"kind:{path}").startswith(f"{path} has several control-plane nodes. Take one with")


@pytest.mark.usefixtures("tools")
def test_a_subject(tmp_path: Path) -> None:
    subject = SimpleNamespace(name="acme")

    with pytest.raises(CannotStart, match=r"kind clusters take no subject\. Judge it on embedded:VERSION"):
        open_cluster(parse(f"kind:{config(tmp_path)}"), name="shared", subject=subject)  # type: ignore[arg-type]


def test_a_name_that_is_taken_is_not_touched(
    tools: Scripted, tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest_kind.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    tools.program("docker", {**_DOCKER, "ps*": "hintbound-mine-control-plane"})

    code, out, err = run(state, "cluster", "up", f"kind:{config(tmp_path)}", "--name", "mine")

    assert (code, out) == (254, ""), err
    assert err.strip() == (
        "hintbound: a kind cluster named hintbound-mine exists (hintbound-mine-control-plane). "
        "Remove it, if it is not needed: kind delete cluster --name hintbound-mine."
    )
    assert [line for line in tools.asked if line.startswith("docker rm")] == []
    assert [line for line in tools.asked if "network" in line] == [], "nobody was left to remove it later"
    assert list((state / "clusters").glob("[!.]*")) == []


def test_a_name_that_no_host_can_have(
    tools: Scripted, tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest_kind.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    name = "a" * 40

    code, out, err = run(state, "cluster", "up", f"kind:{config(tmp_path)}", "--name", name)

    assert (code, out) == (254, ""), err
    assert err.strip() == (
        f"hintbound: hintbound-{name} is too long for the name of a kind cluster. Take 1 character less."
    )
    assert [line for line in tools.asked if "create" in line] == []


def test_a_cluster_of_the_same_name_is_never_registered_as_ours(
    tools: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.program("docker", {**_DOCKER, "ps*": "hintbound-mine-control-plane"})
    written: list[registry.Entry] = []
    monkeypatch.setattr(registry, "write", lambda _folder, entry: written.append(entry))
    cluster = KindCluster(parse(f"kind:{config(tmp_path)}"), Options(folder_name="mine"))

    with pytest.raises(CannotStart, match="a kind cluster named hintbound-mine exists"):
        asyncio.run(cluster.start())

    assert {entry.kind for entry in written} == {""}, "killed here, a later prune would remove what it names"


def test_a_cluster_that_is_not_there_is_told_with_those_that_are(tools: Scripted) -> None:
    tools.program("docker", {"ps*Names*": "", **_DOCKER, "ps*": "dev\nother\ndev"})

    assert refusal("kind:cluster=dve") == (
        "unknown kind cluster 'dve'. Did you mean 'dev'? Known: dev, other."
    )


@pytest.mark.usefixtures("tools")
def test_no_cluster_is_there_at_all() -> None:
    assert refusal("kind:cluster=dev").startswith("there is no kind cluster 'dev', and no other. Create one,")


class FakePytestKind:
    """What pytest-kind 22.11 gives."""

    name = "theirs"


class FakeManager:
    """What pytest-kubernetes 0.9 gives."""

    cluster_name = "theirs"

    def __init__(self, tool: str = "kind") -> None:
        self._tool = tool

    def get_binary_name(self) -> str:
        return self._tool


@pytest.mark.parametrize("made", [FakePytestKind(), FakeManager(), "theirs"])
def test_clusters_of_fixtures_are_taken_as_they_are(tools: Scripted, made: object) -> None:
    tools.program("docker", {**_DOCKER, "ps*": "theirs-control-plane", "exec*/kind/version": "v1.36.4"})

    cluster = from_kind(made)

    assert cluster.spec == "kind:cluster=theirs"
    assert parse(cluster.spec).is_there
    assert not [line for line in tools.asked if line.startswith(("kind", "docker rm"))]


@pytest.mark.parametrize("made", [FakeManager("k3d"), FakeManager("minikube"), object(), None, 3, ""])
def test_what_is_no_kind_cluster_is_not_taken(made: object) -> None:
    with pytest.raises(CannotStart, match=r"is no kind cluster\. Give a KindCluster of pytest-kind"):
        from_kind(made)


@pytest.mark.parametrize(
    ("limit", "advice"),
    [
        (
            "128\n",
            " This machine allows only 128 inotify instances: sysctl -w fs.inotify.max_user_instances=512.",
        ),
        ("8192\n", ""),
    ],
)
def test_a_failure_of_kinds_is_told_in_its_own_words_with_what_may_help(
    tools: Scripted,
    tmp_path: Path,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    advice: str,
) -> None:
    (tmp_path / "pytest_kind.py").write_text(_FAILS)
    (tmp_path / "limit").write_text(limit)
    monkeypatch.setattr(nodes, "_INOTIFY", tmp_path / "limit")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    cluster = KindCluster(parse(f"kind:{config(tmp_path)}"), Options(logs=tmp_path / "logs"))
    cluster.resolve()

    with pytest.raises(CannotStart) as error:
        asyncio.run(cluster.start())

    assert str(error.value) == (
        "kind cannot create the cluster: failed to create cluster: could not find a log line "
        f"(see {tmp_path}/logs/kind.log).{advice}"
    )
    assert (tmp_path / "logs" / "kind.log").is_file()
    assert list((state / "clusters").glob("[!.]*")) == []
    assert tools.asked[-1].startswith("docker network rm hintbound-run-")


@pytest.mark.usefixtures("tools", "state")
@pytest.mark.parametrize("slow", [False, True])
def test_a_log_that_goes_with_the_cluster_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    (tmp_path / "pytest_kind.py").write_text("import time\ntime.sleep(60)\n" if slow else _FAILS)
    (tmp_path / "limit").write_text("8192\n")
    monkeypatch.setattr(nodes, "_INOTIFY", tmp_path / "limit")
    if slow:
        monkeypatch.setattr(nodes, "_CREATED_WITHIN", 0.2)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    cluster = KindCluster(parse(f"kind:{config(tmp_path)}"))
    cluster.resolve()

    with pytest.raises(CannotStart) as error:
        asyncio.run(cluster.start())

    what = "kind has not created the cluster within 0.2 s" if slow else "could not find a log line"
    assert str(error.value).endswith(f"{what}. `hintbound run` with this cluster keeps all that kind says.")
