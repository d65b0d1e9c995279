"""A real 429: API Priority and Fairness refuses one actor's status patches, and only those.

A priority level of no share still lets one request through at a time, so that one is kept busy: a request of
the same actor whose body never comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from hintbound.kube import resources
from hintbound.kube.client import Client, PatchType
from hintbound.plugin.arena import PATIENCE, Arena
from hintbound.plugin.judgement import Unproven
from hintbound.protocol import Actor, Seconds

_GROUP: Final = "flowcontrol.apiserver.k8s.io/v1"
_FLOW: Final = "x-kubernetes-pf-flowschema-uid"
"""The header in which an apiserver says by which FlowSchema it went."""
_LOOK: Seconds = 0.1
_ABSENT: Final = "no-such-pod"
_BODY: Final = b"{}"


@dataclass(frozen=True, slots=True)
class Squeeze:
    """By what an actor is refused."""

    flow_schema: str
    """Its uid."""

    def made(self, headers: Mapping[str, str]) -> bool:
        """Whether an answer with these headers (names in lower case) was given by this FlowSchema."""
        return headers.get(_FLOW) == self.flow_schema


@contextlib.asynccontextmanager
async def squeezed(arena: Arena, actor: Actor) -> AsyncIterator[Squeeze]:
    """Within it every status patch of a pod by this actor is refused; others are served as ever.

    Raises Unproven where the squeeze does not come about. What it makes goes with the scenario.
    """
    level = {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 0,
            "lendablePercent": 0,
            "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        },
    }
    await arena.make(_object("PriorityLevelConfiguration", arena.namespace, level))
    patches = {
        "verbs": ["patch"],
        "apiGroups": [""],
        "resources": ["pods/status"],
        "namespaces": [arena.namespace],
    }
    flow = {
        "priorityLevelConfiguration": {"name": arena.namespace},
        "matchingPrecedence": 50,  # before all but the exempt ones that every cluster has
        "rules": [{"subjects": [_user(actor)], "resourceRules": [patches]}],
    }
    made = await arena.make(_object("FlowSchema", arena.namespace, flow))
    squeeze = Squeeze(made["metadata"]["uid"])
    client = arena.direct(actor)  # a proxy may wait for the body, and nothing would be kept busy
    await _in_force(client, arena.namespace, squeeze)
    async with _busy(client, _path(arena.namespace)):
        yield squeeze


async def _in_force(client: Client, namespace: str, squeeze: Squeeze) -> None:
    """An apiserver reads them a moment later: ask, with a patch of no pod, until it names the FlowSchema."""
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await client.request(
                    "PATCH", _path(namespace), body={}, content_type=PatchType.MERGE.value
                )
                if squeeze.made(answer.headers):
                    return
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        raise Unproven(f"the FlowSchema was not in force within {PATIENCE:g} s") from None


@contextlib.asynccontextmanager
async def _busy(client: Client, path: str) -> AsyncIterator[None]:
    """Within it a request of this client's is being served: its body is awaited.

    That the apiserver asks for the body (100 Continue) shows that the request has its seat, no earlier sign
    does. At the end the body is sent and the answer awaited, so the seat is free again. Raises Unproven.
    """
    connection = client.connection
    server = urlsplit(connection.server)
    port = server.port or (443 if connection.tls else 80)
    reader, writer = await asyncio.open_connection(server.hostname, port, ssl=connection.tls)
    try:
        headers = {
            "Host": server.netloc,
            "User-Agent": client.user_agent,
            "Content-Type": PatchType.MERGE.value,
            "Content-Length": str(len(_BODY)),
            "Expect": "100-continue",
            **(await connection.credentials() if connection.credentials else {}),
        }
        lines = [f"PATCH {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        await _told(reader, HTTPStatus.CONTINUE)
        yield
        writer.write(_BODY)
        await _told(reader, HTTPStatus.NOT_FOUND)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _told(reader: asyncio.StreamReader, status: HTTPStatus) -> None:
    """Read the head of an answer, which must be of this status."""
    try:
        async with asyncio.timeout(PATIENCE):
            head = (await reader.readuntil(b"\r\n\r\n")).decode(errors="replace")
    except (TimeoutError, asyncio.IncompleteReadError, OSError) as error:
        raise Unproven(f"the request that keeps the level busy got no answer: {error!r}") from error
    line = head.partition("\r\n")[0]
    if line.split()[1:2] != [str(int(status))]:
        raise Unproven(f"the request that keeps the level busy was answered {line!r}, not {int(status)}")


def _path(namespace: str) -> str:
    return resources.PODS.path(namespace, _ABSENT, "status")


def _user(actor: Actor) -> dict[str, object]:
    return {"kind": "User", "user": {"name": str(actor)}}


def _object(kind: str, name: str, spec: Mapping[str, object]) -> dict[str, object]:
    return {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
