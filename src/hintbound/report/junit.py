"""`junit.xml`: for CI systems. One test case per behaviour; what was not proven is never shown as passed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Final
from xml.etree import ElementTree as ET

from hintbound.protocol import Severity, Verdict
from hintbound.report.model import EXPECTED_FAIL, ExpectedFailure, Outcome, Run
from hintbound.report.words import one_line, sentence

FILE: Final = "junit.xml"

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PARAMETERS: Final = re.compile(r"\[(.*)\]$")


def write(run: Run) -> str:
    """The results as JUnit XML, `testsuites` around one `testsuite`."""
    suite = ET.Element("testsuite")
    _properties(
        suite,
        verdict=str(run.verdict),
        run_id=run.id,
        suite_version=run.suite_version,
        cluster=run.cluster_spec,
        subject=run.subject.name if run.subject else "",
        profile=str(run.profile),
        seed="" if run.seed is None else str(run.seed),
    )
    names: Counter[str] = Counter()
    for outcome in run.outcomes:
        _case(suite, run, outcome, _unique(_name(outcome), names))
    if run.verdict is Verdict.UNKNOWN and not _says(run, Verdict.FAIL, Verdict.UNKNOWN):
        _unfinished(suite, run)
    count = {kind: len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")}
    totals = {
        "name": "hintbound",
        "tests": str(len(suite.findall("testcase"))),
        "failures": str(count["failure"]),
        "errors": str(count["error"]),
        "skipped": str(count["skipped"]),
        "time": f"{run.duration_seconds:.3f}",
    }
    suite.attrib.update(totals | {"timestamp": run.started.removesuffix("Z")})
    root = ET.Element("testsuites", totals)
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, run: Run, outcome: Outcome, name: str) -> None:
    file = outcome.file.partition("::")[0]
    classname = ".".join(PurePosixPath(file).with_suffix("").parts) if file else "hintbound"
    case = _element(suite, "testcase", classname=classname, name=name, time=f"{outcome.duration_seconds:.3f}")
    _properties(
        case,
        verdict=str(outcome.verdict),
        level=str(outcome.level),
        behaviour=outcome.behaviour,
        run_id=run.id,
        cluster=outcome.cluster,
        severity=str(outcome.severity or ""),
        **_expected_properties(outcome.expected),
    )
    reason = one_line(outcome.reason)
    if outcome.expected:  # CI systems know no failure that does not count
        _told(case, "skipped", EXPECTED_FAIL, f"EXPECTED_FAIL: {outcome.expected}: {reason}", outcome)
        return
    match outcome.verdict:
        case Verdict.FAIL:
            kind = "Hazard" if outcome.severity is Severity.HAZARD else "Violation"
            _told(case, "failure", f"{kind}.{outcome.behaviour}", reason or outcome.must, outcome)
        case Verdict.UNKNOWN:
            _told(case, "error", "Unknown", reason or "could not be judged", outcome)
        case Verdict.SKIP:
            _element(case, "skipped", type="skip", message=f"SKIPPED: {reason}")
        case Verdict.NOT_SUPPORTED:
            _element(case, "skipped", type="not-supported", message=f"NOT_SUPPORTED: {reason}")


def _expected_properties(expected: ExpectedFailure | None) -> dict[str, str]:
    if expected is None:
        return {}
    return {
        "expected_reason": expected.reason,
        "expected_until": expected.expires,
        "expected_issue": expected.issue,
    }


def _told(case: ET.Element, tag: str, kind: str, message: str, outcome: Outcome) -> None:
    lines = (
        f"must: {outcome.must}",
        *outcome.evidence,
        f"reproduce: {outcome.repro}" if outcome.repro else "",
    )
    _element(case, tag, type=kind, message=message).text = _clean("\n".join(filter(None, lines)))


def _unfinished(suite: ET.Element, run: Run) -> None:
    """A run without a verdict must not look green because what little it judged has passed."""
    case = _element(suite, "testcase", classname="hintbound", name="the run came to its end", time="0.000")
    _element(case, "error", type="Unknown", message=sentence(run))


def _says(run: Run, *verdicts: Verdict) -> bool:
    return any(outcome.counted in verdicts for outcome in run.outcomes)


def _name(outcome: Outcome) -> str:
    """The behaviour, and with which parameters: consumers take two cases of one name for one."""
    parameters = _PARAMETERS.search(outcome.file)
    return f"{outcome.behaviour} [{parameters[1]}]" if parameters else outcome.behaviour


def _unique(name: str, names: Counter[str]) -> str:
    names[name] += 1
    return name if names[name] == 1 else f"{name} ({names[name]})"


def _properties(parent: ET.Element, **values: str) -> None:
    properties = _element(parent, "properties")
    for name, value in values.items():
        if value:
            _element(properties, "property", name=name, value=value)


def _element(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, tag, {name: _clean(value) for name, value in attributes.items()})


def _clean(text: str) -> str:
    """XML 1.0 cannot carry most control characters, not even escaped."""
    return _NOT_XML.sub("\ufffd", text)
