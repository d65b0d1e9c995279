"""`hintbound proxy`: stands between you, or what you start, and an apiserver, and does what rules say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hintbound.errors import CannotStart, cause
from hintbound.protocol import ExitCode

if TYPE_CHECKING:
    from hintbound.history import Store
    from hintbound.kube import Connection
    from hintbound.proxy import Book, Rule


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="Whose apiserver, and as whom.  [default: as kubectl finds it]",
)
@click.option("--context", help="A context in it.  [default: its current one]")
@click.option("--rules", "file", type=click.Path(path_type=Path), help="A file of rules; see docs/proxy.md.")
@click.option("--actor", default="client", show_default=True, help="What rules call who asks.")
@click.option(
    "--kubeconfig-out",
    "out",
    type=click.Path(path_type=Path),
    help="Where the kubeconfig to use is written.  [default: a temporary file]",
)
@click.option(
    "--record", type=click.Path(path_type=Path), help="Write what passes as a history to this new file."
)
@click.option("--insecure-upstream", is_flag=True, help="Take any certificate from the apiserver.")
def command(
    kubeconfig: Path | None,
    context: str | None,
    file: Path | None,
    actor: str,
    out: Path | None,
    record: Path | None,
    insecure_upstream: bool,
) -> int:
    """Serve a fault proxy until Ctrl-C, then show how often each rule bit.

    Whoever uses the kubeconfig that it prints (kubectl, a controller, a scheduler) asks the apiserver through
    it, as the user of --kubeconfig, and only as long as it runs.
    """
    from hintbound import proxy
    from hintbound.kube import Connection

    rules = proxy.read(file, actors=[actor]) if file is not None else []
    connection = Connection.from_kubeconfig(kubeconfig, context)
    with (
        _kept(out) as path,
        _history(record) as store,
        asyncio.Runner(loop_factory=_loop_factory()) as runner,
    ):
        book = runner.run(_serve(connection, rules, actor, path, store, verify=not insecure_upstream))
    _show(book)
    return ExitCode.PASS


async def _serve(
    connection: Connection, rules: list[Rule], actor: str, path: Path, store: Store | None, *, verify: bool
) -> Book:
    from hintbound.history import ProxyRecorder
    from hintbound.proxy import FaultProxy
    from hintbound.proxy.admin import Admin

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    witness = None if store is None else ProxyRecorder(store)
    proxy = FaultProxy(connection, actor=actor, rules=rules, witness=witness, verify=verify)
    async with proxy, Admin(proxy.book) as admin:
        _write(path, proxy.kubeconfig())
        click.echo(f"export KUBECONFIG={path}")
        click.echo(f"rules: {admin.url}/rules", err=True)
        click.echo(f"{len(rules)} rules are in force; Ctrl-C ends it.", err=True)
        await ended.wait()
    return proxy.book


def _show(book: Book) -> None:
    for tally in book:
        line = f"{tally.rule.name}: {tally.hits.total()} hits"
        if unread := tally.unreadable.total():
            line += f", {unread} not judged, for they were not JSON"
        click.echo(line)


@contextlib.contextmanager
def _kept(out: Path | None) -> Iterator[Path]:
    """Where the kubeconfig goes; one that nobody named is gone in the end."""
    if out is not None:
        yield out.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="hintbound-proxy-") as folder:
        yield Path(folder) / "kubeconfig.yaml"


@contextlib.contextmanager
def _history(record: Path | None) -> Iterator[Store | None]:
    from hintbound.history import Store

    if record is None:
        yield None
        return
    with Store(record) as store:
        yield store


def _write(path: Path, text: str) -> None:
    """Readable by us alone: it holds a token. Raises CannotStart."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
    except OSError as error:
        raise CannotStart(
            f"{path} cannot be written: {cause(error)}.", next_step="Name another file."
        ) from error


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed: it is quicker, and nothing needs it."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
