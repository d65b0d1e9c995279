"""`hintbound assets`: the real Kubernetes programs on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hintbound.errors import one_of
from hintbound.protocol import ExitCode

if TYPE_CHECKING:
    from hintbound.assets.cache import Entry
    from hintbound.assets.progress import Show

_SINGLE = ("etcd", "kwok", "kwokctl", "kind")
_COLUMNS = ("name", "version", "state", "size", "origin", "time")


@click.group(name="assets")
def command() -> None:
    """Get, show and remove the Kubernetes programs that clusters run."""


@command.command(name="list")
@click.option(
    "--verify", is_flag=True, help="Read every file and compare its sha256; damage ends with exit code 1."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_assets(*, verify: bool, form: str) -> int:
    """Show what is in the cache, and which pinned versions are not."""
    from hintbound.assets import cache, pins
    from hintbound.assets.resolve import key

    entries = list(cache.entries(thoroughly=verify))
    there = {entry.path.name for entry in entries}
    rows = [_row(entry) for entry in entries]
    rows += [
        {"name": pin.name, "version": pin.version, "state": "not fetched"}
        for pin in pins.everything()
        if key(pin).folder not in there
    ]
    if form == "json":
        click.echo(json.dumps({"cache": str(cache.root()), "assets": rows}, indent=2))
    else:
        _print_table(rows)
        click.echo(f"\nin {cache.root()}: {_megabytes(sum(row.get('size', 0) for row in rows))}")
    return ExitCode.FAIL if any(entry.problem for entry in entries) else ExitCode.PASS


@command.command()
@click.argument("what", nargs=-1, metavar="[VERSION|etcd|kwok|kwokctl|kind]...")
@click.option(
    "--faulty-scheduler", is_flag=True, help="With each VERSION its scheduler that fails on demand."
)
@click.option(
    "--node", is_flag=True, help="With each VERSION kubelet, kubeadm and kubectl: for a node image."
)
def fetch(what: tuple[str, ...], *, faulty_scheduler: bool, node: bool) -> None:
    """Get programs into the cache and print where they are.

    Without arguments: all that the default cluster needs. A run of `--profile all` also wants what
    --faulty-scheduler gets, and builds it by itself where it can; a kind cluster also wants kind.
    """
    from hintbound import assets
    from hintbound.assets import DEFAULT_VERSION
    from hintbound.assets.progress import for_stderr

    show = for_stderr()
    names = [_known(name) for name in what or (DEFAULT_VERSION, "etcd", "kwok")]
    for name in names:
        for path in _get(name, show, node=node).values():
            click.echo(path)
        if faulty_scheduler and name not in _SINGLE:
            click.echo(assets.faulty_scheduler(name, show=show))


@command.command()
@click.argument("version", metavar="VERSION|etcd|kwok|kwokctl|kind")
@click.argument("name", required=False)
def path(version: str, name: str | None) -> None:
    """Print the folder of a version's programs, or the path of the one called NAME; gets what is missing."""
    from hintbound import assets
    from hintbound.assets.pins import NODE
    from hintbound.assets.progress import for_stderr

    known, show = _known(version), for_stderr()
    of_node = name in NODE and known not in _SINGLE
    programs = dict(assets.node(known, show=show)) if of_node else _get(known, show)
    if name is None and version not in _SINGLE:
        click.echo(next(iter(programs.values())).parent)
    elif name is None or name in programs:
        click.echo(programs[name or version])
    else:
        raise one_of(f"program of {version}", name, sorted(programs))


@command.command()
@click.option("--all", "everything", is_flag=True, help="Remove everything that is not in use.")
@click.option(
    "--keep", multiple=True, metavar="VERSION", help="Remove all Kubernetes versions but this; repeatable."
)
def prune(*, everything: bool, keep: tuple[str, ...]) -> None:
    """Free disk space: remove what no pin wants any more, old builds of checkouts and our Go's own caches.

    Never removes what is in use: what a running hintbound was given, or what a program runs from.
    """
    from hintbound.assets import prune as pruning
    from hintbound.assets import resolve_version

    if everything and keep:
        raise click.UsageError("--all and --keep exclude each other.")
    freed = 0
    for pruned in pruning.prune(everything=everything, keep={resolve_version(version) for version in keep}):
        freed += pruned.freed
        outcome = f"kept: {pruned.kept}" if pruned.kept else f"freed {_megabytes(pruned.freed)}"
        click.echo(f"{pruned.path.name}: {outcome}")
    click.echo(f"freed {_megabytes(freed)} in all")


@command.command()
@click.argument("version")
@click.option(
    "--into", type=click.Path(path_type=Path), help="Write DIR/VERSION instead of the checkout's pin."
)
def pin(version: str, into: Path | None) -> None:
    """Add the pin of one more Kubernetes version to `controlplane/`; needs the network."""
    from hintbound.assets import pinning
    from hintbound.assets.progress import for_stderr

    click.echo(pinning.pin(version, into, for_stderr()))


def _known(name: str) -> str:
    """The name itself, or the exact version it means: wrong input is told before anything is fetched."""
    from hintbound.assets import resolve_version

    return name if name in _SINGLE else resolve_version(name)


def _get(name: str, show: Show, *, node: bool = False) -> dict[str, Path]:
    from hintbound import assets

    single = {"etcd": assets.etcd, "kwok": assets.kwok, "kwokctl": assets.kwokctl, "kind": assets.kind}
    if name in single:
        return {name: single[name](show=show)}
    if not node:
        return {str(kind): path for kind, path in assets.control_plane(name, show=show).items()}
    plane, others = assets.control_plane_and_node(name, show=show)
    return {**{str(kind): path for kind, path in plane.items()}, **others}


def _row(entry: Entry) -> dict[str, Any]:
    manifest = entry.manifest
    state = f"damaged: {entry.problem}" if entry.problem else "ready"
    if manifest is None:
        return {"name": entry.path.name, "version": "", "state": state, "path": str(entry.path)}
    return {
        "name": manifest.name,
        "version": manifest.version,
        "state": state,
        "size": manifest.size,
        "source": manifest.made.source,
        "origin": manifest.made.origin,
        "go": manifest.made.go,
        "platform": manifest.platform,
        "time": manifest.time,
        "path": str(entry.path),
    }


def _print_table(rows: Iterable[dict[str, Any]]) -> None:
    table = [[column.upper() for column in _COLUMNS]]
    for row in rows:
        shown = row | ({"size": _megabytes(row["size"])} if "size" in row else {})
        table.append([str(shown.get(column, "")) for column in _COLUMNS])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
