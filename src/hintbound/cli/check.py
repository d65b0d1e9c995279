"""`hintbound check`: whether records, of runs or of real clusters, keep to every sentence of the checks."""

from __future__ import annotations

import gc
import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hintbound.errors import CannotStart
from hintbound.protocol import EXIT_CODES, SCHEDULER_USER, ComponentKind, ExitCode, Seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from hintbound.checks.model import Context

_SHORT: Seconds = 2.0


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...", required=True)
@click.option("--checks", "names", metavar="NAME,...", help="Only these checks, or families of them.")
@click.option("--since", metavar="TIME", help="Only what was answered from this time on (RFC 3339).")
@click.option("--until", metavar="TIME", help="Only what was answered before this time (RFC 3339).")
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only this namespace; repeatable."
)
@click.option(
    "--scheduler-user",
    "schedulers",
    multiple=True,
    metavar="USER",
    help=f"Who schedules; repeatable. [default: {SCHEDULER_USER}]",
)
@click.option("--nominator-user", "nominators", multiple=True, metavar="USER", help="Who hints; repeatable.")
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="NAME=BOOL",
    help="A gate of the apiservers, which an audit log does not tell; repeatable.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    paths: tuple[str, ...],
    names: str | None,
    since: str | None,
    until: str | None,
    namespaces: tuple[str, ...],
    schedulers: tuple[str, ...],
    nominators: tuple[str, ...],
    gates: tuple[str, ...],
    form: str,
) -> int:
    """Judge what was recorded: the folders of runs, or audit logs of kube-apiserver.

    PATH is a run's folder or one of several, an audit log (JSON lines or EventLists, also .gz and .zst), a
    folder of rotated ones in any order, or - for stdin. A violation exits with 1. A check that cannot tell,
    because the audit level is too low, something is missing or nothing of the kind happened, says so and
    exits with 2.
    """
    from hintbound.checks import judging, logs, pool, records
    from hintbound.checks.model import Context
    from hintbound.history.audit_found import Wanted
    from hintbound.report import checked

    checks = judging.chosen(None if names is None else [n.strip() for n in names.split(",") if n.strip()])
    for option, given in (
        ("PATH", paths),
        ("--namespace", namespaces),
        ("--scheduler-user", schedulers),
        ("--nominator-user", nominators),
    ):
        if "" in given:
            raise CannotStart(f"{option} is empty.", next_step="Was a variable of your shell not set?")
    wanted = Wanted(_moment(since, "--since"), _moment(until, "--until"), frozenset(namespaces))
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise CannotStart(
            f"--since {since} is not before --until {until}.", next_step="Then nothing is left to judge."
        )
    context = Context(
        behaviour="",
        namespace="",
        cluster="",
        gates={ComponentKind.APISERVER: dict(map(_gate, gates))},
        schedulers=frozenset(schedulers) or frozenset({SCHEDULER_USER}),
        nominators=frozenset(nominators),
    )
    intake = records.Intake()
    tallies = {check.name: judging.Tally(check) for check in checks}
    runs, found = _sorted(paths)
    with _uncollected():
        for run in runs:
            for part in records.run_parts(run, _of_run(run, context), wanted, intake):
                for check in checks:
                    tallies[check.name].add(judging.tally(check, part.lives, part.context))
    if found:
        with _ended_in_order(), _progress() as progress:
            try:
                judged = logs.judge(found, checks, context, wanted, intake, progress=progress)
            except pool.WorkerDied as error:
                click.echo(f"hintbound: {error}", err=True)
                return ExitCode.INTERNAL
        for tally in judged:
            tallies[tally.check.name].add(tally)
    for one in tallies.values():
        one.unknowns.update(intake.missing)
    done = list(tallies.values())
    if form == "json":
        click.echo(json.dumps(checked.as_json(done, intake), indent=1))
    else:
        for line in checked.as_text(done, intake):
            click.echo(line)
    return EXIT_CODES[checked.verdict(done)]


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is read is kept until it is judged and has no cycles: to look for some again and again takes
    longer than all the rest."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM, by which CI systems end a job, and a closed terminal do the same as Ctrl-C: what lies in the
    temporary folder goes. Of several only the first is heard."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = {n: signal.getsignal(n) for n in numbers}

    def heard(_number: int, _frame: FrameType | None) -> None:
        """Not SIG_IGN: Python complains of a signal that came before that and is looked at after it."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, heard)
        raise KeyboardInterrupt

    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Shows on stderr how far long work is; of short work nothing.

    It begins with the first news: by then all processes are there, and a thread that draws does no harm.
    """
    from hintbound.assets.progress import Task, for_stderr

    begin = time.monotonic()
    with ExitStack() as shown:
        task: list[Task] = []

        def tell(what: str, done: int, of: int) -> None:
            if not task and time.monotonic() - begin > _SHORT:
                task.append(shown.enter_context(for_stderr().task("judging audit logs")))
            if task and what == "reading":
                task[0].amount(done, of or None)
            elif task:
                task[0].note(f"{what} {done} of {of}")

        yield tell


def _sorted(paths: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """The histories of runs among the paths, and the audit logs. Raises CannotStart."""
    from hintbound.checks import records
    from hintbound.history import audit_files

    runs: dict[Path, None] = {}
    logs: list[str] = []
    for path in paths:
        found = records.histories(Path(path)) if path != audit_files.STDIN else []
        runs.update((history, None) for history in found)
        if not found:
            logs.append(path)
    return list(runs), audit_files.files(logs)


def _of_run(history: Path, context: Context) -> Callable[[str, str], Context]:
    """The context of each scenario of a run, by its run.json; without one no gate is known.

    Of a kind of which a scenario had components of its own nothing is known: theirs may differ.
    """
    from dataclasses import replace

    from hintbound.checks import records
    from hintbound.report import run_json

    run = run_json.read(history.parent) if (history.parent / run_json.FILE).exists() else None
    known = {
        (cluster.name, ComponentKind(kind)): [c for c in cluster.components if c.kind == kind]
        for cluster in (run.clusters if run else ())
        for kind in {component.kind for component in cluster.components}
    }
    own = {
        (outcome.behaviour, kind)
        for outcome in (run.outcomes if run else ())
        for kind in ComponentKind
        if any(name.startswith(kind) for name in outcome.own_components)
    }

    def about(cluster: str, behaviour: str) -> Context:
        theirs = {k: v for (of, k), v in known.items() if of == cluster and (behaviour, k) not in own}
        gates = {kind: _agreed([c.gates for c in components]) for kind, components in theirs.items()}
        for kind, said in context.gates.items():
            gates[kind] = {**gates.get(kind, {}), **said}
        versions = {kind: components[0].version for kind, components in theirs.items()}
        scenario = records.in_run(context, behaviour=behaviour, cluster=cluster)
        return replace(scenario, gates=gates, versions=versions)

    return about


def _agreed(all_of: Sequence[Mapping[str, bool] | None]) -> dict[str, bool]:
    """The gates that several components of a kind tell alike."""
    first, *others = [gates or {} for gates in all_of]
    return {name: on for name, on in first.items() if all(other.get(name) == on for other in others)}


def _moment(text: str | None, option: str) -> str:
    """A time as the apiserver writes it. Raises CannotStart."""
    from hintbound.history.events import timestamp

    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise CannotStart(
            f"{option} {text!r} is no time.", next_step="Write RFC 3339, e.g. 2026-11-30T09:00:00Z."
        ) from None


def _gate(text: str) -> tuple[str, bool]:
    name, _, value = text.partition("=")
    if not name or value.lower() not in ("true", "false"):
        raise CannotStart(f"--gate {text!r} is none.", next_step="Write NAME=true or NAME=false.")
    return name, value.lower() == "true"
