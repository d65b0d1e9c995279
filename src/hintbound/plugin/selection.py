"""Which tests of a collection are behaviours, and which of them this run judges."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hintbound import data, mutants, subjects
from hintbound.checks import judging
from hintbound.clusters import spec
from hintbound.errors import CannotStart, one_of
from hintbound.extensions import Group, installed, named
from hintbound.plugin import catalogue, injected
from hintbound.plugin.behaviours import Behaviour, behaviour_of
from hintbound.plugin.engine import Scenario
from hintbound.plugin.expected import Expected, load
from hintbound.plugin.session import Item, Settings
from hintbound.plugin.suites import as_named, asked
from hintbound.protocol import Profile
from hintbound.subjects import Subject

DEFAULT_CLUSTER = "embedded"
DEFAULT_JOBS = 8
DEFAULT_REPORTS = Path("reports")
_OURS = "suites"
_REGRESSIONS = "regressions"
"""The folder in it that is judged only when it is asked for."""


def settings(config: pytest.Config, collected: Collection[str]) -> Settings:
    """Read the options. `collected`: the ids of all behaviours that were found. Raises CannotStart."""
    option = config.option
    whom = subject(config)
    cluster = spec.parse(DEFAULT_CLUSTER if option.hintbound_cluster is None else option.hintbound_cluster)
    reports = Path(option.hintbound_reports) if option.hintbound_reports else _default_reports()
    return Settings(
        spec=cluster,
        profile=profile(config),
        jobs=_jobs(option.hintbound_jobs),
        reports=reports,
        checks=judging.every(),
        extensions=_extensions(cluster),
        expected=_expected(option.hintbound_xfails),
        known=frozenset((*collected, *catalogue.own_ids())),
        elsewhere=not _whole_suites(config),
        selection=_selection(config, whom),
        subject=whom,
        keep=bool(option.hintbound_keep),
        seed=_seed(option.hintbound_seed),
        mutant=None if option.hintbound_mutant is None else mutants.named(option.hintbound_mutant),
    )


def _expected(file: str | None) -> Expected | None:
    return None if file is None else load(Path(file), datetime.now(UTC).date())


def _extensions(cluster: spec.ClusterSpec) -> tuple[str, ...]:
    """What of installed packages takes part in this run. Faults are tried now: none is found broken later."""
    faults = installed(Group.FAULTS)
    for fault in faults:
        injected.load(fault)
    theirs = cluster.provider not in spec.PROVIDERS
    provider = [named(Group.CLUSTERS, cluster.provider)] if theirs else []
    return tuple(map(str, (*asked(), *installed(Group.CHECKS), *faults, *provider)))


def _whole_suites(config: pytest.Config) -> bool:
    """Whether the run took in suites of somebody else, and those as whole folders."""
    ours = data.folder("suites").resolve()
    paths = [arg for arg in config.args if not Path(arg.partition("::")[0]).resolve().is_relative_to(ours)]
    return bool(paths) and all(map(os.path.isdir, paths)) and not any(_pytests_own(config.option))


def subject(config: pytest.Config) -> Subject | None:
    """Whom the options name. Raises CannotStart."""
    path = config.option.hintbound_subject
    return None if path is None else subjects.read(Path(path))


def _selection(config: pytest.Config, whom: Subject | None) -> tuple[str, ...]:
    """What limits the run: paths that are not the whole of hintbound's suites, and single behaviours."""
    option = config.option
    named = [f"--behaviour={wanted}" for wanted in option.hintbound_behaviours or ()]
    return (*_paths(config, whom), *named, *(f"{flag}={value}" for flag, value in _pytests_own(option)))


def _paths(config: pytest.Config, whom: Subject | None) -> list[str]:
    """The suites that were named; none for the whole of hintbound's."""
    suites = data.folder("suites").resolve()
    whole = {suites, suites / subjects.SUITES[whom.kind]} if whom else {suites}
    paths = [arg for arg in config.args if Path(arg.partition("::")[0]).resolve() not in whole]
    return [_within(suites, arg) for arg in paths]


def _pytests_own(option: Any) -> Iterator[tuple[str, str]]:
    """Options of pytest itself that leave tests out."""
    for flag in ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise"):
        value = getattr(option, flag, None)
        for one in value if isinstance(value, list) else [value]:
            if one:
                yield f"--{flag}", str(one)


def _within(suites: Path, path: str) -> str:
    """A path below hintbound's suites, or one asked for by name, as `hintbound run` finds it from anywhere;
    any other as it is."""
    file, separator, node = path.partition("::")
    full = Path(file).resolve()
    named = full.relative_to(suites) if full.is_relative_to(suites) else as_named(full)
    return f"{named}{separator}{node}" if named else path


def profile(config: pytest.Config) -> Profile:
    """The profile that was asked for: core unless told otherwise, or unless only regressions were named.
    Raises CannotStart."""
    wanted = config.option.hintbound_profile or _usual_profile(config)
    if wanted not in list(Profile):
        raise one_of("profile", wanted, [str(known) for known in Profile])
    return Profile(wanted)


def _usual_profile(config: pytest.Config) -> Profile:
    folder = (data.folder(_OURS) / _REGRESSIONS).resolve()
    paths = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    named = bool(paths) and all(path.is_relative_to(folder) for path in paths)
    return Profile.REGRESSIONS if named else Profile.CORE


def select(
    config: pytest.Config, items: Sequence[pytest.Item]
) -> tuple[list[tuple[pytest.Item, Item]], list[pytest.Item]]:
    """The items that are behaviours of this run, and those that are behaviours of other runs. Raises
    CannotStart."""
    found = [
        (item, behaviour) for item in items if (behaviour := behaviour_of(getattr(item, "function", None)))
    ]
    _no_duplicates(found)
    wanted = {behaviour.upper() for behaviour in config.option.hintbound_behaviours or ()}
    known = [behaviour.id for _, behaviour in found]
    if found and (missing := sorted(wanted - set(known))):
        listing = shlex.join(["hintbound", "list", "behaviours", *_paths(config, subject(config))])
        raise one_of("behaviour", missing[0], sorted(known), listing=listing)
    level = profile(config)
    chosen, left_out = [], []
    for item, behaviour in found:
        if behaviour.id in wanted if wanted else level.includes(behaviour.level):
            chosen.append((item, _item(item, behaviour)))
        else:
            left_out.append(item)
    return chosen, left_out


def ids(items: Iterable[pytest.Item]) -> list[str]:
    """The ids of the behaviours among these."""
    found = (behaviour_of(getattr(item, "function", None)) for item in items)
    return [behaviour.id for behaviour in found if behaviour]


def _item(item: pytest.Item, behaviour: Behaviour) -> Item:
    assert isinstance(item, pytest.Function)
    if marker := item.get_closest_marker("usefixtures"):
        raise CannotStart(
            f"behaviour {behaviour.id} uses the fixtures {', '.join(marker.args)} ({node_id(item)}), but its "
            f"scenario begins "
            "before pytest sets up any.",
            next_step="Do in the test what they do.",
        )
    where = node_id(item)
    path = "" if where.startswith(f"{_OURS}/") else as_named(item.path) or str(item.path)
    return Item(behaviour, Scenario(behaviour, item.obj), where, path)


def node_id(item: pytest.Item) -> str:
    """Where the test stands, as a reader finds it: below `suites/` where it is one of ours, below the name
    of an installed suite, else from here."""
    function = item.nodeid.partition("::")[2]
    full = item.path.resolve()
    suites = data.folder(_OURS).resolve()
    if full.is_relative_to(suites):
        path = Path(_OURS) / full.relative_to(suites)
    elif name := as_named(full):
        path = Path(name)
    else:
        path = full.relative_to(Path.cwd()) if full.is_relative_to(Path.cwd()) else full
    return f"{path}::{function}"


def _no_duplicates(found: Sequence[tuple[pytest.Item, Behaviour]]) -> None:
    places: dict[str, str] = {}
    for item, behaviour in found:
        if behaviour.id in places:
            raise CannotStart(
                f"behaviour {behaviour.id} stands on two tests: {places[behaviour.id]} and {_place(item)}.",
                next_step="One behaviour is one test: give one of them another id (a parametrized test "
                "cannot be one).",
            )
        places[behaviour.id] = _place(item)
    theirs = {behaviour.id: item for item, behaviour in found if not _of_hintbound(item.path)}
    if taken := sorted(theirs.keys() & set(catalogue.own_ids() if theirs else ())):
        raise CannotStart(
            f"behaviour {taken[0]} stands on two tests: {catalogue.own_file(taken[0])} and "
            f"{_place(theirs[taken[0]])}.",
            next_step="Ids of a package begin with a word of its own, e.g. ACME-.",
        )


def _of_hintbound(file: Path) -> bool:
    """Whether a test stands in hintbound's suites: those that it ships, or those of any checkout of it."""
    return any((folder / catalogue.FILE).is_file() for folder in file.parents)


def _place(item: pytest.Item) -> str:
    """`FILE:LINE (test)`, with the line on which the test's decorators begin."""
    file, _, test = node_id(item).partition("::")
    line = item.reportinfo()[1]
    return f"{file}:{line + 1} ({test})" if line is not None else f"{file} ({test})"


def _seed(text: str | None) -> int:
    """The seed that was asked for, or any. Raises CannotStart."""
    if text is None:
        return secrets.randbelow(2**32)
    if not text.isascii() or not text.isdecimal() or len(text) > 19 or int(text) >= 2**63:
        raise CannotStart(f"{text!r} is no seed.", next_step="Write a number, as a report shows it.")
    return int(text)


def _jobs(text: str | None) -> int:
    try:
        jobs = int(text) if text is not None else DEFAULT_JOBS
    except ValueError:
        jobs = 0
    if jobs < 1:
        raise CannotStart(f"{text!r} is no number of jobs.", next_step="Write 1 or more.")
    return jobs


def _default_reports() -> Path:
    return Path(os.environ.get("HINTBOUND_REPORTS") or DEFAULT_REPORTS)
