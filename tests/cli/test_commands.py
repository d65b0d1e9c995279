"""The front page, `list` and `explain`: no cluster is started here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from hintbound import __version__, assets, cli
from hintbound.errors import CannotStart
from hintbound.plugin import catalogue


def call(*words: str) -> Result:
    return CliRunner().invoke(cli.hintbound, words)


def exit_of(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_help_and_version_work() -> None:
    shown = call("--help")
    assert shown.exit_code == 0
    for command in ("assets", "cluster", "explain", "list", "run"):
        assert f"  {command} " in shown.output
    assert call("--version").output == f"hintbound, version {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rum"], "No such command 'rum'"),
        (["run", "--jobs", "0"], "Invalid value for '--jobs'"),
        (["run", "--jobs", "many"], "'many' is not a valid integer range."),
        (["run", "--no-such"], "No such option"),
        (["explain"], "Missing argument 'ID'"),
        (
            ["explain", "NNN-HINT-TAKE"],
            "'NNN-HINT-TAKE'. Did you mean 'NNN-HINT-TAKEN' or ",
        ),
        (["explain", "X-Y"], "unknown behaviour 'X-Y'. `hintbound list behaviours` lists all."),
        (["list", "behaviours", "nowhere"], "no such suite: nowhere."),
        (["run", "--xfails", "nowhere.yaml"], "nowhere.yaml cannot be read: no such file or directory."),
        (["matrix", "--xfails", "nowhere.yaml"], "nowhere.yaml cannot be read: no such file or directory."),
        (
            ["matrix", "--into", "/dev/null/docs"],
            "nothing can be written into /dev/null/docs: not a directory. Name another folder: --into DIR.",
        ),
        (["matrix", "--update", "--into", "/dev/null"], "cannot be read: not a directory."),
        (["matrix", "--update", "--into", "/usr"], "there is no matrix in /usr to update."),
        (["matrix", "--gate-set", "nnn-of"], "unknown gate set 'nnn-of'. Did you mean 'nnn-off'?"),
        (
            ["matrix", "--version", "1.34", "--gate-set", "pod-groups"],
            "no gate set of pod-groups exists in 1.34.4. `hintbound list gate-sets` tells",
        ),
        (
            ["matrix", "--behaviour", "NNN-HINT-TAKEN"],
            "a matrix of some rows only is none. Add --update.",
        ),
        (
            ["matrix", "--update", "--behaviour", "NNN-HINT-TAKN"],
            "unknown behaviour 'NNN-HINT-TAKN'. Did you mean 'NNN-HINT-TAKEN'",
        ),
        (
            ["run", "--cluster", "acme:1.35"],
            "unknown cluster provider 'acme'. Known: embedded, kind",
        ),
        (["list", "behaviours", "--format", "xml"], "Invalid value for '--format'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_254(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_of(*words) == 254
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("hintbound: ")
    assert said in line


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (CannotStart("no such thing.", next_step="Try another."), 254, "no such thing. Try another."),
        (KeyboardInterrupt(), 130, "interrupted."),
        (click.Abort(), 130, "interrupted."),
        (ZeroDivisionError("ours"), 255, "internal error"),
    ],
)
def test_every_end_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: BaseException,
    code: int,
    said: str,
) -> None:
    def end(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(cli.hintbound, "main", end)
    assert exit_of("run") == code
    assert said in capsys.readouterr().err


def test_behaviours_are_listed_with_their_sentence() -> None:
    lines = call("list", "behaviours").output.splitlines()
    assert [line.split()[0] for line in lines] == sorted(line.split()[0] for line in lines)
    (taken,) = [line for line in lines if line.startswith("NNN-HINT-TAKEN ")]
    assert taken.split(maxsplit=2)[1] == "core"
    assert "A pending pod whose hinted node passes every filter" in taken


def test_json_and_yaml_of_the_catalogue_say_the_same() -> None:
    as_json = json.loads(call("list", "behaviours", "--format", "json").output)
    as_yaml = yaml.safe_load(call("list", "behaviours", "--format", "yaml").output)
    assert as_json == as_yaml
    assert len(as_json) >= 15


def test_a_part_of_the_suites_can_be_listed() -> None:
    listed = json.loads(call("list", "behaviours", "scheduler/hints", "--format", "json").output)
    assert {entry["file"].split("/")[2] for entry in listed} == {"hints"}


def test_versions_are_listed_with_the_default_marked() -> None:
    assert set(call("list", "versions").output.split()) >= set(assets.versions())
    rows = json.loads(call("list", "versions", "--format", "json").output)
    assert [row["version"] for row in rows if row["default"]] == [
        assets.resolve_version(assets.DEFAULT_VERSION)
    ]


def test_a_behaviour_is_explained_to_who_has_never_seen_it() -> None:
    shown = call("explain", "nnn-clear-no-nodes").output
    for word in (
        "NNN-CLEAR-NO-NODES",
        "must        In a cluster without nodes a failed attempt clears the hint.",
        "why         The cluster that needs its autoscaler most",
        "applies     kube-scheduler is not 1.34 or kube-scheduler has NominatedNodeNameForExpectation off",
        "affects     nominator, autoscaler",
        "tested      On a control plane of its own without any node",
        "if it fails most often: a nominator that hints again at once",
        "needs       nodes that KWOK serves (FAKE_NODES), a cluster that has no nodes of its own",
        "https://github.com/kubernetes/enhancements/issues/5278\n",
        "https://github.com/kubernetes/kubernetes/issues/135007\n",
        "The release notes of 1.34 say that hints are kept",
        "docs/findings/release-1-34-promises-to-keep-hints.md",
        "file        suites/scheduler/clearing/test_no_nodes.py::test_hint_is_cleared_without_nodes",
        "judge it    hintbound run --profile all --behaviour NNN-CLEAR-NO-NODES\n",
        "expectation gate: NominatedNodeNameForExpectation of kube-scheduler",
    ):
        assert word in shown, shown


@pytest.mark.parametrize(
    ("behaviour", "gates"), [("NNN-KUBELET-SILENT-ON-HINT", "on"), ("NNN-KUBELET-CLEARS-HINT", "off")]
)
def test_what_is_about_kubelets_is_to_be_judged_where_there_are_some(behaviour: str, gates: str) -> None:
    command = f"hintbound run --cluster kind:kind-configs/1.35-nnn-{gates}.yaml --profile all"

    assert f"judge it    {command} --behaviour {behaviour}\n" in call("explain", behaviour).output


def test_every_explanation_fits_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = catalogue.collect()
    monkeypatch.setattr(catalogue, "collect", lambda _paths: entries)
    for entry in entries:
        lines = call("explain", entry.behaviour.id).output.splitlines()
        assert len(lines) <= 40, entry.behaviour.id
        prose = [line for line in lines if "hintbound run" not in line and "suites/" not in line]
        assert all(len(line) <= 110 for line in prose if "http" not in line), entry.behaviour.id


def test_a_reader_of_a_list_may_go_away(tmp_path: Path) -> None:
    command = f"{sys.executable} -m hintbound list behaviours --format yaml"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("# GENERATED")
    assert "Traceback" not in done.stderr


def test_kind_configs_are_written_where_one_may(tmp_path: Path) -> None:
    assert call("kind-config", "--write", str(tmp_path / "new")).exit_code == 0
    assert (tmp_path / "new" / "1.35-nnn-on.yaml").is_file()

    with pytest.raises(CannotStart, match=r"cannot be written into .*1\.35-nnn-on\.yaml: .*exists"):
        CliRunner().invoke(
            cli.hintbound,
            ["kind-config", "--write", str(tmp_path / "new" / "1.35-nnn-on.yaml")],
            catch_exceptions=False,
        )
