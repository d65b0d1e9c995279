"""What installed packages add: found by name, recorded, and named when it is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from hintbound import cli
from hintbound.checks.judging import chosen
from hintbound.clusters import open_cluster, parse
from hintbound.clusters.installed import not_started
from hintbound.errors import CannotStart
from hintbound.plugin import injected
from tests.plugin.packages import Packages
from tests.plugin.sessions import HEAD, Ran, Sessions

CHECK = """
from hintbound.checks import Violation, check

@check("acme-no-pod", must="There is no pod.")
def no_pod(lives, context):
    for life in lives:
        {does}
        yield Violation(f"{{life.name}} of {{context.behaviour}} is there", (life.versions[0],))
"""
POINT = "acme-no-pod = {m}:no_pod"
POD = "@one('T-POD')\nasync def test_pod(arena):\n    await arena.pod()\n"
FAULT = """
from contextlib import asynccontextmanager
done = []

@asynccontextmanager
async def fault(arena, name="one", fails=None, error=OSError):
    done.append(f"{name} began")
    if fails == "entering":
        raise OSError("no such device")
    try:
        yield name
    finally:
        if fails == "leaving":
            raise error("it is stuck")
        done.append(f"{name} ended")
"""


def call(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.hintbound, words)
    return done.exit_code, str(done.exception) if isinstance(done.exception, CannotStart) else done.output


# Checks


def test_a_check_fails_the_behaviour_whose_record_breaks_its_sentence(
    sessions: Sessions, packages: Packages
) -> None:
    packages.install(CHECK.format(does=""), checks=POINT)
    ran = sessions.run(POD + "\n@one('T-NONE')\nasync def test_none(arena): pass\n")

    assert (ran.code, ran.verdicts) == (1, {"T-POD": "fail", "T-NONE": "pass"})
    found = "the check acme-no-pod found: pod-1 of T-POD is there (must: There is no pod.)"
    assert ran.reason("T-POD") == found
    evidence = ran.run["outcomes"][0]["evidence"]
    assert evidence[0] == f"violation: {found}"
    assert "of history.ndjson: pod hb-t-pod-" in evidence[1]
    assert ran.run["extensions"] == ["check acme-no-pod of acme-hintbound 1.0"]
    assert ran.folder is not None
    assert "check acme-no-pod of acme-hintbound 1.0" in (ran.folder / "report.md").read_text()


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("raise KeyError('x')", "__init__.py:7: KeyError: 'x'"),
        ("import pytest; pytest.fail('said the check')", "__init__.py:7: Failed: said the check"),
        ("raise SystemExit(3)", "__init__.py:7: SystemExit: 3"),
        ("lives.clear()", "AttributeError: 'tuple' object has no attribute 'clear'"),
        ("yield 'a pod'", "TypeError: it gave str, no Violation"),
        (
            "yield Violation('x', ('a pod',))",
            "TypeError: it proved a violation by str, nothing of the record",
        ),
        ("yield Violation('no proof', ())", "ValueError: a violation needs words and at least one proof"),
    ],
)
def test_a_check_that_crashes_has_judged_nothing(
    sessions: Sessions, packages: Packages, does: str, said: str
) -> None:
    packages.install(CHECK.format(does=does), checks=POINT)
    ran = sessions.run(POD)
    assert (ran.code, ran.verdicts) == (2, {"T-POD": "unknown"})
    assert ran.reason("T-POD").startswith("the check acme-no-pod of acme-hintbound 1.0 crashed: ")
    assert said in ran.reason("T-POD")


def test_a_check_that_cannot_tell_makes_it_unknown(sessions: Sessions, packages: Packages) -> None:
    does = "import hintbound.checks; yield from 2 * [hintbound.checks.Unknown('no bodies')]; return"
    packages.install(CHECK.format(does=does), checks=POINT)
    ran = sessions.run(POD)
    assert (ran.code, ran.verdicts) == (2, {"T-POD": "unknown"})
    assert ran.reason("T-POD") == "the check acme-no-pod of acme-hintbound 1.0 cannot tell: no bodies"


def test_a_check_that_has_the_name_of_one_of_ours_is_refused(packages: Packages) -> None:
    packages.install(
        CHECK.replace("acme-no-pod", "never-both").format(does=""), checks="never-both = {m}:no_pod"
    )
    with pytest.raises(CannotStart, match="a check of hintbound's own, too"):
        chosen()


def test_checks_of_packages_are_chosen_beside_ours(packages: Packages) -> None:
    packages.install(CHECK.format(does=""), checks=POINT)
    assert {"acme-no-pod", "never-both"} <= {check.name for check in chosen()}


def test_what_the_test_itself_says_comes_first(sessions: Sessions, packages: Packages) -> None:
    packages.install(CHECK.format(does=""), checks=POINT)
    ran = sessions.run(POD + "    assert False, 'broken'\n")
    assert ran.reason("T-POD").startswith("broken")


def test_a_record_that_is_not_whole_is_not_judged_by_checks(
    sessions: Sessions, packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def flaws(*_: object) -> list[str]:
        return ["the watch had a gap"]

    monkeypatch.setattr("hintbound.plugin.engine._flaws", flaws)
    packages.install(CHECK.format(does=""), checks=POINT)
    ran = sessions.run(POD)
    assert (ran.verdicts, ran.reason("T-POD")) == ({"T-POD": "unknown"}, "the watch had a gap")


# Faults


def faults(sessions: Sessions, packages: Packages, body: str, deadline: float = 5) -> tuple[Ran, list[str]]:
    """A run of a scenario that may use the fault, and what the fault did."""
    file = packages.install(FAULT, faults="acme-fault = {m}:fault")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    ran = sessions.run(f"@one('T-ONE', deadline={deadline})\nasync def test_one(arena):\n{lines}")
    import sys

    return ran, list(sys.modules[file.parent.name].done)


def events(ran: Ran) -> list[tuple[str, Any]]:
    assert ran.folder is not None
    lines = map(orjson.loads, (ran.folder / "history.ndjson").read_bytes().splitlines())
    return [(line["kind"], line["data"]) for line in lines if line["kind"].startswith("fault-")]


@pytest.mark.parametrize("end", ["pass", "assert False", "await asyncio.sleep(60)", "raise OSError"])
def test_faults_are_undone_in_reverse_order_whatever_happens(
    sessions: Sessions, packages: Packages, end: str
) -> None:
    body = "assert await arena.fault('acme-fault', name='a') == 'a'\n"
    body += f"await arena.fault('acme-fault', name='b')\n{end}"
    ran, done = faults(sessions, packages, body, deadline=0.3)
    assert done == ["a began", "b began", "b ended", "a ended"]
    assert events(ran) == [
        ("fault-began", {"fault": "acme-fault", "parameters": {"name": "a"}, "of": "acme-hintbound 1.0"}),
        ("fault-began", {"fault": "acme-fault", "parameters": {"name": "b"}, "of": "acme-hintbound 1.0"}),
        ("fault-ended", {"fault": "acme-fault"}),
        ("fault-ended", {"fault": "acme-fault"}),
    ]


def test_the_evidence_of_a_failure_shows_its_faults(sessions: Sessions, packages: Packages) -> None:
    ran, _ = faults(sessions, packages, "await arena.fault('acme-fault', name='a')\nassert False")
    (line,) = ran.run["outcomes"][0]["evidence"]
    assert line.startswith("fault acme-fault began at +0.")
    assert line.endswith(" s: name=a")


@pytest.mark.parametrize("error", ["OSError", "SystemExit"])
def test_a_fault_that_cannot_be_undone_is_noted_and_stops_no_other(
    sessions: Sessions, packages: Packages, error: str
) -> None:
    body = "await arena.fault('acme-fault', name='a')\n"
    body += f"await arena.fault('acme-fault', fails='leaving', error={error})"
    ran, done = faults(sessions, packages, body)
    assert done == ["a began", "one began", "a ended"]
    assert f"failed: fault acme-fault: {error}('it is stuck')" in ran.run["notes"][0]
    assert events(ran)[2] == ("fault-ended", {"fault": "acme-fault", "error": f"{error}('it is stuck')"})


def test_a_fault_that_cannot_begin_makes_unknown(sessions: Sessions, packages: Packages) -> None:
    ran, done = faults(sessions, packages, "await arena.fault('acme-fault', fails='entering')")
    assert (ran.verdicts, done) == ({"T-ONE": "unknown"}, ["one began"])
    assert ran.reason("T-ONE") == "the scenario broke off with OSError: no such device"


def test_an_unknown_fault_is_answered_with_the_installed_ones(sessions: Sessions, packages: Packages) -> None:
    ran, _ = faults(sessions, packages, "await arena.fault('acme-fualt')")
    said = "unknown fault 'acme-fualt'. Did you mean 'acme-fault'? Known: acme-fault."
    assert ran.reason("T-ONE") == f"the stage could not be set: {said}"


def test_tasks_of_a_fault_are_ended_by_the_fault(sessions: Sessions, packages: Packages) -> None:
    source = """
        import asyncio
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def fault(arena):
            task = asyncio.create_task(asyncio.sleep(60))
            yield task
            assert not task.cancelled()
            task.cancel()
        """
    packages.install(source, faults="acme-load = {m}:fault")
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena):\n    await arena.fault('acme-load')\n")
    assert (ran.verdicts, ran.run["notes"]) == ({"T-ONE": "pass"}, [])


def test_undoing_has_a_limit(sessions: Sessions, packages: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injected, "UNDONE_WITHIN", 0.1)
    source = """
        import asyncio
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def fault(arena):
            yield
            await asyncio.sleep(60)
        """
    packages.install(source, faults="acme-deaf = {m}:fault")
    ran = sessions.run("@one('T-ONE')\nasync def test_one(arena):\n    await arena.fault('acme-deaf')\n")
    assert "fault acme-deaf: undoing it took longer than 0.1 s" in ran.run["notes"][0]
    assert [stage.namespaces("delete") for stage in sessions.stages] != [[]]


# Suites


def suite(packages: Packages, behaviours: str, name: str = "acme") -> Path:
    file = packages.install("", f"{name}-hintbound", suites=f"{name} = {{m}}")
    (file.parent / "test_acme.py").write_text(HEAD + behaviours)
    return file.parent


def test_a_suite_is_run_listed_and_explained_by_its_name(sessions: Sessions, packages: Packages) -> None:
    suite(packages, "@one('ACME-ONE')\nasync def test_one(arena): pass\n")
    ran = sessions.run("", paths=["acme"])
    assert (ran.code, ran.verdicts) == (0, {"ACME-ONE": "pass"})
    (outcome,) = ran.run["outcomes"]
    assert outcome["file"] == "acme/test_acme.py::test_one"
    assert outcome["repro"].startswith("hintbound run acme/test_acme.py --cluster ")
    assert ran.run["selection"] == ["acme"]
    assert ran.run["extensions"] == ["suite acme of acme-hintbound 1.0"]
    assert sessions.run("", paths=["acme/test_acme.py"]).verdicts == {"ACME-ONE": "pass"}
    assert "\nacme:\nACME-ONE " in call("list", "behaviours")[1]
    assert call("list", "behaviours", "acme")[1].split()[0] == "ACME-ONE"
    assert (
        "hintbound run acme/test_acme.py --profile all --behaviour ACME-ONE" in call("explain", "ACME-ONE")[1]
    )


def test_a_suite_may_be_a_path(sessions: Sessions, packages: Packages, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    source = "@one('ACME-ONE')\nasync def test_one(arena): pass\n"
    (tmp_path / "there" / "test_it.py").write_text(HEAD + source)
    packages.install(f"HERE = {str(tmp_path / 'there')!r}", suites="acme = {m}:HERE")
    assert sessions.run("", paths=["acme"]).verdicts == {"ACME-ONE": "pass"}


def test_an_id_of_two_packages_is_named_with_both_files(sessions: Sessions, packages: Packages) -> None:
    one = "@one('ACME-ONE')\nasync def test_one(arena): pass\n"
    suite(packages, one)
    suite(packages, one, "other")
    ran = sessions.run("", paths=["acme", "other"])
    assert ran.code == 254
    assert "acme/test_acme.py:8 (test_one) and other/test_acme.py:8 (test_one)" in ran.error


def test_an_id_of_hintbounds_own_is_refused_with_both_files(sessions: Sessions, packages: Packages) -> None:
    suite(packages, "@one('NNN-HINT-TAKEN')\nasync def test_one(arena): pass\n")
    ran = sessions.run("", paths=["acme"])
    assert ran.code == 254
    assert "suites/scheduler/hints/test_fitting_hint.py::" in ran.error
    assert "acme/test_acme.py:8 (test_one)" in ran.error


def test_an_id_of_hintbounds_own_is_refused_in_a_folder_too(sessions: Sessions, tmp_path: Path) -> None:
    source = HEAD + "@one('NNN-HINT-TAKEN')\nasync def test_one(arena): pass\n"
    file = tmp_path / "theirs" / "test_it.py"
    file.parent.mkdir()
    file.write_text(source)
    ran = sessions.run("", paths=[str(file.parent)])
    assert (ran.code, sessions.stages) == (254, [])
    assert "suites/scheduler/hints/test_fitting_hint.py::" in ran.error
    assert "test_it.py:8 (test_one)" in ran.error


def test_another_checkout_of_hintbounds_suites_keeps_its_ids(sessions: Sessions, tmp_path: Path) -> None:
    file = tmp_path / "suites" / "scheduler" / "test_it.py"
    file.parent.mkdir(parents=True)
    (tmp_path / "suites" / "behaviours.yaml").touch()
    file.write_text(HEAD + "@one('NNN-HINT-TAKEN')\nasync def test_one(arena): pass\n")
    assert sessions.run("", paths=[str(file)]).verdicts == {"NNN-HINT-TAKEN": "pass"}


def test_an_unknown_suite_is_answered_with_the_installed_ones(sessions: Sessions, packages: Packages) -> None:
    suite(packages, "")
    ran = sessions.run("", paths=["acne"])
    assert (ran.code, ran.error.endswith("Installed suites: acme.")) == (254, True)


# Clusters


def opened(spec: str) -> object:
    return open_cluster(parse(spec), name="shared")


def test_a_provider_is_asked_for_a_cluster_by_its_name(packages: Packages) -> None:
    source = """
        from types import SimpleNamespace
        from hintbound.clusters.installed import _MEMBERS

        def cluster(argument, asked):
            told = {"capabilities": {"AUDIT"}, "spec": argument, "name": asked.name}
            return SimpleNamespace(**dict.fromkeys(_MEMBERS) | told)
        """
    packages.install(source, clusters="acme = {m}:cluster")
    made: Any = opened("acme:1.35,x=1")
    assert (made.spec, made.name, str(parse("acme:1.35,x=1"))) == ("1.35,x=1", "shared", "acme:1.35,x=1")


def test_an_unknown_provider_is_answered_with_all(packages: Packages) -> None:
    packages.install("", clusters="acme = {m}:cluster")
    with pytest.raises(
        CannotStart, match=r"unknown cluster provider 'acne'.*Known: embedded, kind, existing, acme\."
    ):
        parse("acne:1.35")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise OSError('no quota')", "makes no cluster: {file}:2: OSError: no quota."),
        ("return 7", "gives int, which is no Cluster: it lacks name, provider, spec, capabilities, "),
        (
            "from hintbound.clusters.installed import _MEMBERS\n"
            "    from types import SimpleNamespace\n"
            "    return SimpleNamespace(**dict.fromkeys(_MEMBERS) | {'capabilities': ['WINGS']})",
            "states capabilities that are none: WINGS.",
        ),
    ],
)
def test_a_provider_that_gives_no_cluster_is_named(packages: Packages, body: str, said: str) -> None:
    file = packages.install(f"def cluster(argument, asked):\n    {body}\n", clusters="acme = {m}:cluster")
    with pytest.raises(CannotStart) as refusal:
        opened("acme:1.35")
    assert str(refusal.value).startswith("acme-hintbound 1.0: the entry point 'acme' of hintbound.clusters (")
    assert said.format(file=file) in str(refusal.value)


def test_a_cluster_that_breaks_off_in_starting_is_one_clear_line(packages: Packages) -> None:
    file = packages.install("def cluster():\n    raise OSError('no quota')\n", clusters="acme = {m}:cluster")
    import importlib

    module = importlib.import_module(file.parent.name)
    with pytest.raises(OSError, match="no quota") as broken:
        module.cluster()
    told = not_started(parse("acme:1.35"), broken.value)
    assert f"could not start its cluster: {file}:2: OSError: no quota." in str(told)
    assert not_started(parse("embedded:1.35"), broken.value) is broken.value


# What is broken

BROKEN = {
    "a module that cannot be imported": (
        "import no_such",
        "acme-x = {m}:x",
        "{file}:1: ModuleNotFoundError: ",
    ),
    "a module that is no Python": ("x = 1\ndef (:", "acme-x = {m}:x", "{file}:2: SyntaxError: "),
    "a module that ends the process": ("raise SystemExit(3)", "acme-x = {m}:x", "{file}:1: SystemExit: 3."),
    "a module that skips itself": (
        "import pytest\npytest.importorskip('no_such')",
        "acme-x = {m}:x",
        "{file}:2: Skipped: could not import 'no_such'",
    ),
    "a name that is not there": ("", "acme-x = {m}:x", "AttributeError: module "),
    "something else": ("x = 1", "acme-x = {m}:x", " is int"),
}


@pytest.mark.parametrize("group", ["checks", "faults"])
@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_named_before_anything_starts(
    sessions: Sessions, packages: Packages, case: str, group: str
) -> None:
    source, point, said = BROKEN[case]
    file = packages.install(source, **{group: point})
    ran = sessions.run(POD)
    assert (ran.code, sessions.stages, ran.folder) == (254, [], None)
    assert ran.error.startswith(f"acme-hintbound 1.0: the entry point 'acme-x' of hintbound.{group} (")
    assert said.format(file=file) in ran.error
    assert "\n" not in ran.error


@pytest.mark.parametrize(
    ("source", "group", "said"),
    [
        (CHECK.format(does=""), "checks", "is a check that calls itself 'acme-no-pod'."),
        ("no_pod = 7", "suites", "is int, neither a module nor a path."),
        ("no_pod = '/nowhere'", "suites", "names /nowhere, which is no folder."),
        ("no_pod = 7", "clusters", "is int: nothing that can be called with a SPEC."),
    ],
)
def test_every_extension_is_listed_and_a_broken_one_named(
    packages: Packages, source: str, group: str, said: str
) -> None:
    packages.install(source, **{group: "acme-x = {m}:no_pod"})
    packages.install(FAULT, "other-hintbound", faults="acme-fault = {m}:fault")
    code, error = call("list", "extensions")
    assert code == 1  # 254 by `cli.main`, as for every CannotStart
    assert said in error
    shown = CliRunner().invoke(cli.hintbound, ["list", "extensions"]).output.splitlines()
    assert [line.split()[:2] for line in shown if line.endswith("BROKEN")] == [
        [f"hintbound.{group}", "acme-x"]
    ]
    assert any("other-hintbound 1.0" in line and not line.endswith("BROKEN") for line in shown)


def test_a_name_of_two_packages_is_named_with_both(sessions: Sessions, packages: Packages) -> None:
    packages.install(FAULT, "one-hintbound", faults="acme-fault = {m}:fault")
    packages.install(FAULT, "two-hintbound", faults="acme-fault = {m}:fault")
    ran = sessions.run(POD)
    assert ran.code == 254
    assert "one-hintbound 1.0" in ran.error
    assert "two-hintbound 1.0" in ran.error


def test_a_package_whose_entry_points_cannot_be_read_is_named(sessions: Sessions, packages: Packages) -> None:
    packages.install("", checks="no equals sign")
    ran = sessions.run(POD)
    assert (ran.code, sessions.stages, ran.folder) == (254, [], None)
    assert ran.error.startswith("acme-hintbound 1.0: its entry_points.txt cannot be read: ")
    assert "\n" not in ran.error


def test_a_suite_that_ends_the_process_is_named_with_its_line(sessions: Sessions, tmp_path: Path) -> None:
    ran = sessions.run("sys = __import__('sys')\nsys.exit(3)\n")
    assert (ran.code, sessions.stages) == (254, [])
    assert ran.error.startswith("the suites cannot be read: ")
    assert ": SystemExit: 3." in ran.error


def test_without_packages_nothing_is_listed() -> None:
    assert call("list", "extensions") == (0, "no installed package adds anything; see docs/vendors.md.\n")
