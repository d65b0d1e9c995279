"""Mutants as data: read strictly, and each there for something."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound import mutants
from hintbound.clusters import parse
from hintbound.errors import CannotStart

HEAD = "title: It breaks.\nlike: nothing\n"
RULE = (
    "rules:\n- name: a\n  actor: {actor}\n"
    "  match: {{verb: patch, resource: pods/status}}\n  do: {{swallow: {{}}}}\n"
)


def written(folder: Path, text: str) -> Path:
    file = folder / "broken.yaml"
    file.write_text(text)
    return file


def test_every_mutant_can_be_read_and_names_a_cluster() -> None:
    known = mutants.all_mutants()

    assert len(known) >= 25
    for one in known:
        assert parse(one.cluster).provider == "embedded", one.name
        assert one.title.endswith("."), one.name


def test_a_mutant_is_found_by_its_name_and_by_its_file(tmp_path: Path) -> None:
    assert mutants.named("never-clears").file.stem == "never-clears"
    assert mutants.named(str(written(tmp_path, HEAD + "second-scheduler: true\n"))).second_scheduler


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "broken.yaml:1: it breaks nothing"),
        (HEAD + "rule: []\n", "broken.yaml:3: unknown key .*'rule'"),
        (HEAD + RULE.format(actor="kube-schedular"), r"broken.yaml:5: .*kube-schedular"),
        (
            HEAD + "rules:\n- name: a\n  match: {verb: patch}\n  do: {swallow: {}}\n",
            "broken.yaml:4: .*'a' names no actor",
        ),
        (HEAD + "flags: {kube-api: [--v=4]}\n", "broken.yaml:3: .*kube-api"),
        (HEAD + "believes: {kube-apiserver: {Gate: maybe}}\n", "broken.yaml:3: .*not true or false"),
    ],
)
def test_what_is_no_mutant_is_refused_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CannotStart, match=said):
        mutants.read(written(tmp_path, text))


def test_a_name_that_is_none_lists_those_that_are() -> None:
    with pytest.raises(CannotStart, match="never-clears"):
        mutants.named("never-cleans")
