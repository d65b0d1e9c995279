"""What `--cluster SPEC` means, and the one line for each way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound.clusters import ClusterSpec, parse
from hintbound.errors import CannotStart
from hintbound.protocol import ComponentKind

_SCHEDULER = ComponentKind.SCHEDULER

_MEANINGS = [
    ("embedded", ClusterSpec("embedded")),
    (" embedded ", ClusterSpec("embedded")),
    ("embedded:", ClusterSpec("embedded")),
    ("embedded:1.35", ClusterSpec("embedded", "1.35")),
    ("embedded:1.35.4", ClusterSpec("embedded", "1.35.4")),
    ("embedded:1.35,A1=true", ClusterSpec("embedded", "1.35", {"A1": True})),
    ("embedded,Aa=false", ClusterSpec("embedded", gates={"Aa": False})),
    ("embedded:Aa=false", ClusterSpec("embedded", gates={"Aa": False})),
    ("embedded:1.35, Aa=True , Bb=FALSE,", ClusterSpec("embedded", "1.35", {"Aa": True, "Bb": False})),
    ("embedded:1.37,emulate=1.35", ClusterSpec("embedded", "1.37", emulate="1.35")),
    ("embedded:src=/a/b:c", ClusterSpec("embedded", src=Path("/a/b:c"))),
    (
        "embedded:kube-scheduler.Aa=true,Aa=false",
        ClusterSpec("embedded", gates={"Aa": False}, component_gates={_SCHEDULER: {"Aa": True}}),
    ),
    ("kind:a/b.yaml", ClusterSpec("kind", "a/b.yaml")),
    ("kind:~/a.yaml", ClusterSpec("kind", str(Path("~/a.yaml").expanduser()))),
    ("kind:b.yaml,image=own/node:v1.35.4", ClusterSpec("kind", "b.yaml", image="own/node:v1.35.4")),
    ("kind:cluster=dev", ClusterSpec("kind", cluster="dev")),
    ("existing:kind-dev", ClusterSpec("existing", "kind-dev")),
    ("existing:arn:aws:eks:x:1:cluster/y", ClusterSpec("existing", "arn:aws:eks:x:1:cluster/y")),
    ("existing:user@host", ClusterSpec("existing", "user@host")),
]

_ERRORS = [
    ("", "unknown cluster provider ''. Known: embedded, kind, existing."),
    (
        "Embeded:1.35",
        "unknown cluster provider 'Embeded'. Did you mean 'embedded'? Known: embedded, kind, existing.",
    ),
    (
        "embedded:1.35,Gate",
        "'Gate' in cluster 'embedded:1.35,Gate' has no value. Write it as key=value.",
    ),
    (
        "embedded:Aa=true,Aa=true",
        "'Aa' stands twice in cluster 'embedded:Aa=true,Aa=true'. Keep one of them.",
    ),
    ("embedded:Aa=maybe", "gate Aa='maybe' is no boolean. Write true or false."),
    ("embedded:Aa=", "gate Aa='' is no boolean. Write true or false."),
    ("embedded:Aa=1", "gate Aa='1' is no boolean. Write true or false."),
    (
        "embedded:version=1.35",
        "'version' in cluster 'embedded:version=1.35' is neither an option (emulate, src) nor a feature gate."
        " Write gates as Kubernetes spells them, e.g. NominatedNodeNameForExpectation=true.",
    ),
    ("embedded:emulate=35", "emulate='35' is no Kubernetes minor. Write e.g. emulate=1.34."),
    ("embedded:src=", "src= in cluster 'embedded:src=' names no folder. Write src=DIR."),
    (
        "embedded:kube-schedulr.Aa=true",
        "unknown component 'kube-schedulr'. Did you mean 'kube-scheduler'?"
        " Known: kube-apiserver, kube-controller-manager, kube-scheduler.",
    ),
    (
        "embedded:kwok.Aa=true",
        "unknown component 'kwok'. Known: kube-apiserver, kube-controller-manager, kube-scheduler.",
    ),
    (
        "embedded:1.35,src=/x",
        "cluster 'embedded:1.35,src=/x' names both a version and a source folder. Keep one of them.",
    ),
    (
        "kind:a.yaml,@nnn-on",
        "cluster 'kind:a.yaml,@nnn-on' sets ClearingNominatedNodeNameAfterBinding, "
        "NominatedNodeNameForExpectation, but a kind cluster has the gates of its config."
        " Name another config, e.g. kind:kind-configs/1.35-nnn-on.yaml; image=TAG may follow.",
    ),
    (
        "kind",
        "cluster 'kind' names no config. Write kind:CONFIG.yaml, e.g. kind:kind-configs/1.35-nnn-on.yaml.",
    ),
    ("kind:a.yaml,image=", "cluster 'kind:a.yaml,image=' names no image. Write it as image=NAME."),
    (
        "kind:a.yaml,cluster=dev",
        "cluster 'kind:a.yaml,cluster=dev' names a cluster that runs, and how to make one."
        " Write kind:cluster=NAME alone, or kind:CONFIG.yaml.",
    ),
    ("kind:~no-such-user/a.yaml", "'~no-such-user/a.yaml' is in the home of nobody. Write the path out."),
    ("embedded:src=~no-such-user/k", "'~no-such-user/k' is in the home of nobody. Write the path out."),
    ("existing", "cluster 'existing' names no context. Write existing:CONTEXT."),
    ("existing:", "cluster 'existing:' names no context. Write existing:CONTEXT."),
    (
        "existing:dev,Aa=true",
        "cluster 'existing:dev,Aa=true' sets Aa, but an existing cluster is taken as it is."
        " Write existing:CONTEXT alone.",
    ),
]


@pytest.mark.parametrize(("text", "meaning"), _MEANINGS)
def test_spec_means(text: str, meaning: ClusterSpec) -> None:
    assert parse(text) == meaning


@pytest.mark.parametrize("text", [text for text, _ in _MEANINGS])
def test_spec_reads_what_it_writes(text: str) -> None:
    spec = parse(text)

    assert parse(str(spec)) == spec


@pytest.mark.parametrize(("text", "line"), _ERRORS)
def test_wrong_spec_is_told_in_one_line(text: str, line: str) -> None:
    with pytest.raises(CannotStart) as error:
        parse(text)

    assert str(error.value) == line


def test_gate_of_a_component_wins_over_the_one_of_all() -> None:
    spec = parse("embedded:Aa=false,Bb=true,kube-scheduler.Aa=true")

    assert spec.gates_of(ComponentKind.SCHEDULER) == {"Aa": True, "Bb": True}
    assert spec.gates_of(ComponentKind.APISERVER) == {"Aa": False, "Bb": True}
