"""A vendor's scheduler in the place of kube-scheduler: started, asked, refused with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hintbound import subjects
from hintbound.clusters import Capability, SchedulerSpec, open_cluster, parse
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.embedded.component import EmbeddedComponent
from hintbound.clusters.embedded.options import Options
from hintbound.clusters.embedded.process import Process
from hintbound.clusters.protocol import claimed
from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.protocol import Actor, ComponentKind
from tests.clusters.commands import nothing_runs
from tests.clusters.world import World

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIRST_FIT = Path(__file__).parents[1] / "subjects" / "first-fit"
HEAD = """\
apiVersion: hintbound.dev/v1alpha1
kind: Scheduler
metadata: {name: mine}
spec:
  schedulerName: my-scheduler
"""


def write(folder: Path, spec: str) -> subjects.Subject:
    file = folder / "subject.yaml"
    file.write_text(f"{HEAD}{spec}")
    return subjects.read(file)


async def refusal(subject: subjects.Subject, state: Path) -> str:
    """Why a cluster with this subject does not start; nothing of it is left then."""
    cluster = EmbeddedCluster(parse("embedded:1.35"), Options(subject=subject))
    with pytest.raises(CannotStart) as refused:
        await cluster.start()
    assert nothing_runs(state, 10) == {}
    return str(refused.value)


async def test_a_foreign_scheduler_serves_the_cluster_and_once_more_a_scenario() -> None:
    subject = subjects.read(FIRST_FIT)
    cluster = EmbeddedCluster(parse("embedded:1.35"), Options(subject=subject))
    await cluster.start()
    try:
        assert cluster.scheduler_name == "first-fit"
        assert Capability.OWN_SCHEDULER in cluster.capabilities
        states = {state.name: state for state in await cluster.components()}
        (scheduler,) = [state for state in states.values() if state.kind == ComponentKind.SCHEDULER]
        assert (scheduler.name, scheduler.version, scheduler.gates) == ("first-fit", "unknown", None)
        assert scheduler.source.endswith("first-fit/subject.yaml declares")
        left = await cluster.client(Actor.ADMIN).list(resources.NODES)
        assert left["items"] == [], "what it was tried with is still there"
        own = await cluster.add_scheduler(SchedulerSpec("another"))
        async with World(cluster) as world:
            node = await world.node()
            for name in ("first-fit", "another"):
                await world.pod(f"of-{name}", schedulerName=name)
            assert {await world.bound(f"of-{name}") for name in ("first-fit", "another")} == {node}
            await own.restart()
            await world.pod("later", schedulerName="another")
            assert await world.bound("later") == node
        with pytest.raises(
            CannotStart, match=r"subject\.yaml:8: first-fit cannot be given \{'Some': True\}\."
        ):
            await cluster.add_scheduler(SchedulerSpec("third", gates={"Some": True}))
    finally:
        await cluster.close()


async def test_one_that_dies_is_told_with_its_last_words(tmp_path: Path, state: Path) -> None:
    subject = write(tmp_path, '  command: [sh, -c, "echo no licence found; exit 3"]\n')
    said = await refusal(subject, state)
    first, *log = said.splitlines()
    assert first.startswith(f"{tmp_path}/subject.yaml:6: the subject mine exited with 3. The last lines of ")
    assert log == ["  no licence found"]


async def test_one_that_is_no_program_is_told(tmp_path: Path, state: Path) -> None:
    program = tmp_path / "run"
    program.write_text("neither a script nor a binary\n")
    program.chmod(0o755)
    said = await refusal(write(tmp_path, "  command: [./run]\n"), state)
    first = f"{tmp_path}/subject.yaml:6: the subject mine cannot be started: [Errno 8] Exec format error"
    assert said.startswith(first)


async def test_one_that_binds_nothing_is_not_ready(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patiently = Process.until_ready

    async def soon(process: Process, timeout: float) -> None:
        await patiently(process, 1 if process.name == "mine" else timeout)

    monkeypatch.setattr(Process, "until_ready", soon)
    said = await refusal(write(tmp_path, "  command: [sleep, '600']\n"), state)
    assert said.startswith(f"{tmp_path}/subject.yaml:6: the subject mine was not ready within 1 s.")


async def test_one_that_cannot_be_started_here_is_refused_before_anything_is(tmp_path: Path) -> None:
    nowhere = write(tmp_path, "  features: [Hints]\n")
    with pytest.raises(CannotStart) as refused:
        open_cluster(parse("embedded:1.35"), name="shared", subject=nowhere)
    assert str(refused.value) == (
        f"{tmp_path}/subject.yaml: mine has no spec.command, so no embedded cluster can start it. "
        "Add one, or judge it where it runs: --cluster existing:CONTEXT."
    )
    gated = write(tmp_path, "  command: [sleep, '600']\n")
    with pytest.raises(CannotStart, match=r"subject\.yaml:6: mine cannot be given Some\. Take \{gates\} in"):
        open_cluster(parse("embedded:1.35,kube-scheduler.Some=true"), name="shared", subject=gated)
    absent = write(tmp_path, "  command: [./absent]\n")
    with pytest.raises(CannotStart, match=r"subject\.yaml:6: no program .*/absent\."):
        open_cluster(parse("embedded:1.35"), name="shared", subject=absent)


async def test_one_name_only_is_no_scheduler_for_scenarios(tmp_path: Path) -> None:
    subject = write(tmp_path, "  command: [sleep, '600']\n")
    cluster = open_cluster(parse("embedded:1.35"), name="shared", subject=subject)
    assert Capability.OWN_SCHEDULER not in cluster.capabilities
    assert cluster.extras.lacking[Capability.OWN_SCHEDULER] == (
        "mine serves one schedulerName only: its command takes neither {schedulerName} nor {config}"
    )


async def test_what_it_says_itself_counts_and_what_it_does_not_is_taken_from_its_file(tmp_path: Path) -> None:
    gates = "{NominatedNodeNameForExpectation: false, Other: true}"
    example = (Path("subjects") / "kube-scheduler" / "subject.yaml").read_text()
    file = tmp_path / "subject.yaml"
    file.write_text(f'{example}  gates: {gates}\n  kubernetesVersion: "1.30"\n')
    cluster = EmbeddedCluster(parse("embedded:1.35"), Options(subject=subjects.read(file)))
    await cluster.start()
    try:
        state = await cluster.component("kube-scheduler").state()
    finally:
        await cluster.close()
    assert (state.version, (state.gates or {})["NominatedNodeNameForExpectation"]) == ("v1.35.4", True)
    assert state.source == (f"/metrics; unlike as {file} declares: NominatedNodeNameForExpectation, Other")


async def test_one_without_metrics_is_as_its_file_declares(
    cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = claimed(write(tmp_path, '  kubernetesVersion: "1.36"\n  gates: {Some: true}\n'))
    client = cluster.client(Actor.ADMIN)
    process = cluster.component("kube-apiserver").process

    async def no_such_page(path: str, **_how: object) -> str:
        return await Client.get_text(client, f"/no-such-page{path}")

    monkeypatch.setattr(client, "get_text", no_such_page)
    component = EmbeddedComponent(process, [], client, lambda: None, theirs)
    assert await component.state() == theirs
