"""The catalogue of behaviours, read from the tests that carry them: for `list`, `explain`,
behaviours.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from hintbound import data
from hintbound.errors import CannotStart
from hintbound.plugin import silence
from hintbound.plugin import suites as installed_suites
from hintbound.plugin.behaviours import Behaviour, behaviour_of
from hintbound.plugin.regressions import Regression, regression_of

FILE = "behaviours.yaml"


@dataclass(frozen=True, slots=True)
class Entry:
    """One behaviour and where it stands."""

    behaviour: Behaviour
    file: str
    """`suites/...py::test_...`"""
    about: str
    """The first line of the test file's docstring."""
    tested: str
    """How: the test's docstring in one line; empty without one."""
    regression: Regression | None = None
    """The public bug that it reproduces."""


@dataclass(slots=True, eq=False)
class _Collector:
    entries: list[Entry] = field(default_factory=list)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Before any is left out: the profiles between them have all."""
        from hintbound.plugin.selection import node_id

        function = getattr(item, "function", None)
        if found := behaviour_of(function):
            module = getattr(item, "module", None)
            about = (getattr(module, "__doc__", "") or "").strip().partition("\n")[0]
            tested = " ".join((function.__doc__ or "").split())
            self.entries.append(Entry(found, node_id(item), about, tested, regression_of(function)))


def arguments(paths: Sequence[str]) -> list[str]:
    """How pytest is to be called on suites: with our configuration, whatever project we stand in. Raises
    CannotStart."""
    suites = data.folder("suites")
    found = [str(_find(path, suites)) for path in paths] or [str(suites)]
    return [f"--rootdir={suites}", f"--config-file={suites / 'pytest.ini'}", "-p", "no:cacheprovider", *found]


def collect(paths: Sequence[str] = ()) -> list[Entry]:
    """Every behaviour in these suites, by id. Raises CannotStart for a suite that cannot be read."""
    from hintbound.plugin.calling import call_pytest

    collector = _Collector()
    quiet = ["--collect-only", "--hintbound-profile=all"]
    code = call_pytest([*quiet, *arguments(paths)], silence, collector)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise CannotStart(f"the suites cannot be read: pytest ended with {code}.")
    return sorted(collector.entries, key=lambda entry: entry.behaviour.id)


def own_ids() -> list[str]:
    """The ids of hintbound's own behaviours, as its catalogue lists them; nothing is collected for it."""
    text = (data.folder("suites") / FILE).read_text(encoding="utf-8")
    return re.findall(r"^- id: (\S+)$", text, re.MULTILINE)


def own_file(behaviour: str) -> str:
    """Where one of hintbound's own behaviours stands."""
    records = yaml.safe_load((data.folder("suites") / FILE).read_text(encoding="utf-8"))
    return next(str(record["file"]) for record in records if record["id"] == behaviour)


_HEAD = "# GENERATED from the tests by `make behaviours`; do not edit. One sentence, one test each.\n"


def to_yaml(entries: Sequence[Entry]) -> str:
    """The text of behaviours.yaml."""
    records = [plain(entry) for entry in entries]
    return _HEAD + yaml.safe_dump(records, sort_keys=False, width=110, allow_unicode=True)


def plain(entry: Entry) -> dict[str, Any]:
    """One behaviour as plain data; empty fields are left out."""
    behaviour = entry.behaviour
    record = {
        "id": behaviour.id,
        "level": str(behaviour.level),
        "must": behaviour.must,
        "why": behaviour.why,
        "applies": behaviour.applies.text,
        "needs": sorted(map(str, behaviour.needs)),
        "features": sorted(map(str, behaviour.features)),
        "severity": str(behaviour.severity),
        "exclusive": behaviour.exclusive,
        "provisional": behaviour.provisional,
        "affects": sorted(map(str, behaviour.affects)),
        "advice": behaviour.advice,
        "source": behaviour.source,
        "file": entry.file,
        "regression": _bug(entry.regression) if entry.regression else {},
    }
    return {key: value for key, value in record.items() if value not in ("", [], False, {})}


def _bug(regression: Regression) -> dict[str, Any]:
    record = {
        "bug": regression.bug,
        "about": regression.about,
        "shows": list(regression.shows),
        "absent": list(regression.absent),
        "checks": list(regression.checks),
        "mutants": list(regression.mutants),
        "history": regression.history,
        "means": regression.means,
        "note": regression.note,
    }
    return {key: value for key, value in record.items() if value}


def _find(path: str, suites: Path) -> str:
    """A path as the user means it: as it stands, inside our suites, or by the name of an installed one."""
    file, separator, node = path.partition("::")
    for candidate in (Path(file), suites / file, suites.parent / file):
        if file and candidate.exists():
            return f"{candidate}{separator}{node}"
    if (installed := installed_suites.find(file)) and installed.exists():
        return f"{installed}{separator}{node}"
    known = f" Installed suites: {', '.join(names)}." if (names := installed_suites.names()) else ""
    raise CannotStart(
        f"no such suite: {path}.",
        next_step=f"Name a file or folder, here or below {suites}, e.g. scheduler/hints.{known}",
    )
