"""The client recorder: every exchange of one client, as the side that asked saw it.

It is a kube `Tap`. The call's id is also the `auditID` of the apiserver's view of the same call: `data.id`
joins the two.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source
from hintbound.history.recorders.losses import Losses, Witness
from hintbound.history.store import Store
from hintbound.kube.errors import KubeError, TransportError
from hintbound.kube.exchange import Call, Outcome
from hintbound.kube.resources import behind_group, spoken_of


class ClientRecorder(Witness):
    """Records what clients of one cluster ask and are answered; one serves any number of clients."""

    source: Final = Source.CLIENT

    def __init__(self, store: Store, *, cluster: str = "") -> None:
        self.cluster = cluster
        self._store = store
        self._losses = Losses(store, source=self.source, cluster=cluster)

    def start(self, call: Call) -> None:
        """A request is about to be sent."""
        data = {
            **_who(call),
            "query": dict(call.query),
            "contentType": call.content_type,
            "body": _kept(call.body),
        }
        self._append(Kind.REQUEST, call, data)

    def opened(self, call: Call, outcome: Outcome) -> None:
        """A watch was accepted."""
        self._append(Kind.RESPONSE, call, {**_who(call), **_answer(call, outcome)})

    def finished(self, call: Call, outcome: Outcome) -> None:
        """The answer is whole; or there is none, and then nobody on this side knows what came of it."""
        if call.watch:
            kind = Kind.CLOSED
        elif isinstance(outcome.error, TransportError) or outcome.status is None:
            kind = Kind.LOST
        else:
            kind = Kind.RESPONSE
        self._append(kind, call, {**_who(call), **_answer(call, outcome)})

    def _append(self, kind: Kind, call: Call, data: dict[str, Any]) -> None:
        if self.trouble:
            return
        resource, namespace, name = spoken_of(behind_group(call.path))
        body = data.get("body") if isinstance(data.get("body"), dict) else {}
        metadata = body.get("metadata") if body else None
        metadata = metadata if isinstance(metadata, dict) else {}
        seen = metadata if kind == Kind.RESPONSE else {}
        try:
            self._store.append(
                kind,
                source=self.source,
                cluster=self.cluster,
                resource=resource,
                namespace=namespace,
                name=name or str(metadata.get("name") or ""),
                uid=str(seen.get("uid") or ""),
                resource_version=str(seen.get("resourceVersion") or ""),
                data={key: value for key, value in data.items() if value not in (None, "", {})},
            )
        except CannotStart as error:
            self._losses.died(str(error))
        except TypeError as error:
            self._losses.gap(f"{call.method} {call.path} could not be recorded: {error}")


def _who(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "actor": call.actor,
        "userAgent": call.user_agent,
        "method": call.method,
        "path": call.path,
        "watch": call.watch or None,
    }


def _answer(call: Call, outcome: Outcome) -> dict[str, Any]:
    error = outcome.error
    return {
        "status": outcome.status,
        "seconds": round(outcome.ended - call.started, 6),
        "retryAfter": outcome.headers.get("retry-after"),
        "body": _summary(outcome.body),
        "error": f"{type(error).__name__}: {error}".removesuffix(": ") if error is not None else None,
        "mayHaveBeenApplied": error.may_have_been_applied if isinstance(error, TransportError) else None,
        "reason": getattr(error, "reason", None) if isinstance(error, KubeError) else None,
    }


def _kept(body: Any) -> Any:
    """A copy: the caller may go on to change its own object."""
    if isinstance(body, bytes | bytearray):
        return body.decode(errors="replace")
    return body if body is None or isinstance(body, str) else orjson.loads(orjson.dumps(body))


def _summary(body: Any) -> Any:
    """The answer; of a list only its length and place, for lists repeat what the watch recorder has."""
    if isinstance(body, dict) and isinstance(items := body.get("items"), list):
        return {"kind": body.get("kind"), "metadata": body.get("metadata"), "itemCount": len(items)}
    return body
