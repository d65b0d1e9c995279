"""A Kubernetes client that hides nothing: plain JSON in and out, one request per call, typed errors.

Suites judge what actors and apiservers do on the wire, so there is no retry, no redirect, no cache and no
model that drops unknown fields. Every exchange can be tapped by a recorder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from hintbound.kube.answer import Answer, as_object, parse
from hintbound.kube.connection import Connection
from hintbound.kube.exchange import Json, Tap
from hintbound.kube.resources import Resource
from hintbound.kube.watch import Watch
from hintbound.kube.wire import Pool, begin
from hintbound.protocol import Seconds

Params = Mapping[str, str | int | bool]

_DEFAULT_TIMEOUT: Final[Seconds] = 30.0
_JSON: Final = "application/json"


class PatchType(StrEnum):
    """How a patch is to be understood; the value is its content type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"
    """Server-side apply; JSON is YAML."""


class Propagation(StrEnum):
    """What happens to the objects that a deleted one owns."""

    ORPHAN = "Orphan"
    BACKGROUND = "Background"
    FOREGROUND = "Foreground"


class Client:
    """One actor's way to one apiserver.

    Methods raise ApiError for an answer that is no success, and ConnectionFailed, ConnectionLost or
    DeadlineExceeded when there is no whole answer. A timeout spans one call, from making the connection to
    the last byte of the answer.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        actor: str,
        user_agent: str,
        tap: Tap | None = None,
        timeout: Seconds = _DEFAULT_TIMEOUT,
    ) -> None:
        self.actor = actor
        self.user_agent = user_agent
        self.tap = tap
        self.timeout = timeout
        self._pool = Pool(connection)
        self._owns_pool = True

    @property
    def connection(self) -> Connection:
        """Where it speaks to, and as whom."""
        return self._pool.connection

    def named(self, user_agent: str, *, tap: Tap | None = None) -> Self:
        """The same actor under another User-Agent (say, with a test's id), on the same connections.

        `tap` replaces the tap when given. The clone needs no closing and dies with the original.
        """
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone.user_agent = user_agent
        clone.tap = tap or self.tap
        clone._owns_pool = False
        return clone

    async def aclose(self) -> None:
        """Close the connections. Does nothing on a clone."""
        if self._owns_pool:
            await self._pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        content_type: str = _JSON,
        timeout: Seconds | None = None,
    ) -> Answer:
        """Any request. Gives refusals as answers: only the lack of a whole answer raises."""
        limit = self.timeout if timeout is None else timeout
        sent = begin(
            self._pool,
            self.tap,
            actor=self.actor,
            user_agent=self.user_agent,
            method=method,
            path=path,
            query=_query(params or {}),
            body=body,
            content_type=None if body is None else content_type,
        )
        try:
            async with asyncio.timeout(limit):
                response = await sent.send()
                raw = await response.read()
        except BaseException as error:
            sent.fail(error, limit=limit)
        parsed = parse(raw, sent.headers.get("content-type", ""))
        refusal = None if 200 <= response.status < 300 else sent.refused(raw)
        sent.finish(body=parsed, error=refusal)
        return Answer(sent.call, response.status, sent.headers, raw, parsed, refusal)

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        params: Params | None = None,
        timeout: Seconds | None = None,
    ) -> Json:
        """One object."""
        path = resource.path(namespace, name, subresource)
        return as_object(await self.request("GET", path, params=params, timeout=timeout))

    async def get_text(
        self, path: str, *, params: Params | None = None, timeout: Seconds | None = None
    ) -> str:
        """A page that is no object: `/metrics`, `/healthz`, `/readyz?verbose`."""
        answer = await self.request("GET", path, params=params, timeout=timeout)
        if answer.error is not None:
            raise answer.error
        return answer.body if isinstance(answer.body, str) else answer.raw.decode(errors="replace")

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = None,
        continue_from: str | None = None,
        resource_version: str | None = None,
        params: Params | None = None,
        timeout: Seconds | None = None,
    ) -> Json:
        """A List object: everything, or one page of `limit` whose `metadata.continue` leads to the next."""
        chosen = _chosen(
            params,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=limit,
            resourceVersion=resource_version,
            **{"continue": continue_from},
        )
        return as_object(await self.request("GET", resource.path(namespace), params=chosen, timeout=timeout))

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        resource_version: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        bookmarks: bool = True,
        timeout_seconds: int | None = None,
        send_initial_events: bool = False,
        inactivity: Seconds | None = None,
        timeout: Seconds | None = None,
        params: Params | None = None,
    ) -> Watch:
        """Changes after `resource_version`; without one, first everything there is, as ADDED.

        `timeout_seconds` asks the server to end the watch, `timeout` bounds its opening, `inactivity` its
        silence. `send_initial_events` streams the present state, then a bookmark with the annotation
        `k8s.io/initial-events-end`.
        """
        chosen = _chosen(
            params,
            watch=True,
            resourceVersion=resource_version,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            allowWatchBookmarks=bookmarks or send_initial_events or None,
            timeoutSeconds=timeout_seconds,
            sendInitialEvents=send_initial_events or None,
            resourceVersionMatch="NotOlderThan" if send_initial_events else None,
        )
        opening = partial(
            begin,
            self._pool,
            self.tap,
            actor=self.actor,
            user_agent=self.user_agent,
            method="GET",
            path=resource.path(namespace),
            query=_query(chosen),
            watch=True,
        )
        limit = self.timeout if timeout is None else timeout
        return Watch(opening, timeout=limit, inactivity=inactivity)

    async def create(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        params: Params | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: Seconds | None = None,
    ) -> Json:
        """POST an object, or a subresource (`binding`, `eviction`, `token`) of the object `name`.

        Namespace and, for a subresource, name are the body's own when not given.
        """
        namespace = _namespace(resource, namespace, body)
        if subresource is not None:
            name = name or body["metadata"]["name"]
        chosen = _writing(params, dry_run=dry_run, field_manager=field_manager)
        path = resource.path(namespace, name, subresource)
        return as_object(await self.request("POST", path, params=chosen, body=body, timeout=timeout))

    async def replace(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        params: Params | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: Seconds | None = None,
    ) -> Json:
        """PUT an object. Namespace and name are the body's own when not given."""
        namespace = _namespace(resource, namespace, body)
        path = resource.path(namespace, name or body["metadata"]["name"], subresource)
        chosen = _writing(params, dry_run=dry_run, field_manager=field_manager)
        return as_object(await self.request("PUT", path, params=chosen, body=body, timeout=timeout))

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        patch_type: PatchType = PatchType.MERGE,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        params: Params | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: Seconds | None = None,
    ) -> Json:
        """PATCH an object: a list of operations for PatchType.JSON, else a partial object."""
        answer = await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            params=_writing(params, dry_run=dry_run, field_manager=field_manager),
            body=body,
            content_type=patch_type.value,
            timeout=timeout,
        )
        return as_object(answer)

    async def apply(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        params: Params | None = None,
        dry_run: bool = False,
        timeout: Seconds | None = None,
    ) -> Json:
        """Server-side apply: create it, or own these fields; `force` takes them from other managers."""
        return await self.patch(
            resource,
            name or body["metadata"]["name"],
            body,
            PatchType.APPLY,
            namespace=_namespace(resource, namespace, body),
            subresource=subresource,
            params=_chosen(params, force=force or None),
            dry_run=dry_run,
            field_manager=field_manager,
            timeout=timeout,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        grace_period: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        params: Params | None = None,
        dry_run: bool = False,
        timeout: Seconds | None = None,
    ) -> Json:
        """DELETE an object: only while it has this uid and resourceVersion, when given (else Conflict).

        Gives the object as it is now when it goes later (grace, finalizers), else a Status or the last state.
        """
        preconditions = _set(uid=uid, resourceVersion=resource_version)
        options = _set(
            gracePeriodSeconds=grace_period,
            preconditions=preconditions or None,
            propagationPolicy=None if propagation is None else propagation.value,
        )
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        path = resource.path(namespace, name)
        chosen = _writing(params, dry_run=dry_run, field_manager=None)
        return as_object(await self.request("DELETE", path, params=chosen, body=body, timeout=timeout))


def _set(**given: Any) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _chosen(params: Params | None, **named: str | int | bool | None) -> Params:
    return {**(params or {}), **_set(**named)}


def _writing(params: Params | None, *, dry_run: bool, field_manager: str | None) -> Params:
    return _chosen(params, dryRun="All" if dry_run else None, fieldManager=field_manager)


def _query(params: Params) -> Mapping[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in params.items()
    }


def _namespace(resource: Resource, given: str | None, body: Mapping[str, Any]) -> str | None:
    if not resource.namespaced:
        return given
    namespace = given or body.get("metadata", {}).get("namespace")
    if namespace is None:
        raise ValueError(f"{resource.plural} are namespaced, and neither the call nor the object names one")
    return str(namespace)
