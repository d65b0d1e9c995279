"""subject.yaml: what it says is taken as it stands, and what is wrong in it is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound import data, subjects
from hintbound.errors import CannotStart
from hintbound.protocol import Feature
from hintbound.subjects import PLACEHOLDERS, Subject

GOOD = """\
apiVersion: hintbound.dev/v1alpha1
kind: Scheduler
metadata:
  name: mine
spec:
  schedulerName: my-scheduler
  command:
  - ./run
  - --kubeconfig={kubeconfig}
  - --feature-gates={gates}
  - --secure-port={port}
  readyPath: /readyz
  kubernetesVersion: "1.35"
  gates:
    NominatedNodeNameForExpectation: false
  features: [Hints, Metrics, FeatureGates]
"""
FIRST_FIT = Path(__file__).parent / "first-fit"


def write(folder: Path, text: str) -> Path:
    file = folder / "subject.yaml"
    file.write_text(text)
    return file


def program(folder: Path, mode: int = 0o755) -> Path:
    file = folder / "run"
    file.touch()
    file.chmod(mode)
    return file


def test_all_that_it_says_is_taken(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD)
    assert subjects.read(tmp_path) == subjects.read(file)
    assert subjects.read(file) == Subject(
        kind="Scheduler",
        name="mine",
        file=file,
        scheduler_name="my-scheduler",
        command=("./run", "--kubeconfig={kubeconfig}", "--feature-gates={gates}", "--secure-port={port}"),
        command_at=f"{file}:8",
        ready_path="/readyz",
        kubernetes_version="1.35",
        gates={"NominatedNodeNameForExpectation": False},
        features=frozenset({Feature.HINTS, Feature.METRICS, Feature.FEATURE_GATES}),
    )


def test_little_need_be_said(tmp_path: Path) -> None:
    head, _, _ = GOOD.partition("  command:")
    subject = subjects.read(write(tmp_path, head))
    assert (subject.scheduler_name, subject.command, subject.features) == ("my-scheduler", (), frozenset())
    assert (subject.kubernetes_version, subject.gates, subject.ready_path) == ("", None, "/healthz")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("v1alpha1", "v2", "1: unknown apiVersion 'hintbound.dev/v2'. Did you mean"),
        ("kind: Scheduler", "kind: Scheduller", "2: unknown kind 'Scheduller'. Did you mean 'Scheduler'?"),
        ("kind: Scheduler", "kind: Nominator", "2: unknown kind 'Nominator'."),
        ("name: mine", "name: Mine!", "4: metadata.name cannot be 'Mine!'. Write it as my-scheduler."),
        ("name: mine", "name: etcd", "4: etcd is another part of the control plane. Choose another name."),
        ("  schedulerName: my-scheduler\n", "", "6: spec has no 'schedulerName'. Add it."),
        ("schedulerName: my", "schedulerName: My", "6: spec.schedulerName cannot be 'My-scheduler'."),
        ("readyPath", "readypath", "12: unknown key of spec 'readypath'. Did you mean 'readyPath'?"),
        (
            "{kubeconfig}",
            "{kubeConfig}",
            "9: unknown placeholder '{kubeConfig}'. Did you mean '{kubeconfig}'?",
        ),
        ("  - ./run\n", "  - '{gates}'\n", "8: no program is called {gates}. Name the program first"),
        ("  - ./run\n", "  - 1\n", "8: spec.command[0] is '1', not a text. Put it in quotes: \"1\"."),
        ("/readyz", "readyz", "12: spec.readyPath cannot be 'readyz'. Write it as /readyz."),
        ('"1.35"', "1.35", "13: spec.kubernetesVersion is '1.35', not a text. Put it in quotes: \"1.35\"."),
        ('"1.35"', '"2"', "13: spec.kubernetesVersion cannot be '2'. Write it as 1.35."),
        ("Expectation: false", "Expectation: off-ish", "15: spec.gates.NominatedNodeNameForExpectation is "),
        ("    Nominated", "    nominated", "15: 'nominatedNodeNameForExpectation' is no feature gate."),
        ("[Hints,", "[Hint,", "16: unknown feature 'Hint'. Did you mean 'Hints'?"),
        ("features: [Hints, ", "features: Hints # [", "16: spec.features is 'Hints', not a list. Write"),
        ("--secure-port={port}", "--port=1", "16: the feature Metrics needs {port} in spec.command."),
        ("--feature-gates={gates}", "-v", "16: the feature FeatureGates needs {gates} in spec.command."),
        ("FeatureGates]", "ConfigurationFile]", "16: the feature ConfigurationFile needs {config} in spec."),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(CannotStart) as refused:
        subjects.read(write(tmp_path, GOOD.replace(old, new)))
    assert str(refused.value).startswith(f"{tmp_path}/subject.yaml:{message}")


def test_a_path_to_be_asked_needs_a_port(tmp_path: Path) -> None:
    text = GOOD.replace("  - --secure-port={port}\n", "").replace("Metrics, ", "")
    with pytest.raises(CannotStart, match=r":11: spec\.readyPath is asked on \{port\}, which spec\.command"):
        subjects.read(write(tmp_path, text))


def test_no_words_make_no_command(tmp_path: Path) -> None:
    text = GOOD.partition("  command:")[0] + "  command: []\n"
    with pytest.raises(CannotStart, match=r":7: spec\.command is empty\. Name a program, or remove it\."):
        subjects.read(write(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"subject\.yaml cannot be read: no such file or directory\."):
        subjects.read(tmp_path)
    with pytest.raises(CannotStart, match=r"nowhere cannot be read: no such file or directory\."):
        subjects.read(tmp_path / "nowhere")
    with pytest.raises(CannotStart, match=r"cannot be read: file name too long\."):
        subjects.read(Path("x" * 300))


def test_placeholders_are_filled_in_and_what_has_no_value_is_left_out(tmp_path: Path) -> None:
    subject = subjects.read(write(tmp_path, GOOD))
    own = program(tmp_path)
    values = {name: f"<{name}>" for name in PLACEHOLDERS}
    assert subject.arguments(values) == [
        str(own),
        "--kubeconfig=<kubeconfig>",
        "--feature-gates=<gates>",
        "--secure-port=<port>",
    ]
    assert subject.arguments({**values, "gates": ""}) == [
        str(own),
        "--kubeconfig=<kubeconfig>",
        "--secure-port=<port>",
    ]


def test_a_program_is_found_beside_the_file_or_in_path(tmp_path: Path) -> None:
    own = program(tmp_path)
    for word, found in (("./run", own), ('"{folder}/run"', own), ("/bin/sh", Path("/bin/sh"))):
        subject = subjects.read(write(tmp_path, GOOD.replace("./run", word)))
        assert Path(subject.program()) == found
    assert subjects.read(write(tmp_path, GOOD.replace("./run", "sh"))).program().endswith("/sh")


def test_a_program_that_cannot_be_started_is_told_with_its_line(tmp_path: Path) -> None:
    subject = subjects.read(write(tmp_path, GOOD))
    with pytest.raises(
        CannotStart, match=r"subject\.yaml:8: no program .*/run\. Build it, or mend the path\."
    ):
        subject.program()
    program(tmp_path, 0o644)
    with pytest.raises(CannotStart, match=r"subject\.yaml:8: .*/run may not be executed\. chmod \+x it\."):
        subject.program()
    bare = subjects.read(write(tmp_path, GOOD.replace("./run", "run")))
    with pytest.raises(CannotStart, match=r":8: no program 'run' in PATH\. Write \./run for the one beside"):
        bare.program()
    absent = subjects.read(write(tmp_path, GOOD.replace("./run", "no-such-program")))
    with pytest.raises(CannotStart, match=r":8: no program 'no-such-program' in PATH\. Install it\."):
        absent.program()


def test_our_own_are_found_by_name_and_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ours = subjects.read(Path("kube-scheduler"))
    assert ours == subjects.read(Path("subjects/kube-scheduler"))
    assert ours.file == data.folder("subjects") / "kube-scheduler" / "subject.yaml"
    assert subjects.shown(ours.file) == subjects.named(ours.file) == "subjects/kube-scheduler/subject.yaml"
    theirs = write(tmp_path, GOOD)
    assert subjects.shown(theirs) == "subject.yaml"
    assert subjects.named(theirs) == str(theirs)


def test_kube_scheduler_has_every_feature() -> None:
    ours = subjects.read(Path("kube-scheduler"))
    assert ours.features == set(Feature)
    assert all(ours.takes(name) for name in ("config", "gates", "emulatedVersion", "port"))


def test_the_bad_example_of_our_tests_is_a_good_file() -> None:
    assert subjects.read(FIRST_FIT).features == {Feature.HINTS, Feature.RESERVATIONS, Feature.CONDITIONS}


def test_vendors_can_read_of_every_key_feature_and_placeholder() -> None:
    page = (data.folder("docs") / "vendors.md").read_text()
    words = [f"`{feature}`" for feature in Feature] + [f"`{{{name}}}`" for name in PLACEHOLDERS]
    words += ["schedulerName:", "command:", "readyPath", "kubernetesVersion:", "gates:", "features:"]
    assert [word for word in words if word not in page] == []
