"""Through the proxy to a real apiserver: what the scripted one cannot show."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hintbound.errors import CannotStart
from hintbound.kube import Client, Connection, PatchType
from hintbound.kube.errors import TransportError
from hintbound.kube.resources import CONFIG_MAPS, PODS
from hintbound.proxy import FaultProxy
from tests.kube.real import ControlPlane

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]
NODE = "n1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    try:
        made = ControlPlane(tmp_path_factory.mktemp("plane"))
    except CannotStart as error:
        if "HINTBOUND_ASSETS" in os.environ:
            raise
        pytest.skip(f"no binaries: {error}")
    async with made:
        yield made


def upstream(plane: ControlPlane) -> Connection:
    pair = plane.pair("admin")
    return Connection.from_pem(f"https://127.0.0.1:{plane.port}", ca=plane.ca, cert=pair.cert, key=pair.key)


def behind(proxy: FaultProxy) -> Client:
    return Client(proxy.connection(), actor="a", user_agent="hintbound-tests")


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def hinted(client: Client, name: str) -> None:
    """A pod with a hint, held by a gate."""
    spec = {"schedulingGates": [{"name": "x"}], "containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": name, "namespace": "default"}
    await client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    hint = {"status": {"nominatedNodeName": NODE}}
    await client.patch(PODS, name, hint, PatchType.MERGE, namespace="default", subresource="status")


async def test_hint_is_hidden_in_every_way_to_read_it(plane: ControlPlane) -> None:
    edit = {"editObjects": [{"remove": "status.nominatedNodeName"}]}
    rule = {"name": "hidden", "match": {"resource": "pods", "name": "hid*"}, "do": edit}
    async with plane.client() as admin, FaultProxy(upstream(plane), actor="a", rules=rule) as proxy:
        await hinted(admin, "hidden")
        await hinted(admin, "shown")
        async with behind(proxy) as client:
            listed = {pod["metadata"]["name"]: pod["status"] for pod in (await client.list(PODS))["items"]}
            alone = await client.get(PODS, "hidden", namespace="default")
            watched: dict[str, Any] = {}
            async with client.watch(PODS, send_initial_events=True) as events:
                async for event in events:
                    if event.type == "BOOKMARK":
                        break
                    watched[event.object["metadata"]["name"]] = event.object["status"]

        for seen in (listed, watched):
            assert "nominatedNodeName" not in seen["hidden"]
            assert seen["shown"]["nominatedNodeName"] == NODE
        assert "nominatedNodeName" not in alone["status"]
        assert proxy.hits("hidden") == 3
        assert not proxy.failures


async def test_frozen_reader_lists_the_world_as_of_then(plane: ControlPlane) -> None:
    async with plane.client() as admin, FaultProxy(upstream(plane), actor="a") as proxy:
        await admin.create(CONFIG_MAPS, config_map("frozen", at="first"))
        async with behind(proxy) as client:
            now = (await client.list(CONFIG_MAPS))["metadata"]["resourceVersion"]
            rule = {"name": "frozen", "match": {"resource": "configmaps"}, "do": {"freeze": {}}}
            async with client.watch(CONFIG_MAPS, resource_version=now) as events:
                proxy.book.add(rule)
                await admin.replace(CONFIG_MAPS, config_map("frozen", at="second"))
                while not proxy.hits("frozen"):
                    await asyncio.sleep(0.01)
                stale = await client.list(CONFIG_MAPS, namespace="default")
                proxy.book.remove("frozen")
                event = await anext(events)
            fresh = await client.list(CONFIG_MAPS, namespace="default")

    def at(listed: dict[str, Any]) -> list[str]:
        return [item["data"]["at"] for item in listed["items"] if item["metadata"]["name"] == "frozen"]

    assert (at(stale), at(fresh), event.object["data"]) == (["first"], ["second"], {"at": "second"})


async def test_large_list_comes_compressed_unless_a_rule_reads_it(plane: ControlPlane) -> None:
    async with plane.client() as admin, FaultProxy(upstream(plane), actor="a") as proxy:
        for number in range(4):
            await admin.create(CONFIG_MAPS, config_map(f"large-{number}", text="x" * 100_000))
        async with behind(proxy) as client:

            async def first_bytes() -> bytes:
                process = await asyncio.create_subprocess_exec(
                    *("curl", "-s", "-k", "-H", "Accept-Encoding: gzip"),
                    *("-H", f"Authorization: Bearer {proxy.token}"),
                    f"{proxy.url}/api/v1/namespaces/default/configmaps",
                    stdout=subprocess.PIPE,
                )
                return (await process.communicate())[0][:2]

            whole = await client.list(CONFIG_MAPS, namespace="default")
            compressed = await first_bytes()
            edit = {"editObjects": [{"set": "data.text", "value": "short"}]}
            proxy.book.add({"name": "short", "match": {"name": "large-*"}, "do": edit})
            plain = await first_bytes()
            short = await client.list(CONFIG_MAPS, namespace="default")

    assert len([item for item in whole["items"] if len(item["data"].get("text", "")) == 100_000]) == 4
    assert (compressed, plain) == (b"\x1f\x8b", b'{"')
    assert len([item for item in short["items"] if item["data"].get("text") == "short"]) == 4


async def test_conflict_is_answered_and_the_blind_resend_succeeds(plane: ControlPlane) -> None:
    rule = {
        "name": "blind",
        "match": {"verb": "patch", "resource": "configmaps"},
        "do": {"resend": {"statuses": [409], "edits": [{"remove": "metadata.resourceVersion"}]}},
    }
    async with plane.client() as admin, FaultProxy(upstream(plane), actor="a", rules=rule) as proxy:
        await admin.create(CONFIG_MAPS, config_map("blind"))
        async with behind(proxy) as client:
            stale = {"metadata": {"resourceVersion": "1"}, "data": {"by": "stale"}}
            answer = await client.patch(CONFIG_MAPS, "blind", stale, PatchType.MERGE, namespace="default")
        assert answer["data"] == {"by": "stale"}
        assert proxy.hits("blind") == 1


async def test_killed_apiserver_is_a_reset_and_a_new_one_is_found(plane: ControlPlane) -> None:
    async with FaultProxy(upstream(plane), actor="a") as proxy, behind(proxy) as client:
        async with client.watch(PODS, send_initial_events=True) as events:
            await anext(events)
            await asyncio.to_thread(plane.apiserver.end, signal.SIGKILL)
            async with asyncio.timeout(5):
                with pytest.raises(TransportError):
                    [event async for event in events]
        with pytest.raises(TransportError):
            await client.list(PODS, timeout=5)
        plane.apiserver.start()
        await plane.ready()
        await client.list(PODS)


async def test_kubectl_works_through_it(plane: ControlPlane, tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl in PATH")
    rule = {"name": "once", "match": {"verb": "create", "resource": "configmaps"}, "when": {"first": 1}}
    refused = {**rule, "do": {"reply": {"status": 429, "retryAfter": 1}}}
    async with FaultProxy(upstream(plane), actor="a", rules=refused) as proxy:
        (tmp_path / "kubeconfig").write_text(proxy.kubeconfig())

        async def kubectl(*words: str, given: str = "") -> str:
            process = await asyncio.create_subprocess_exec(
                *("kubectl", "--kubeconfig", str(tmp_path / "kubeconfig"), *words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            )
            said = (await process.communicate(given.encode()))[0].decode()
            assert process.returncode == 0, said
            return said

        await kubectl("create", "-f", "-", given=json.dumps(config_map("by-kubectl")))
        assert "by-kubectl" in await kubectl("get", "configmaps")
        assert "deleted" in await kubectl("delete", "configmap", "by-kubectl", "--wait=true")
        assert proxy.hits("once") == 1


async def test_command_serves_a_kubeconfig_and_tells_what_bit(plane: ControlPlane, tmp_path: Path) -> None:
    pair, kubeconfig = plane.pair("admin"), tmp_path / "admin.yaml"
    server = {"server": f"https://127.0.0.1:{plane.port}", "certificate-authority": str(plane.ca)}
    user = {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": server}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    rules, out = tmp_path / "rules.yaml", tmp_path / "out.yaml"
    rules.write_text("rules:\n- name: none\n  match: {verb: list}\n  do: {reply: {status: 503}}\n")
    words = (
        "--kubeconfig",
        kubeconfig,
        "--rules",
        rules,
        "--kubeconfig-out",
        out,
        "--record",
        tmp_path / "h",
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hintbound", "proxy", *map(str, words)), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == f"export KUBECONFIG={out}\n".encode()
    async with Client(Connection.from_kubeconfig(out), actor="a", user_agent="t") as client:
        assert (await client.request("GET", "/api/v1/pods")).status == 503
    assert out.stat().st_mode & 0o777 == 0o600
    process.send_signal(signal.SIGINT)
    said = (await process.communicate())[0]

    assert (process.returncode, said) == (0, b"none: 1 hits\n")
    assert b'"did":"answered 503"' in (tmp_path / "h").read_bytes()


async def test_command_refuses_bad_rules_before_it_asks_anything(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- name: none\n  do: {rply: {}}\n")
    words = ("--kubeconfig", tmp_path / "none", "--rules", rules)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hintbound", "proxy", *map(str, words)), stderr=subprocess.PIPE
    )
    said = (await process.communicate())[1].decode()

    assert process.returncode == 254
    assert said.startswith(f"hintbound: {rules}:3: unknown key of rules[0].do 'rply'. Did you mean 'reply'?")
    assert said.count("\n") == 1
