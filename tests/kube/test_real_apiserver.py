"""The same promises against a real etcd and kube-apiserver: killed, and with its history compacted."""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from hintbound.errors import CannotStart
from hintbound.kube import (
    Backoff,
    Change,
    ChangeType,
    Client,
    Informer,
    Initial,
    Json,
    Key,
    PatchType,
    Source,
    Timing,
    component_version,
    errors,
    feature_gates,
    resources,
)
from hintbound.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from tests.kube.real import Cable, ControlPlane
from tests.kube.test_client import Recorder
from tests.kube.test_informer import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]
_numbers = itertools.count()


def control_plane(folder: Path, *flags: str) -> ControlPlane:
    try:
        return ControlPlane(folder, *flags)
    except CannotStart as error:
        if "HINTBOUND_ASSETS" in os.environ:
            raise
        pytest.skip(f"no binaries: {error}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    async with control_plane(tmp_path_factory.mktemp("plane")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def uncached(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """An apiserver that serves watches from etcd itself."""
    async with control_plane(tmp_path, "--watch-cache=false") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with plane.client() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def namespace(client: Client) -> str:
    name = f"n{next(_numbers)}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name


def config_map(name: str, **data: str) -> Json:
    return {"metadata": {"name": name}, "data": data}


POD_SPEC: Json = {
    "schedulingGates": [{"name": "example.com/hold"}],
    "containers": [{"name": "c", "image": "none"}],
}


# Answers


async def test_refusals_have_the_types_that_the_codes_promise(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map("m", a="1"), namespace=namespace)
    test = [{"op": "test", "path": "/data/a", "value": "2"}]

    with pytest.raises(errors.AlreadyExists, match='configmaps "m" already exists'):
        await client.create(CONFIG_MAPS, config_map("m"), namespace=namespace)
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "x", namespace=namespace)
    with pytest.raises(errors.Conflict, match="the object has been modified"):
        await client.patch(CONFIG_MAPS, "m", {"metadata": {"resourceVersion": "1"}}, namespace=namespace)
    with pytest.raises(errors.Invalid, match="field is immutable"):
        await client.patch(CONFIG_MAPS, "m", {"metadata": {"uid": "0"}}, namespace=namespace)
    with pytest.raises(errors.Invalid, match="due to an error in our request"):
        await client.patch(CONFIG_MAPS, "m", test, PatchType.JSON, namespace=namespace)
    with pytest.raises(errors.Conflict, match="does not match the UID"):
        await client.delete(CONFIG_MAPS, "m", namespace=namespace, uid="0")
    with pytest.raises(errors.BadRequest):
        await client.create(CONFIG_MAPS, {"metadata": {"name": "b"}, "data": 3}, namespace=namespace)
    with pytest.raises(errors.Timeout, match="Too large resource version") as late:
        await client.list(CONFIG_MAPS, resource_version="999999999")
    assert late.value.retry_after == 1
    async with plane.client("nobody") as nobody:
        with pytest.raises(errors.Forbidden, match='User "nobody" cannot get'):
            await nobody.get(CONFIG_MAPS, "m", namespace=namespace)


async def test_pods_status_takes_every_patch_type(client: Client, namespace: str) -> None:
    await client.create(PODS, {"metadata": {"name": "p"}, "spec": POD_SPEC}, namespace=namespace)
    bodies: dict[PatchType, Any] = {
        PatchType.MERGE: {"status": {"nominatedNodeName": "merge"}},
        PatchType.STRATEGIC: {"status": {"nominatedNodeName": "strategic"}},
        PatchType.JSON: [{"op": "replace", "path": "/status/nominatedNodeName", "value": "json"}],
    }

    for patch_type, body in bodies.items():
        pod = await client.patch(PODS, "p", body, patch_type, namespace=namespace, subresource="status")
        assert pod["status"]["nominatedNodeName"] == patch_type.name.lower()

    hint = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "status": {"nominatedNodeName": "ssa"},
    }
    with pytest.raises(errors.Conflict, match="nominatedNodeName"):
        await client.apply(PODS, hint, field_manager="m", namespace=namespace, subresource="status")
    pod = await client.apply(
        PODS, hint, field_manager="m", force=True, namespace=namespace, subresource="status"
    )
    assert pod["status"]["nominatedNodeName"] == "ssa"


async def test_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("m"), namespace=namespace, dry_run=True)

    assert (await client.list(CONFIG_MAPS, namespace=namespace))["items"] == []


async def test_delete_honours_its_options(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("m"), namespace=namespace)
    metadata = made["metadata"]

    gone = await client.delete(
        CONFIG_MAPS,
        "m",
        namespace=namespace,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        grace_period=0,
    )

    assert gone["status"] == "Success"


async def test_id_of_a_call_is_the_id_of_its_audit_events(plane: ControlPlane, namespace: str) -> None:
    tap = Recorder()
    async with plane.client(tap=tap) as client:
        await client.create(CONFIG_MAPS, config_map("m"), namespace=namespace)

    _, call, _ = tap.told[0]
    events = [orjson.loads(line) for line in plane.audit_log.read_bytes().splitlines()]
    (event,) = [event for event in events if event["auditID"] == call.id]
    assert (event["verb"], event["objectRef"]["namespace"]) == ("create", namespace)
    assert tap.last.headers["audit-id"] == call.id


async def test_gates_and_version_are_read_from_metrics(client: Client) -> None:
    page = await client.get_text("/metrics")

    assert feature_gates(page)["NominatedNodeNameForExpectation"] is True
    assert (component_version(page) or "").startswith("v1.35.")


async def test_manifest_kinds_are_served_where_they_are_said_to_be(client: Client) -> None:
    known = [value for value in vars(resources).values() if isinstance(value, resources.Resource)]

    unlisted = (resources.BINDINGS, resources.POD_GROUPS)  # only made; there only with GenericWorkload
    for resource in [known_one for known_one in known if known_one not in unlisted]:
        assert (await client.list(resource, limit=1))["kind"] == f"{resource.kind}List"
    assert len(known) >= 18


async def test_real_429_of_priority_and_fairness(plane: ControlPlane, client: Client, namespace: str) -> None:
    """A level without seats still lets one request through; one that never ends takes that place."""
    await client.create(PODS, {"metadata": {"name": "p"}, "spec": POD_SPEC}, namespace=namespace)
    await allow_hints(client)
    await starve(client, "hinter")
    async with plane.client("hinter") as hinter, hogging(plane, "hinter", namespace):
        refusal = await first_refusal(hinter, namespace)

    assert refusal.retry_after is not None
    assert refusal.retry_after >= 1
    assert refusal.message == "Too many requests, please try again later."
    assert refusal.headers["content-type"].startswith("text/plain")
    assert "x-kubernetes-pf-prioritylevel-uid" in refusal.headers


async def first_refusal(client: Client, namespace: str) -> errors.TooManyRequests:
    """The level takes effect within a second."""
    patch = {"status": {"nominatedNodeName": "n"}}
    async with asyncio.timeout(30):
        while True:
            try:
                await client.patch(PODS, "p", patch, namespace=namespace, subresource="status")
            except errors.TooManyRequests as error:
                return error


async def allow_hints(client: Client) -> None:
    rule = {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "hinter"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "hinter"}
    await client.create(resources.CLUSTER_ROLES, {"metadata": {"name": "hinter"}, "rules": [rule]})
    binding = {"metadata": {"name": "hinter"}, "roleRef": role, "subjects": [subject]}
    await client.create(resources.CLUSTER_ROLE_BINDINGS, binding)


async def starve(client: Client, user: str) -> None:
    limited = {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    level = {"metadata": {"name": "starved"}, "spec": {"type": "Limited", "limited": limited}}
    rule = {
        "subjects": [{"kind": "User", "user": {"name": user}}],
        "resourceRules": [
            {"verbs": ["patch"], "apiGroups": [""], "resources": ["pods/status"], "namespaces": ["*"]}
        ],
    }
    schema = {
        "metadata": {"name": "starved"},
        "spec": {
            "priorityLevelConfiguration": {"name": "starved"},
            "matchingPrecedence": 50,
            "rules": [rule],
        },
    }
    await client.create(resources.PRIORITY_LEVEL_CONFIGURATIONS, level)
    await client.create(resources.FLOW_SCHEMAS, schema)


@asynccontextmanager
async def hogging(plane: ControlPlane, user: str, namespace: str) -> AsyncIterator[None]:
    pair = plane.pair(user)
    context = ssl.create_default_context(cafile=plane.ca)
    context.load_cert_chain(pair.cert, pair.key)
    _, writer = await asyncio.open_connection("127.0.0.1", plane.port, ssl=context)
    writer.write(
        f"PATCH {PODS.path(namespace, 'p', 'status')} HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n"
        f"Content-Type: {PatchType.MERGE}\r\n\r\n{{".encode()
    )
    await writer.drain()
    try:
        yield
    finally:
        writer.transport.abort()


# Watches and informers


async def test_watch_ends_when_the_server_was_asked_to_end_it(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("m"), namespace=namespace)

    events = [event async for event in client.watch(CONFIG_MAPS, namespace=namespace, timeout_seconds=1)]

    assert [event.type for event in events if event.type != "BOOKMARK"] == ["ADDED"]
    assert events[0].object["kind"] == "ConfigMap"


@asynccontextmanager
async def following(
    client: Client, namespace: str, **options: Any
) -> AsyncIterator[tuple[Informer[Json], list[Change[Json]]]]:
    changes: list[Change[Json]] = []
    informer = Informer(client, CONFIG_MAPS, namespace=namespace, **options)
    informer.on_change(changes.append)
    async with informer:
        await informer.synced()
        yield informer, changes


@asynccontextmanager
async def afar(
    plane: ControlPlane, namespace: str, **options: Any
) -> AsyncIterator[tuple[Cable, Informer[Json], list[Change[Json]]]]:
    """Following through a cable that can be pulled."""
    timing = Timing(backoff=Backoff(cap=0.2))
    async with (
        Cable(plane.port) as cable,
        plane.client(port=cable.port) as client,
        following(client, namespace, timing=timing, **options) as (informer, changes),
    ):
        yield cable, informer, changes


async def write(client: Client, namespace: str, name: str, times: int) -> list[str]:
    """Write an object some times; the versions that it went through."""
    versions = []
    for n in range(times):
        hint = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(name, n=str(n))}
        made = await client.apply(CONFIG_MAPS, hint, field_manager="t", namespace=namespace)
        versions.append(made["metadata"]["resourceVersion"])
    return versions


async def truth(client: Client, namespace: str) -> dict[str, str]:
    items = (await client.list(CONFIG_MAPS, namespace=namespace))["items"]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}


def knows(informer: Informer[Json], expected: dict[str, str]) -> bool:
    return known(informer) == expected


def known(informer: Informer[Json]) -> dict[str, str]:
    return {key.name: obj["metadata"]["resourceVersion"] for key, obj in informer.state.items()}


@pytest.mark.parametrize("initial", Initial)
async def test_informer_tells_every_version(client: Client, namespace: str, initial: Initial) -> None:
    before = await write(client, namespace, "old", 3)
    async with following(client, namespace, initial=initial, page=1) as (informer, changes):
        versions = await write(client, namespace, "m", 20)
        await client.delete(CONFIG_MAPS, "old", namespace=namespace)
        await until(lambda: Key(namespace, "old") not in informer.state)
        assert known(informer) == await truth(client, namespace)

    assert [c.resource_version for c in changes if c.key.name == "m"] == versions
    assert changes[0].resource_version == before[-1]
    assert int(changes[-1].resource_version) > int(versions[-1]), "a deletion has a version of its own"
    assert [change.source for change in changes] == [Source.LIST] + [Source.WATCH] * 21
    assert (informer.gaps, informer.duplicates) == ((), 0)


async def test_informer_lives_through_a_killed_apiserver(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    async with following(client, namespace) as (informer, changes):
        first = await write(client, namespace, "m", 5)
        await until(lambda: known(informer) == {"m": first[-1]})
        for times in (10, 15):
            # Another resource's write: the restarted apiserver's cache begins after what we have seen.
            await client.patch(NAMESPACES, namespace, {"metadata": {"labels": {"n": str(next(_numbers))}}})
            await plane.restart_apiserver()
            first += await write(client, namespace, "m", 5)
            assert len(first) == times
            expected = await truth(client, namespace)
            await until(partial(knows, informer, expected))
        assert known(informer) == await truth(client, namespace)

    told = [change.resource_version for change in changes]
    assert told == sorted(set(told), key=int), "each once, in order"
    unseen = set(first) - set(told)
    gaps = [(int(gap.from_version), int(gap.to_version)) for gap in informer.gaps]
    assert all(any(low < int(version) <= high for low, high in gaps) for version in unseen)


async def test_write_that_a_kill_interrupts_says_that_its_outcome_is_unknown(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    failures: list[errors.TransportError] = []

    async def write_on() -> None:
        for n in itertools.count():
            try:
                await client.create(CONFIG_MAPS, config_map(f"m{n}"), namespace=namespace, timeout=5)
            except errors.TransportError as error:
                failures.append(error)
                return

    writers = [asyncio.create_task(write_on()) for _ in range(1)]
    await asyncio.sleep(0.2)
    await plane.restart_apiserver()
    await asyncio.wait(writers, timeout=20)

    (failure,) = failures
    unknown = isinstance(failure, errors.ConnectionLost)
    assert unknown or isinstance(failure, errors.ConnectionFailed)
    assert failure.may_have_been_applied is unknown


@pytest.mark.parametrize("initial", Initial)
async def test_informer_finds_the_difference_after_a_compaction(
    plane: ControlPlane, client: Client, namespace: str, initial: Initial
) -> None:
    for name in ("same", "changed", "deleted", "replaced"):
        await write(client, namespace, name, 2)
    async with afar(plane, namespace, initial=initial) as (cable, informer, changes):
        before = informer.resource_version
        assert known(informer) == await truth(client, namespace)

        cable.pull()
        await write(client, namespace, "changed", 3)
        await write(client, namespace, "added", 3)
        for name in ("deleted", "replaced"):
            await client.delete(CONFIG_MAPS, name, namespace=namespace)
        await write(client, namespace, "replaced", 1)
        await plane.compact_etcd()
        # Its watch cache still knows what etcd has forgotten; a new one does not.
        await plane.restart_apiserver()
        cable.plug()

        expected = await truth(client, namespace)
        await until(lambda: known(informer) == expected, within=30)
        (gap,) = informer.gaps
        versions = await write(client, namespace, "after", 3)
        await until(lambda: changes[-1].resource_version == versions[-1])

    relisted = sorted((c.type.value, c.key.name) for c in changes if c.relisted)
    assert relisted == [
        ("ADDED", "added"),
        ("ADDED", "replaced"),
        ("DELETED", "deleted"),
        ("DELETED", "replaced"),
        ("MODIFIED", "changed"),
    ]
    assert "too old resource version" in gap.why
    assert gap.from_version >= before
    assert int(gap.to_version) >= max(map(int, expected.values()))
    assert [c.resource_version for c in changes if c.key.name == "after"] == versions
    assert [c.type for c in changes if c.key.name == "same"] == [ChangeType.ADDED]


async def test_compaction_alone_is_a_gap_where_etcd_serves_the_watch(uncached: ControlPlane) -> None:
    async with uncached.client() as client, afar(uncached, "default") as (cable, informer, changes):
        versions = await write(client, "default", "m", 2)
        await until(lambda: bool(changes) and changes[-1].resource_version == versions[-1])

        cable.pull()
        unseen = await write(client, "default", "m", 2)
        await uncached.restart_apiserver()
        cable.plug()
        await until(lambda: changes[-1].resource_version == unseen[-1], within=30)
        assert [c.resource_version for c in changes if c.key.name == "m"] == versions + unseen
        assert list(informer.gaps) == [], "etcd remembers, so nothing was missed"

        cable.pull()
        unseen = await write(client, "default", "m", 2)
        await uncached.compact_etcd()
        cable.plug()
        await until(lambda: changes[-1].resource_version == unseen[-1], within=30)

    assert changes[-1].relisted
    (gap,) = informer.gaps
    assert int(gap.from_version) < int(unseen[0])
    assert int(gap.to_version) >= int(unseen[-1])


async def test_pages_that_a_compaction_expires_are_told_as_such(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    for n in range(3):
        await write(client, namespace, f"m{n}", 1)
    page = await client.list(CONFIG_MAPS, namespace=namespace, limit=1)
    await write(client, namespace, "m0", 2)
    await plane.compact_etcd()
    await plane.restart_apiserver()

    with pytest.raises(errors.Expired):
        await client.list(
            CONFIG_MAPS, namespace=namespace, limit=1, continue_from=page["metadata"]["continue"]
        )


async def test_kubeconfig_leads_to_the_same_apiserver(plane: ControlPlane, tmp_path: Path) -> None:
    from hintbound.kube import Connection
    from tests.kube.test_connection import kubeconfig

    pair = plane.pair("admin")
    user = {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
    url = f"https://127.0.0.1:{plane.port}"
    path = kubeconfig(tmp_path / "kc", url, user=user, **{"certificate-authority": str(plane.ca)})
    async with Client(Connection.from_kubeconfig(path), actor="a", user_agent="u") as client:
        assert (await client.get(NAMESPACES, "default"))["kind"] == "Namespace"
