"""An admission webhook that scenarios play themselves: it can hold single requests, or refuse them.

So a request of a component is slow, or fails, exactly where a scenario wants it, as behind any slow webhook.
The apiserver must be able to call this machine: Capability.WEBHOOKS.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hintbound.plugin.arena import PATIENCE, Arena
from hintbound.plugin.judgement import Unproven
from hintbound.plugin.served import LOOPBACK, served
from hintbound.protocol import SCHEDULER_USER, Seconds
from hintbound.proxy import ServingAuthority

_LONGEST: Final = 30
"""Seconds; the longest that an apiserver waits for a webhook. What is held longer fails."""
_LOOK: Seconds = 0.1
_RULES: Final = [
    ("UPDATE", "pods/status"),
    ("CREATE", "pods/binding"),
    ("DELETE", "pods"),
]


@dataclass
class Hold:
    """The scheduler's requests of one kind for one pod, from when they were first held."""

    asked: int = 0
    """How many came so far."""
    came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first."""
    _free: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        """Let those go on that are held, and those that come."""
        self._free.set()

    async def pass_through(self) -> None:
        """What a request does that is held."""
        self.asked += 1
        self.came.set()
        await self._free.wait()

    async def first(self) -> None:
        """Wait until one has come. Raises Unproven."""
        try:
            await asyncio.wait_for(self.came.wait(), PATIENCE)
        except TimeoutError:
            raise Unproven(f"the request to be held did not come within {PATIENCE:g} s") from None


@dataclass
class Webhook:
    """What it does from now on."""

    held: dict[tuple[str, str], Hold] = field(default_factory=dict)
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """The names of all pods it was asked about, by whomever."""

    def hold(self, what: str, pod: str) -> Hold:
        """Hold the scheduler's requests of this kind for the pod of this name: `status` (PATCH of
        pods/status), `binding` or `delete`."""
        return self.held.setdefault((what, pod), Hold())

    def refuse(self, what: str, pod: str, times: int = 1) -> None:
        """Refuse as many of them."""
        self.refused[what, pod] = times

    async def answer(self, review: Mapping[str, Any]) -> Mapping[str, Any]:
        """The AdmissionReview that answers this one."""
        request = review["request"]
        self.seen.add(request.get("name", ""))
        response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
        if request["userInfo"]["username"] == SCHEDULER_USER and not request.get("dryRun"):
            what = request.get("subResource") or request["operation"].lower()
            key = (what, request.get("name", ""))
            if key in self.held:
                await self.held[key].pass_through()
            if self.refused.get(key, 0):
                self.refused[key] -= 1
                response |= {"allowed": False, "status": {"message": "refused by the scenario", "code": 403}}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


@contextlib.asynccontextmanager
async def webhook(arena: Arena) -> AsyncIterator[Webhook]:
    """One that serves on loopback, is asked about the scenario's pods, and lets all pass until it is told
    otherwise. Raises Unproven."""
    played = Webhook()

    authority = ServingAuthority()
    async with served(played.answer, tls=authority.context()) as port:
        try:
            await arena.make(_manifest(arena.namespace, port, authority.pem.encode()))
            await _active(arena, played)
            yield played
        finally:
            for hold in played.held.values():
                hold.release()


def _manifest(namespace: str, port: int, authority: bytes) -> dict[str, Any]:
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}
        for operation, resource in _RULES
    ]
    url, bundle = f"https://{LOOPBACK}:{port}/", base64.b64encode(authority).decode()
    hook = {
        "name": "scenario.hintbound.dev",
        "clientConfig": {"url": url, "caBundle": bundle},
        "rules": rules,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": _LONGEST,
        "failurePolicy": "Ignore",  # the namespace is emptied after the scenario has ended
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [hook],
    }


async def _active(arena: Arena, played: Webhook) -> None:
    """Wait until the apiserver asks it: a new webhook takes up to a second to be seen."""
    probe = await arena.pod("probe", scheduler="hintbound-nobody")
    try:
        async with asyncio.timeout(PATIENCE):
            while probe.name not in played.seen:
                await arena.write_status(probe, {"status": {"message": "probe"}}, dry_run=True)
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        raise Unproven(f"the webhook was not asked within {PATIENCE:g} s") from None
