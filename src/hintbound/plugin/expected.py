"""`--xfails FILE`: failures that a vendor knows of, in a file of the vendor's repository. Each entry ends.

    apiVersion: hintbound.dev/v1alpha1
    kind: ExpectedFailures
    expected:
    - behaviour: NNN-HINT-TAKEN
      reason: Our scheduler reads hints from 2.4 on.
      issue: https://issues.example.com/17       # may be left out
      expires: 2027-01-31                        # the last day on which the failure is expected
      clusters: ['version(scheduler, "<1.36")']  # may be left out; any of these, in the words of `applies`

An expected failure stays a failure, is shown as what it is, and does not make the run fail. Nothing else is
changed: what is unknown stays unknown.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from hintbound.data.documents import Part, read
from hintbound.plugin.applies import Condition, Facts, Unreadable
from hintbound.plugin.judgement import Judgement
from hintbound.protocol import Verdict
from hintbound.report.model import ExpectedFailure

API_VERSION: Final = "hintbound.dev/v1alpha1"
KIND: Final = "ExpectedFailures"


@dataclass(frozen=True, slots=True)
class Entry:
    """One behaviour whose failure is expected."""

    behaviour: str
    reason: str
    expires: date
    """The last day on which it is."""
    where: str
    """`FILE:LINE`."""
    issue: str = ""
    clusters: tuple[Condition, ...] = ()
    """It is expected where any of them holds; everywhere without any."""

    def applies(self, facts: Facts) -> bool:
        """Whether it speaks of a cluster of these facts. Raises Unreadable."""
        unreadable: Unreadable | None = None
        for condition in self.clusters:
            try:
                if condition.holds(facts):
                    return True
            except Unreadable as error:
                unreadable = error
        if unreadable:
            raise unreadable
        return not self.clusters


class Expected:
    """The entries of one file, and what becomes of a run's verdicts by them."""

    def __init__(self, file: str, entries: Mapping[str, Entry], today: date) -> None:
        self.file = file
        self._entries = entries
        self._today = today
        self._passing: list[Entry] = []

    def judged(self, behaviour: str, judgement: Judgement, facts: Facts) -> Judgement:
        """The judgement of a behaviour, with the expectation that it met: only a failure can."""
        entry = self._entries.get(behaviour)
        if entry is None or judgement.verdict not in (Verdict.FAIL, Verdict.PASS):
            return judgement
        try:
            if not entry.applies(facts):
                return judgement
        except Unreadable as error:
            return _noted(judgement, f"whether {entry.where} expects it is not known: {error}")
        if judgement.verdict is Verdict.PASS:
            self._passing.append(entry)
            return judgement
        if entry.expires < self._today:
            return _noted(judgement, f"it was expected ({entry.where}), but that expired on {entry.expires}")
        return replace(
            judgement, expected=ExpectedFailure(entry.reason, str(entry.expires), entry.issue, entry.where)
        )

    def stale(self, known: Collection[str], *, elsewhere: bool) -> Iterator[str]:
        """Warnings about entries that have outlived what they tell of.

        `known`: the ids of hintbound's own behaviours and of this run's suites. `elsewhere`: an id of a
        family (`ACME-`) of which none is known may belong to suites that this run left out.
        """
        for entry in self._passing:
            yield f"{entry.where}: {entry.behaviour} is an expected failure and passes: remove the entry"
        families = {known_id.partition("-")[0] for known_id in known}
        for behaviour, entry in self._entries.items():
            if behaviour in known or (elsewhere and behaviour.partition("-")[0] not in families):
                continue
            near = difflib.get_close_matches(behaviour, known, n=1)
            hint = f"did you mean {near[0]}? Else remove" if near else "correct or remove"
            yield f"{entry.where}: there is no behaviour {behaviour}: {hint} the entry"


def load(file: Path, today: date) -> Expected:
    """Read a file of expected failures. Raises CannotStart, which names the line."""
    fields = read(file).fields(required=("apiVersion", "kind", "expected"))
    for key, right in (("apiVersion", API_VERSION), ("kind", KIND)):
        if fields[key].text() != right:
            raise fields[key].none_of(key, fields[key].text(), [right])
    entries: dict[str, Entry] = {}
    for part in fields["expected"].items():
        entry = _entry(part)
        if entry.behaviour in entries:
            raise part.wrong(
                f"{entry.behaviour} stands there twice, first at {entries[entry.behaviour].where}.",
                next_step="Make one entry of them; its clusters may be several.",
            )
        entries[entry.behaviour] = entry
    return Expected(str(file), entries, today)


def _entry(part: Part) -> Entry:
    fields = part.fields(required=("behaviour", "reason", "expires"), optional=("issue", "clusters"))
    issue = fields["issue"].text() if "issue" in fields else ""
    if issue and not _is_address(issue):
        raise fields["issue"].wrong(f"{issue!r} is no address.", next_step="Write https://...")
    clusters = fields["clusters"].items() if "clusters" in fields else []
    if "clusters" in fields and not clusters:
        raise fields["clusters"].wrong("clusters is empty.", next_step="Name a condition, or remove it.")
    return Entry(
        fields["behaviour"].text().upper(),
        " ".join(fields["reason"].text().split()),
        fields["expires"].day(),
        f"{part.file}:{part.line}",
        issue,
        tuple(map(_condition, clusters)),
    )


def _is_address(text: str) -> bool:
    try:
        address = urlsplit(text)
    except ValueError:  # http://[::1
        return False
    return address.scheme in ("http", "https") and bool(address.netloc)


def _condition(part: Part) -> Condition:
    try:
        return Condition(part.text())
    except ValueError as error:
        raise part.wrong(
            f"{str(error).removeprefix('applies=')}.", next_step="Mend it, or remove it."
        ) from error


def _noted(judgement: Judgement, words: str) -> Judgement:
    """A failure that counts, with what speaks of it in its reason."""
    if judgement.verdict is not Verdict.FAIL:
        return judgement
    return replace(judgement, reason=f"{judgement.reason}; {words}")
