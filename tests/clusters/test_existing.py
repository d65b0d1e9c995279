"""Somebody else's cluster: taken as it is, used by one user of one context, left as it was."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from hintbound import subjects
from hintbound.clusters import open_cluster, parse
from hintbound.clusters.embedded.cluster import EmbeddedCluster
from hintbound.clusters.existing import ExistingCluster
from hintbound.clusters.fake_nodes import FAKE_TAINT, fake_node
from hintbound.errors import CannotStart
from hintbound.kube import resources
from hintbound.kube.client import Client
from hintbound.kube.resources import Resource
from hintbound.protocol import Actor, ComponentKind
from hintbound.subjects import Subject
from tests.clusters.commands import Command, folders, nothing_runs, run
from tests.clusters.world import gone, namespace, pod, processes_of, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

_KEPT: tuple[Resource, ...] = (
    resources.NAMESPACES,
    resources.NODES,
    resources.PRIORITY_CLASSES,
    resources.CLUSTER_ROLES,
    resources.CLUSTER_ROLE_BINDINGS,
)
_CLASSES = ("hintbound-low", "hintbound-mid", "hintbound-high", "hintbound-never")

Use = Callable[..., None]


@pytest.fixture
def use(ordinary: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Makes a kubeconfig whose context `theirs` is a user of the ordinary cluster."""

    def write(user: str = Actor.ADMIN, server: str | None = None) -> None:
        config = yaml.safe_load(ordinary.kubeconfig(user).read_text())
        config["contexts"][0]["name"] = "theirs"
        config["current-context"] = "another"
        config["clusters"][0]["cluster"]["server"] = server or ordinary.server
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(file))

    write()
    return write


@pytest_asyncio.fixture(loop_scope="session")
async def admin(ordinary: EmbeddedCluster) -> AsyncIterator[Client]:
    """The owner of that cluster. It has no priority classes of ours, as theirs has none."""
    client = ordinary.client(Actor.ADMIN)
    for name in _CLASSES:
        await client.request("DELETE", resources.PRIORITY_CLASSES.path(name=name))
    yield client


async def _names(client: Client) -> dict[str, set[str]]:
    """What is there and not going."""
    return {
        resource.plural: {
            item["metadata"]["name"]
            for item in (await client.list(resource))["items"]
            if "deletionTimestamp" not in item["metadata"]
        }
        for resource in _KEPT
    }


async def test_it_is_left_as_it_was(use: Use, admin: Client, state: Path) -> None:
    before = await _names(admin)
    cluster = open_cluster(parse("existing:theirs"), name="shared")
    await cluster.start()
    during = await _names(admin)
    assert folders(state) != []
    await cluster.close()
    await cluster.close()

    assert during["priorityclasses"] - before["priorityclasses"] == set(_CLASSES)
    assert await _names(admin) == before
    assert processes_of(state) == {}
    assert folders(state) == []


async def test_what_was_there_before_is_not_ours_to_remove(use: Use, admin: Client) -> None:
    theirs = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "hintbound-low"},
        "value": 7,
    }
    created = await admin.create(resources.PRIORITY_CLASSES, theirs)
    cluster = open_cluster(parse("existing:theirs"), name="shared")
    await cluster.start()
    await cluster.close()

    kept = await admin.get(resources.PRIORITY_CLASSES, "hintbound-low")
    assert kept["metadata"]["uid"] == created["metadata"]["uid"]
    assert kept["value"] == 7


@pytest_asyncio.fixture(loop_scope="session")
async def existing(use: Use, admin: Client) -> AsyncIterator[ExistingCluster]:
    cluster = open_cluster(parse("existing:theirs"), name="shared")
    assert isinstance(cluster, ExistingCluster)
    await cluster.start()
    yield cluster
    await cluster.close()


async def test_pods_can_be_created_as_soon_as_a_namespace_is_usable(
    existing: ExistingCluster, admin: Client
) -> None:
    for number in range(5):
        name = f"new-{number}"
        await admin.create(resources.NAMESPACES, namespace(name))
        await existing.usable(name)
        await existing.client(Actor.AUTHOR).create(resources.PODS, pod("p"), namespace=name)
        await admin.delete(resources.NAMESPACES, name)


async def test_namespace_that_never_becomes_usable_is_told(
    existing: ExistingCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hintbound.clusters.access._USABLE_WITHIN", 0.2)

    with pytest.raises(
        TimeoutError, match=r"namespace absent got no service account `default` within 0\.2 s"
    ):
        await existing.usable("absent")


async def test_nobody_elses_pods_land_on_fake_nodes(existing: ExistingCluster, admin: Client) -> None:
    assert existing.node_taints == (FAKE_TAINT,)
    await admin.create(resources.NAMESPACES, namespace("guests"))
    await existing.usable("guests")
    await admin.create(resources.NODES, fake_node("fake-1", taints=existing.node_taints))
    try:
        tolerations = [{"key": FAKE_TAINT["key"], "operator": "Exists"}]
        await admin.create(resources.PODS, pod("ours", tolerations=tolerations), namespace="guests")
        ran = await until(admin, resources.PODS, "ours", _runs, namespace="guests")
        # Only now does the scheduler surely know the node.
        await admin.create(resources.PODS, pod("stranger"), namespace="guests")
        refused = await until(admin, resources.PODS, "stranger", _is_unschedulable, namespace="guests")
        assert ran["spec"]["nodeName"] == "fake-1"
        assert "untolerated taint" in refused["status"]["conditions"][0]["message"]
    finally:
        await admin.delete(resources.PODS, "stranger", namespace="guests")
        await admin.delete(resources.PODS, "ours", namespace="guests", grace_period=0)
        await admin.delete(resources.NODES, "fake-1")
        await admin.delete(resources.NAMESPACES, "guests")


def _runs(pod: dict[str, object]) -> bool:
    return pod["status"].get("phase") == "Running"  # type: ignore[attr-defined,no-any-return]


def _is_unschedulable(pod: dict[str, object]) -> bool:
    conditions = pod["status"].get("conditions", [])  # type: ignore[attr-defined]
    return any(condition.get("reason") == "Unschedulable" for condition in conditions)


async def test_two_runs_on_one_cluster_do_not_disturb_each_other(
    existing: ExistingCluster, admin: Client
) -> None:
    second = open_cluster(parse("existing:theirs"), name="shared")
    await second.start()
    await second.close()

    names = await _names(admin)
    assert names["priorityclasses"] >= set(_CLASSES), "those of the first run are still in use"
    assert not [name for name in names["nodes"] if "canary" in name]


async def test_components_are_told_as_far_as_one_can_see(existing: ExistingCluster) -> None:
    states = {state.name: state for state in await existing.components()}

    assert states["kube-apiserver"].version == "v1.35.4"
    assert (states["kube-apiserver"].gates or {})["ClearingNominatedNodeNameAfterBinding"] is True
    assert states["kube-scheduler"].gates is None
    assert existing.audit_logs() == ()


async def test_user_who_may_too_little_is_told_what_is_missing(use: Use, admin: Client, state: Path) -> None:
    before = await _names(admin)
    use(Actor.OBSERVER)
    cluster = open_cluster(parse("existing:theirs"), name="shared")

    with pytest.raises(CannotStart) as error:
        await cluster.start()

    assert str(error.value) == (
        "the cluster of context 'theirs' cannot be used: its user may not (namespaces: create, delete;"
        " nodes: create, delete; nodes/status: patch; pods: create, update, patch, delete, deletecollection;"
        " pods/status: patch; priorityclasses: create, deletecollection;"
        " leases: get, list, watch, create, update; serviceaccounts: list, watch)."
        " Grant that, or use another context."
    )
    assert await _names(admin) == before
    assert folders(state) == []


async def test_absent_context_is_told(use: Use) -> None:
    with pytest.raises(CannotStart, match=r"unknown context in .*: 'their'\. Did you mean 'theirs'\?"):
        open_cluster(parse("existing:their"), name="shared")


async def test_unreachable_apiserver_is_told_in_one_line(use: Use, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        use(server=f"https://127.0.0.1:{closed.getsockname()[1]}")
        code, _, err = run(
            tmp_path / "state", "run", "--cluster", "existing:theirs", "--reports", str(tmp_path)
        )

    assert code == 254
    line = err.strip().splitlines()[-1]
    assert line.startswith(
        "hintbound: the cluster of context 'theirs' cannot be used: GET /version: no connection"
    )
    assert line.endswith("See whether kubectl can use it.")
    assert "Traceback" not in err


async def test_killed_run_leaves_no_process_and_the_next_removes_its_credentials(
    use: Use, admin: Client, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    script = """
import asyncio
from hintbound.clusters import open_cluster, parse

async def main(cluster):
    await cluster.start()
    await asyncio.sleep(60)

asyncio.run(main(open_cluster(parse("existing:theirs"), name="shared")))
"""
    killed = Command(state, script=script)
    killed.runs("kwok")
    (folder,) = folders(state)
    assert (state / "clusters" / folder / "kubeconfig.yaml").stat().st_mode & 0o077 == 0
    killed.process.kill()
    killed.end()

    assert nothing_runs(state, 2) == {}
    next_run = open_cluster(parse("existing:theirs"), name="shared")
    await next_run.start()
    assert folder not in folders(state)
    await next_run.close()
    for node in (await admin.list(resources.NODES))["items"]:
        if "canary" in node["metadata"]["name"]:
            await admin.delete(resources.NODES, node["metadata"]["name"])


async def test_whole_run_leaves_it_as_it_was(use: Use, admin: Client, tmp_path: Path) -> None:
    before = await _names(admin)
    command = Command(
        tmp_path / "state", "run", "--cluster", "existing:theirs", "--reports", str(tmp_path / "reports")
    )
    code, out, err = command.end()

    assert code == 0, out + err
    after = await _names(admin)
    assert after == before
    for name in [n["metadata"]["name"] for n in (await admin.list(resources.NAMESPACES))["items"]]:
        if name.startswith("hb-"):
            await gone(admin, resources.NAMESPACES, name)


def subject(folder: Path, scheduler_name: str) -> Subject:
    file = folder / "subject.yaml"
    file.write_text(
        "apiVersion: hintbound.dev/v1alpha1\nkind: Scheduler\nmetadata: {name: theirs}\n"
        f"spec: {{schedulerName: {scheduler_name}, gates: {{Some: true}}}}\n"
    )
    return subjects.read(file)


async def test_a_subject_that_runs_there_is_taken_as_its_file_declares(
    use: Use, admin: Client, tmp_path: Path
) -> None:
    before = await _names(admin)
    theirs = subject(tmp_path, "default-scheduler")
    cluster = open_cluster(parse("existing:theirs"), name="shared", subject=theirs)
    await cluster.start()
    try:
        assert cluster.scheduler_name == "default-scheduler"
        (state,) = [state for state in await cluster.components() if state.kind == ComponentKind.SCHEDULER]
        assert (state.name, state.version, state.gates) == ("theirs", "unknown", {"Some": True})
    finally:
        await cluster.close()
    assert await _names(admin) == before


async def test_a_subject_that_does_not_run_there_is_told(
    use: Use, admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await _names(admin)
    monkeypatch.setattr("hintbound.clusters.existing._HEARD_WITHIN", 0.5)
    nobody = subject(tmp_path, "nobody")
    cluster = open_cluster(parse("existing:theirs"), name="shared", subject=nobody)
    with pytest.raises(CannotStart) as refused:
        await cluster.start()
    assert str(refused.value) == (
        "the cluster of context 'theirs' cannot be used: nobody binds pods of schedulerName 'nobody' there "
        f"within 0.5 s ({nobody.file}): its pod stays pending. See that theirs runs."
    )
    assert await _names(admin) == before
