"""`hintbound run`: judge a cluster by the suites and leave a report."""

from __future__ import annotations

from pathlib import Path

import click

from hintbound.errors import CannotStart
from hintbound.protocol import ExitCode


@click.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--cluster",
    metavar="SPEC",
    default="embedded",
    show_default=True,
    help="embedded[:VERSION][,Gate=true|false...][,emulate=1.34], embedded:src=DIR, kind:CONFIG.yaml"
    "[,image=TAG], kind:cluster=NAME, or existing:CONTEXT",
)
@click.option(
    "--subject",
    type=click.Path(path_type=Path),
    help="A vendor's scheduler: its subject.yaml, or its folder.",
)
@click.option(
    "--profile",
    metavar="core|extended|all|regressions",
    help="Which behaviours.  [default: core; regressions where PATHS are in suites/regressions]",
)
@click.option("--behaviour", "behaviours", multiple=True, metavar="ID", help="Only this; may be repeated.")
@click.option("--jobs", type=click.IntRange(1, 64), help="How many scenarios run at once.")
@click.option("--reports", type=click.Path(path_type=Path), help="Where the run's folder is made.")
@click.option(
    "--xfails", metavar="FILE", help="Failures that are expected: shown, but they do not fail the run."
)
@click.option("--seed", type=int, help="Of what scenarios leave to chance.  [default: drawn, and reported]")
@click.option("--mutant", metavar="NAME", help="Break the control plane on purpose, to see what notices.")
@click.option("--keep", is_flag=True, help="Leave the control planes running; see `hintbound cluster`.")
@click.option("--verbose", "-v", is_flag=True, help="Show pytest's own output, with tracebacks.")
def command(
    paths: tuple[str, ...],
    cluster: str,
    subject: Path | None,
    profile: str | None,
    behaviours: tuple[str, ...],
    jobs: int | None,
    reports: Path | None,
    xfails: str | None,
    seed: int | None,
    mutant: str | None,
    keep: bool,
    verbose: bool,
) -> int:
    """Judge a cluster, or a vendor's scheduler on it: PATHS are suites (a folder, a file, file::test), by
    default all of hintbound's own, or those that are about the subject."""
    import pytest

    from hintbound import subjects
    from hintbound.plugin import catalogue, silence
    from hintbound.plugin.calling import call_pytest
    from hintbound.plugin.console import RunConsole

    arguments = [f"--hintbound-cluster={cluster}", "--capture=no"]
    arguments += [f"--hintbound-profile={profile}"] if profile is not None else []
    arguments += [f"--hintbound-behaviour={behaviour}" for behaviour in behaviours]
    if subject:
        whom = subjects.read(subject)
        arguments.append(f"--hintbound-subject={subject}")
        paths = paths or (subjects.SUITES[whom.kind],)
    arguments += [f"--hintbound-jobs={jobs}"] if jobs else []
    arguments += [f"--hintbound-reports={reports}"] if reports else []
    arguments += [f"--hintbound-xfails={xfails}"] if xfails is not None else []
    arguments += [f"--hintbound-seed={seed}"] if seed is not None else []
    arguments += [f"--hintbound-mutant={mutant}"] if mutant is not None else []
    arguments += ["--hintbound-keep"] if keep else []
    arguments += ["-v", "-rA"] if verbose else []
    console = RunConsole()
    try:
        reporter = [] if verbose else [silence]
        code = call_pytest([*arguments, *catalogue.arguments(paths)], console, *reporter)
    finally:
        console.close()
    if console.finished:
        return code
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise CannotStart(
            f"nothing to judge: no behaviour of profile {profile or 'core'!r} there.",
            next_step="Try --profile all, or regressions for public bugs.",
        )
    ends = {
        pytest.ExitCode.INTERRUPTED: ExitCode.INTERRUPTED,
        pytest.ExitCode.INTERNAL_ERROR: ExitCode.INTERNAL,
    }
    return next((ours for theirs, ours in ends.items() if code == theirs), code)
