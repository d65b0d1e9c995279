"""Where programs come from, first hit wins: HINTBOUND_ASSETS, the cache, the official release, a build."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hintbound.assets import build, cache, download, given, pins, proof, source, toolchain
from hintbound.assets.manifest import Made
from hintbound.assets.pins import CONTROL_PLANE, DEFAULT_VERSION, Pin
from hintbound.assets.progress import Show, for_stderr
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind


@dataclass(frozen=True, slots=True)
class Binaries(Mapping[ComponentKind, Path]):
    """Programs of one Kubernetes version, ready to run. `version` is what they report, without the v."""

    version: str
    paths: Mapping[ComponentKind, Path]

    def __getitem__(self, kind: ComponentKind) -> Path:
        return self.paths[kind]

    def __iter__(self) -> Iterator[ComponentKind]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def binaries(
    version: str = DEFAULT_VERSION, *, checkout: Path | str | None = None, show: Show | None = None
) -> Binaries:
    """All that a cluster runs: the control plane of `version` (or of a Kubernetes checkout), etcd, KWOK."""
    show = show or for_stderr()
    plane = from_source(checkout, show=show)[1] if checkout else control_plane(version, show=show)
    others = {ComponentKind.ETCD: etcd(show=show), ComponentKind.KWOK: kwok(show=show)}
    return Binaries(plane.version, {**plane.paths, **others})


def control_plane(version: str = DEFAULT_VERSION, *, show: Show | None = None) -> Binaries:
    """kube-apiserver, kube-controller-manager and kube-scheduler of `1.35.4`, `1.35` or `latest`.

    Downloads or builds what is missing, which takes minutes. Raises CannotStart.
    """
    exact = pins.resolve_version(version)
    own = given.control_plane(exact, CONTROL_PLANE)
    if own is not None:
        return Binaries(exact, {kind: own[kind] for kind in CONTROL_PLANE})
    entry = _pinned(pins.kubernetes(exact), show or for_stderr())
    return Binaries(exact, {kind: entry.file(kind) for kind in CONTROL_PLANE})


def at_hand(version: str) -> Binaries | None:
    """The control plane of an exact version if HINTBOUND_ASSETS or the cache has it; gets nothing.

    Raises CannotStart about what is there but not to be used.
    """
    own = given.control_plane(version, CONTROL_PLANE)
    if own is None and version in pins.versions():
        path = cache.root() / key(pins.kubernetes(version)).folder
        cache.keep(path)
        entry = cache.look(path)
        own = {kind: entry.file(kind) for kind in CONTROL_PLANE} if entry and not entry.problem else None
    return None if own is None else Binaries(version, {kind: own[kind] for kind in CONTROL_PLANE})


def faulty_scheduler(version: str, *, show: Show | None = None) -> Path:
    """The kube-scheduler of an exact version that fails where a pod tells it to; built if it is missing.

    Raises CannotStart.
    """
    own = given.of_version(version, pins.FAULTY_SCHEDULER)
    if own is not None:
        return own
    if version not in pins.versions():
        raise CannotStart(
            f"{pins.FAULTY_SCHEDULER} {version} cannot be built: that version is not pinned.",
            next_step=f"Pin it (`hintbound assets pin {version}`), or put the program into HINTBOUND_ASSETS.",
        )
    return _pinned(pins.faulty_scheduler(version), show or for_stderr()).file(pins.FAULTY_SCHEDULER)


def etcd(*, show: Show | None = None) -> Path:
    """The etcd program. Raises CannotStart."""
    return _program(pins.etcd, "etcd", show)


def kwok(*, show: Show | None = None) -> Path:
    """The KWOK controller. Raises CannotStart."""
    return _program(pins.kwok, "kwok", show)


def kwokctl(*, show: Show | None = None) -> Path:
    """KWOK's own cluster tool, of the same release: the benchmarks' yardstick. Raises CannotStart."""
    return _program(pins.kwokctl, "kwok", show)


def kind(*, show: Show | None = None) -> Path:
    """The kind program: of HINTBOUND_ASSETS, else of PATH, else the pinned one. Raises CannotStart."""
    own = given.program("kind", folder_name="kind") or shutil.which("kind")
    return Path(own) if own else _program(pins.kind, "kind", show)


def node(version: str = DEFAULT_VERSION, *, show: Show | None = None) -> Mapping[str, Path]:
    """kubelet, kubeadm and kubectl of `1.35.4`, `1.35` or `latest`, for a node image. Raises CannotStart."""
    exact = pins.resolve_version(version)
    own = given.beside_control_plane(exact, pins.NODE)
    if own is not None:
        return own
    entry = _pinned(pins.node(exact), show or for_stderr())
    return {name: entry.file(name) for name in pins.NODE}


def control_plane_and_node(
    version: str = DEFAULT_VERSION, *, show: Show | None = None
) -> tuple[Binaries, Mapping[str, Path]]:
    """As `control_plane` and `node`; where both are built, by one Go build, which is much quicker than two.

    Raises CannotStart.
    """
    show, exact = show or for_stderr(), pins.resolve_version(version)
    brought = given.control_plane(exact, CONTROL_PLANE) or given.beside_control_plane(exact, pins.NODE)
    if not brought:
        plane = pins.kubernetes(exact)
        cache.obtain(key(plane), lambda folder: _make_with_node(plane, pins.node(exact), folder, show), show)
    return control_plane(exact, show=show), node(exact, show=show)


def from_source(folder: Path | str, *, show: Show | None = None) -> tuple[str, Binaries]:
    """Version and programs of a Kubernetes checkout, built once per content of it. Raises CannotStart."""
    version, paths = source.control_plane(Path(folder), show or for_stderr())
    return version, Binaries(version, paths)


def pinned_version(kind: ComponentKind) -> str:
    """The version of etcd or KWOK that `etcd()` and `kwok()` give. Raises CannotStart."""
    pin = {ComponentKind.ETCD: pins.etcd, ComponentKind.KWOK: pins.kwok}[kind]
    own = given.program(kind, folder_name=kind)
    return proof.reported_version(own) if own else pin().version


def key(pin: Pin) -> cache.Key:
    """Where the cache keeps what a pin becomes."""
    return cache.Key(pin.name, pin.version, pin.build, pin.title)


def _program(pin: Callable[[], Pin], folder_name: str, show: Show | None) -> Path:
    own = given.program(pin.__name__, folder_name=folder_name)
    return own or _pinned(pin(), show or for_stderr()).file(pin.__name__)


def _pinned(pin: Pin, show: Show) -> cache.Entry:
    return cache.obtain(key(pin), lambda folder: _make(pin, folder, show), show)


def _make_with_node(plane: Pin, node: Pin, folder: Path, show: Show) -> Made:
    """Make a control plane; what its node lacks is made in the same go, an entry of its own."""
    made: list[Made] = []

    def make_node(folder_of_node: Path) -> Made:
        both = replace(plane, programs={**plane.programs, **node.programs})
        made.append(_make(both, folder, show))
        for name in node.programs:
            (folder / name).rename(folder_of_node / name)
        return made[0]

    cache.obtain(key(node), make_node, show)
    return made[0] if made else _make(plane, folder, show)


def _make(pin: Pin, folder: Path, show: Show) -> Made:
    made = _download(pin, folder, show) if pin.is_kubernetes else "no official download"
    if isinstance(made, str):
        made = _build(pin, folder, show, instead_of=made)
    try:
        said = proof.reported_versions({name: folder / name for name in pin.programs})
    except proof.NotRunnableError as error:
        raise CannotStart(
            f"{pin.title} does not run on this machine: {error}.",
            next_step="Set HINTBOUND_CACHE to a folder whose disk is not mounted `noexec`.",
        ) from error
    wrong = {name: version for name, version in said.items() if version.partition("+")[0] != pin.version}
    if wrong:
        name, version = next(iter(wrong.items()))
        raise CannotStart(
            f"{made.origin} gave {name} {version} instead of {pin.version}.", next_step="Use another mirror."
        )
    return made


def _download(pin: Pin, folder: Path, show: Show) -> Made | str:
    """What was downloaded, or why nothing could be."""
    try:
        return Made(source="download", origin=download.release(pin.version, pin.programs, folder, show))
    except download.UnavailableError as error:
        for name in pin.programs:
            (folder / name).unlink(missing_ok=True)
        return str(error)


def _build(pin: Pin, folder: Path, show: Show, *, instead_of: str) -> Made:
    try:
        tools = toolchain.find(pin.go, show)
    except CannotStart as error:
        raise CannotStart(
            f"{pin.title} can be neither downloaded ({instead_of}) nor built: {error.message}",
            next_step=f"{error.next_step} Or set HINTBOUND_ASSETS to a folder with the binaries.",
        ) from error
    if pin.is_kubernetes:
        show.say(f"{instead_of}; {pin.title} is built from source, which takes some minutes")
    return build.pin(pin, folder, tools, show)
