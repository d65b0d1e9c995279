"""A way to break a behaviour's sentence, how the behaviour must say so, and how that is played."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hintbound import data
from hintbound.plugin import catalogue
from tests.cli.programs import Ended, Programs

DEFAULT = "embedded:1.35"
OTHER_GATES = "embedded:1.34,NominatedNodeNameForExpectation=true,ClearingNominatedNodeNameAfterBinding=false"

POD_GROUPS = "embedded:1.37,@pod-groups"


@dataclass(frozen=True)
class Break:
    """How a sentence is broken, and how its behaviour must say so."""

    said: str
    """A pattern of the reason."""
    where: str = DEFAULT
    changes: dict[str, str] = field(default_factory=dict)


NOT_CODE = re.compile(r'^    applies=.*,\n|^    """[^"]*"""\n', re.MULTILINE)
"""What a test says of itself: no part of what breaks it."""
IMPATIENT = (
    "from hintbound.plugin import arena, real_nodes\n\narena.PATIENCE = 4\nreal_nodes.RUNS_WITHIN = 30\n"
)


def broken_copy(folder: Path, breaks: Mapping[str, Break]) -> Path:
    """The suites with these behaviours broken, all of them applying everywhere."""
    for suite in ("apiserver", "kubelet", "scheduler"):
        shutil.copytree(data.folder("suites") / suite, folder / suite)
    shutil.copy(data.folder("suites") / catalogue.FILE, folder)  # so that it may have hintbound's ids
    (folder / "conftest.py").write_text(IMPATIENT)
    files = {
        entry.behaviour.id: folder / Path(entry.file.partition("::")[0]).relative_to("suites")
        for entry in catalogue.collect()
    }
    for behaviour, broken in breaks.items():
        text = NOT_CODE.sub("", files[behaviour].read_text())
        for line, other in broken.changes.items():
            assert text.count(line) == 1, f"{behaviour}: {line!r} is there {text.count(line)} times"
            text = text.replace(line, other)
        files[behaviour].write_text(text)
    return folder


def judge(programs: Programs, where: str, breaks: Mapping[str, Break]) -> Ended:
    """Play what is broken on this cluster, all in one run."""
    suites = broken_copy(programs.folder / f"broken-{len(breaks)}", breaks)
    only = [f"--behaviour={behaviour}" for behaviour in breaks]
    return programs.hintbound("run", suites, "--cluster", where, *only)


def fails_as_it_must(ended: Ended, behaviour: str, broken: Break) -> None:
    """Raises AssertionError unless the behaviour failed, said what is wrong, and showed it."""
    outcome = ended.outcomes[behaviour]
    assert outcome["verdict"] == "fail", outcome
    assert re.search(broken.said, outcome["reason"]), outcome["reason"]
    assert outcome["evidence"], "a failure without evidence"
