"""`tools/kind-node/image`, with stand-ins for docker, mmdebstrap, Go and Kubernetes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from hintbound.assets import cache
from hintbound.errors import CannotStart

TOOL = Path(__file__).parents[2] / "tools/kind-node/image"
VERSION = "1.35.4"
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
KUBEADM = f"""#!/bin/sh
[ "$1" = config ] || {{ echo v{VERSION}; exit; }}
for name in kube-apiserver:v{VERSION} kube-controller-manager:v{VERSION} kube-scheduler:v{VERSION} \\
  kube-proxy:v{VERSION} coredns/coredns:v1.13.1 pause:3.10.1 etcd:3.6.6-0; do echo registry.k8s.io/$name; done
"""
DOCKER = """#!/bin/sh
echo "$*" >>"$FAKES/docker.log"
case $1 in
  version) echo 28 ;;
  image) [ -e "$FAKES/tagged" ] && grep -qx "$5" "$FAKES/tagged" ;;
  import)
    [ ! -e "$FAKES/refuses" ] || { cat "$FAKES/refuses" >&2; exit 1; }
    cat >"$FAKES/image.tar" && echo sha256:abc ;;
  tag) echo "$3" >>"$FAKES/tagged" ;;
esac
"""
GO = """#!/bin/sh
[ "$1" != version ] || { echo go version go1.27.3 linux/amd64; exit; }
while [ "$1" != -o ]; do shift; done
echo linger >"$2"
"""
MMDEBSTRAP = """#!/bin/sh
echo $$ >>"$FAKES/mmdebstrap.pids"
for draft; do case $draft in *.part.tar) break ;; esac; done
[ ! -e "$FAKES/no-network" ] || { echo "E: apt-get update failed"; exit 1; }
echo half >"$draft"
while [ -e "$FAKES/hold" ]; do sleep 0.02; done
mkdir -p "$TMPDIR/root/usr/bin" "$TMPDIR/root/etc" && tar -C "$TMPDIR/root" -cf "$draft" .
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-ins, whose `bin` is first on PATH."""
    scripts = {"docker": DOCKER, "mmdebstrap": MMDEBSTRAP, "go": GO}
    (tmp_path / "bin").mkdir()
    given = tmp_path / "given" / VERSION
    given.mkdir(parents=True)
    said = f"#!/bin/sh\necho Kubernetes v{VERSION}\n"
    files = {tmp_path / "bin" / name: text for name, text in scripts.items()}
    files |= {given / name: said for name in PROGRAMS} | {given / "kubeadm": KUBEADM, given / "etcd": said}
    for path, text in files.items():
        path.write_text(text)
        path.chmod(0o755)
    (given / "etcd").rename(tmp_path / "given/etcd")
    for name, value in {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "FAKES": str(tmp_path),
        "HINTBOUND_ASSETS": str(tmp_path / "given"),
        "HINTBOUND_CACHE": str(tmp_path / "cache"),
        "HINTBOUND_KIND_STATE": str(tmp_path / "state"),
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def tool(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The program as a module, on a machine that runs Debian."""
    loaded = load()
    monkeypatch.setattr(loaded.platform, "freedesktop_os_release", lambda: debian("bookworm"))
    monkeypatch.setattr(cache, "_in_use", held := dict[Path, int | None]())
    yield loaded
    for descriptor in held.values():
        if descriptor is not None:
            os.close(descriptor)


def load() -> ModuleType:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec = spec_from_loader("kind_node_image", SourceFileLoader("kind_node_image", str(TOOL)))
        assert spec is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look their annotations up
        assert spec.loader is not None
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def debian(suite: str) -> dict[str, str]:
    return {"ID": "debian", "VERSION_CODENAME": suite}


def imported(fakes: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fakes / "image.tar") as tar:
        members = tar.getmembers()
    names = [member.name.removeprefix("./") for member in members]
    assert len(names) == len(set(names)), "Docker refuses a path that comes twice"
    return dict(zip(names, members, strict=True))


def content(fakes: Path, name: str) -> bytes:
    with tarfile.open(fakes / "image.tar") as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


def test_the_image_is_a_node_of_its_version(tool: ModuleType, fakes: Path) -> None:
    tag = tool.main("1.35")

    assert tag.startswith(f"hintbound/node:v{VERSION}-")
    members = imported(fakes)
    assert content(fakes, "kind/version") == f"v{VERSION}".encode()
    assert {"usr/bin/kubelet", "usr/bin/kubeadm", "usr/bin/kubectl"} <= members.keys()
    assert members["usr/local/bin/entrypoint"].mode == 0o755
    assert members["etc/systemd/system/getty.target"].linkname == "/dev/null"
    assert b'sandbox_image = "registry.k8s.io/pause:3.10.1"' in content(fakes, "etc/containerd/config.toml")


def test_its_containers_are_images_with_the_names_that_kubeadm_wants(tool: ModuleType, fakes: Path) -> None:
    tool.main(VERSION)

    names, programs = unpacked(content(fakes, "kind/images/control-plane.tar"))
    assert sorted(name.partition(":")[0].rpartition("/")[2] for name in names) == sorted(programs)
    assert set(programs) == {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"}
    names, programs = unpacked(content(fakes, "kind/images/pods.tar"))
    assert names == ["registry.k8s.io/pause:3.10.1", tool.LINGER]
    assert programs == ["linger"]


def unpacked(archive: bytes) -> tuple[list[str], list[str]]:
    """Names and programs of an image."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        (manifest,) = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
        with tarfile.open(fileobj=tar.extractfile(manifest["Layers"][0])) as layer:
            files = [member.name for member in layer.getmembers() if member.isfile()]
    return manifest["RepoTags"], [name.removeprefix("usr/local/bin/") for name in files]


def test_the_same_content_is_built_once(tool: ModuleType, fakes: Path) -> None:
    first, second = tool.main(VERSION), tool.main(VERSION)

    assert first == second
    log = (fakes / "docker.log").read_text().splitlines()
    assert [line.split()[0] for line in log].count("import") == 1
    assert len((fakes / "mmdebstrap.pids").read_text().split()) == 1


def test_other_content_is_another_image(tool: ModuleType, fakes: Path) -> None:
    first = tool.main(VERSION)
    with (fakes / "given" / VERSION / "kubelet").open("a") as file:
        file.write("# changed\n")

    assert tool.main(VERSION) != first


def test_what_docker_refuses_has_no_tag(tool: ModuleType, fakes: Path) -> None:
    (fakes / "refuses").write_text("no space left on device")

    with pytest.raises(CannotStart, match=r"docker cannot import .*: no space left on device"):
        tool.main(VERSION)
    assert not (fakes / "tagged").exists()


def test_packages_that_cannot_be_had_are_told_in_their_own_words(tool: ModuleType, fakes: Path) -> None:
    (fakes / "no-network").touch()

    with pytest.raises(CannotStart, match="the base system cannot be made: E: apt-get update failed"):
        tool.main(VERSION)
    assert not list((fakes / "state").glob("base-*.tar"))


def test_only_debian_can_be_a_node(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool.platform, "freedesktop_os_release", lambda: {"ID": "fedora", "NAME": "Fedora"})

    with pytest.raises(CannotStart, match="this is Fedora") as error:
        tool.main(VERSION)
    assert "stock images" in error.value.next_step


BUILD = """
from tests.kind_node.test_image import debian, load
tool = load()
tool.platform.freedesktop_os_release = lambda: debian("bookworm")
print(tool.main("1.35"))
"""


def begin() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD],
        cwd=TOOL.parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def makers(fakes: Path) -> list[int]:
    file = fakes / "mmdebstrap.pids"
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


def test_a_killed_build_leaves_nothing_that_looks_whole(fakes: Path) -> None:
    (fakes / "hold").touch()
    build = begin()
    while not list((fakes / "state").glob("*.part.tar")):
        assert build.poll() is None, build.communicate()
        time.sleep(0.02)
    build.send_signal(signal.SIGKILL)
    build.communicate()

    (maker,) = makers(fakes)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{maker}/stat").exists() and Path(f"/proc/{maker}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "mmdebstrap outlived its starter"
        time.sleep(0.02)
    assert not [path for path in (fakes / "state").glob("base-*.tar") if ".part" not in path.name]

    (fakes / "hold").unlink()
    again = begin()
    said, complaint = again.communicate(timeout=60)
    assert again.returncode == 0, complaint
    assert said.startswith("hintbound/node:")


def test_two_builds_at_once_build_once(fakes: Path) -> None:
    (fakes / "hold").touch()
    builds = [begin(), begin()]
    while not makers(fakes):
        time.sleep(0.02)
    (fakes / "hold").unlink()
    said = [build.communicate(timeout=60)[0] for build in builds]

    assert [build.returncode for build in builds] == [0, 0]
    assert said[0] == said[1]
    assert len(makers(fakes)) == 1
    assert (fakes / "docker.log").read_text().count("import") == 1


@pytest.mark.parametrize(
    ("arguments", "without", "words"),
    [
        (["1.99"], "", "unknown Kubernetes version '1.99'"),
        (["1.35", "more"], "", "image [VERSION]"),
        ([], "docker", "docker is not on PATH. Install Docker"),
    ],
)
def test_bad_input_is_one_line_and_254(fakes: Path, arguments: list[str], without: str, words: str) -> None:
    environment = dict(os.environ)
    if without:
        environment["PATH"] = str(fakes / "nothing")
    done = subprocess.run(
        [sys.executable, TOOL, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    (complaint,) = done.stderr.splitlines()
    assert done.returncode == 254
    assert words in complaint


def test_a_python_without_hintbound_is_told_what_to_call(fakes: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-IS", TOOL], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    (complaint,) = done.stderr.splitlines()
    assert done.returncode == 254
    assert complaint.endswith("has no module hintbound. Call it by `make kind-image`.")
