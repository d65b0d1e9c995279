"""`hintbound cluster`: embedded and kind clusters for a person to use with kubectl."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from hintbound.errors import CannotStart

if TYPE_CHECKING:
    from hintbound.clusters.embedded.cluster import EmbeddedCluster
    from hintbound.clusters.kind.cluster import KindCluster


@click.group()
def command() -> None:
    """Bring embedded and kind clusters up and down: etcd, apiserver, scheduler, controller-manager, KWOK."""


@command.command()
@click.argument("spec", default="embedded")
@click.option("--name", default="default", show_default=True, help="What the other commands call it.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The apiserver's port.  [default: any free one]"
)
def up(spec: str, name: str, port: int) -> None:
    """Start a control plane that stays until `down`. SPEC as in `hintbound run --cluster`."""
    from hintbound.clusters import parse
    from hintbound.clusters.embedded.cluster import EmbeddedCluster
    from hintbound.clusters.embedded.options import Options
    from hintbound.clusters.kind.cluster import KindCluster

    parsed = parse(spec)
    if parsed.is_there or parsed.provider not in ("embedded", "kind"):
        raise CannotStart(
            f"{spec!r} is no cluster to bring up.", next_step="Name embedded[:VERSION] or kind:CONFIG.yaml."
        )
    if port and parsed.provider == "kind":
        raise CannotStart(
            "--port is for embedded clusters.", next_step="Set networking.apiServerPort in the kind config."
        )
    maker = KindCluster if parsed.provider == "kind" else EmbeddedCluster
    cluster = maker(parsed, Options(folder_name=name, apiserver_port=port))
    cluster.resolve()
    try:
        kubeconfig = asyncio.run(_up(cluster))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    click.echo(f"{name}: {cluster.spec} is up.")
    click.echo(f"export KUBECONFIG={shlex.quote(str(kubeconfig))}")
    click.echo(f"hintbound cluster down {name}    # when you are done")


async def _up(cluster: EmbeddedCluster | KindCluster) -> Path:
    """Its processes are in a group of their own: a Ctrl-C reaches only us, and we end them."""
    _cancel_once(signal.SIGINT, signal.SIGTERM)
    await cluster.start()
    try:
        kubeconfig = cluster.kubeconfig()
        await cluster.leave()
    except BaseException:
        await cluster.close()
        raise
    return kubeconfig


def _cancel_once(*signals: signal.Signals) -> None:
    """The first of these cancels the current task; whoever is impatient disturbs neither the clean-up nor,
    once the loop is closed, the exit code."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in signals:
            signal.signal(number, heard)
        loop.call_soon_threadsafe(task.cancel)

    def heard(_number: int, _frame: FrameType | None) -> None:
        """Not SIG_IGN: Python complains of a signal that came before that and is looked at after it."""

    for number in signals:
        signal.signal(number, interrupt)


@command.command()
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="All that were brought up to stay.")
def down(name: str | None, every: bool) -> None:
    """End a control plane and remove its folder. NAME may be left out when only one is up."""
    from hintbound.clusters import registry

    if every:
        found = [(folder, entry) for folder, entry in registry.entries() if entry and entry.owner is None]
    else:
        found = [registry.find(name)]
    for folder, entry in found:
        if entry.owner and entry.owned:
            raise CannotStart(
                f"{entry.name} belongs to a hintbound that runs (pid {entry.owner.pid}).",
                next_step="End that one.",
            )
        registry.end(folder, entry)
        click.echo(f"{entry.name} is down.")
    if not found:
        click.echo("no cluster is up.")


@command.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_(form: str) -> None:
    """Every cluster of ours on this machine, those of runs included."""
    from hintbound.clusters import registry

    rows = [
        {
            "name": entry.name,
            "spec": entry.spec,
            "server": entry.server,
            "alive": entry.alive,
            "owner": entry.owner.pid if entry.owner else None,
            "processes": {name: process.pid for name, process in entry.processes.items() if process.runs},
            "nodes": list(entry.nodes),
        }
        for _, entry in registry.entries()
        if entry
    ]
    if form == "json":
        click.echo(json.dumps(rows))
        return
    for row in rows:
        state = "up" if row["alive"] else "dead (see `hintbound cluster prune`)"
        owner = f", of the run with pid {row['owner']}" if row["owner"] else ""
        server = row["server"] or "(starting)"
        click.echo(f"{row['name']:<20} {row['spec']:<40} {server}  {state}{owner}")
    if not rows:
        click.echo("no cluster is up.")


@command.command()
@click.argument("name", required=False)
def kubeconfig(name: str | None) -> None:
    """Print the path of the admin's kubeconfig: export KUBECONFIG=$(hintbound cluster kubeconfig)."""
    from hintbound.clusters import registry
    from hintbound.clusters.embedded.credentials import kubeconfig_path
    from hintbound.protocol import Actor

    folder, entry = registry.find(name)
    path = kubeconfig_path(folder, Actor.ADMIN)
    if not path.is_file():
        raise CannotStart(
            f"{entry.name} ({entry.spec}) has no kubeconfig.", next_step="See `hintbound cluster list`."
        )
    click.echo(path)


@command.command()
def prune() -> None:
    """Remove what killed runs left behind: nodes, and folders of control planes of which nothing runs."""
    from hintbound.clusters import registry

    removed = registry.prune()
    for name in removed:
        click.echo(f"removed {name}")
    stay = [entry.name for _, entry in registry.entries() if entry and not entry.alive]
    for name in stay:
        click.echo(f"{name} stays, for its nodes cannot be reached: see whether docker runs.")
    if not removed and not stay:
        click.echo("nothing to prune.")
