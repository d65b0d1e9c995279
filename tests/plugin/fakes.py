"""A stage without a cluster: pods live in a dict, and each change of one is recorded as the watch would."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from hintbound.clusters.protocol import Capability, ComponentState, Extras
from hintbound.clusters.spec import ClusterSpec
from hintbound.errors import CannotStart
from hintbound.history.events import Kind, Source
from hintbound.history.store import Store
from hintbound.kube.errors import NotFound
from hintbound.mutants import Mutant
from hintbound.plugin.applies import Facts
from hintbound.plugin.arena import Arena
from hintbound.plugin.behaviours import Behaviour, behaviour, behaviour_of
from hintbound.plugin.engine import Scenario
from hintbound.protocol import Actor, ComponentKind
from hintbound.report.folder import RunFolder
from hintbound.subjects import Subject

Play = Callable[[Arena], Awaitable[None]]


def scenario(play: Play, id: str = "T-ONE", **more: Any) -> Scenario:  # noqa: A002 - as `behaviour` calls it
    """A scenario that plays this."""

    async def test(arena: Arena) -> None:
        await play(arena)

    made = behaviour(id, **{"must": "It must.", "why": "Because.", "source": "here", **more})(test)
    found = behaviour_of(made)
    assert found is not None
    return Scenario(found, made)


def a_behaviour(id: str = "T-ONE", **more: Any) -> Behaviour:  # noqa: A002
    async def nothing(_arena: Arena) -> None:
        pass

    return scenario(nothing, id, **more).behaviour


class FakeClient:
    """Every actor; writes are kept in `asked`, and refused by what `refuse` says."""

    def __init__(self, stage: FakeStage) -> None:
        self._stage = stage

    def named(self, _user_agent: str) -> Self:
        return self

    async def aclose(self) -> None:
        pass

    async def create(self, resource: Any, manifest: Any, *, namespace: str = "", **_how: Any) -> Any:
        self._stage.act("create", resource.plural, manifest["metadata"]["name"])
        made = copy.deepcopy(dict(manifest))
        made["metadata"] |= {"uid": f"u{next(self._stage.numbers)}", "namespace": namespace}
        made.setdefault("status", {"phase": "Pending"})
        if resource.plural == "pods":
            self._stage.show(made, Kind.ADDED)
        return made

    async def get(self, _resource: Any, name: str, *, namespace: str = "") -> Any:
        return copy.deepcopy(self._stage.pods[namespace, name])

    async def patch(
        self, _resource: Any, name: str, body: Any, *_: Any, namespace: str = "", **__: Any
    ) -> Any:
        self._stage.act("patch", "pods", name)
        pod = copy.deepcopy(self._stage.pods[namespace, name])
        if isinstance(body, list):
            pod["spec"].pop("schedulingGates", None)
        else:
            pod["status"] |= body.get("status", {})
        return self._stage.show(pod, Kind.MODIFIED)

    async def delete(self, resource: Any, name: str, *, namespace: str = "", **_: Any) -> None:
        self._stage.act("delete", resource.plural, name)
        if (namespace, name) in self._stage.pods:
            self._stage.show(self._stage.pods.pop((namespace, name)), Kind.DELETED)

    async def request(self, verb: str, path: str, **_: Any) -> Any:
        self._stage.act(verb, path, "")
        return SimpleNamespace(body={"items": self._stage.listed})


class FakeStage:
    """What Engine, Arena and Session need of a Stage."""

    capabilities: frozenset[Capability] = frozenset(Capability)
    gates: Mapping[ComponentKind, Mapping[str, bool]] = {}
    """Per component; one that is not there cannot be read."""
    cannot_start: CannotStart | None = None
    opened: list[FakeStage] = []  # noqa: RUF012 - emptied by the fixture of each test

    def __init__(
        self,
        name: str,
        spec: ClusterSpec | None,
        store: Store,
        folder: RunFolder | None,
        needs: Collection[Capability] = (),
        subject: Subject | None = None,
        *,
        keep: bool = False,
        seed: int = 0,
        mutant: Mutant | None = None,
    ) -> None:
        self.name = name
        self.keep = keep
        self.seed = seed
        self.mutant = mutant
        self.kept = ""
        there_once = spec is not None and spec.is_there
        self.is_alone = there_once or Capability.RESTART_COMPONENT not in self.capabilities
        self.spoiled = False
        self.notes: list[str] = []
        self.store = store
        self.needs = needs
        self.subject = subject
        self.recorders: list[Any] = []
        self.asked: list[tuple[str, str, str]] = []
        self.pods: dict[tuple[str, str], Any] = {}
        self.listed: list[Any] = []
        self.numbers = itertools.count(1)
        self.refuse: Callable[[str, str, str], Exception | None] = lambda _verb, _what, _name: None
        self.died: list[str] = []
        self.started = self.closed = 0
        self.states = tuple(
            ComponentState(str(kind), kind, "v1.35.4", gates) for kind, gates in self.gates.items()
        )
        self.cluster = SimpleNamespace(
            name=name,
            provider=spec.provider if spec else "embedded",
            spec=str(spec),
            capabilities=self.capabilities,
            extras=Extras(lacking={Capability.FAULTY_SCHEDULER: "faulty-scheduler cannot be built"}),
            scheduler_name=subject.scheduler_name if subject else "default-scheduler",
            deviations=(),
            node_taints=(),
            remove=self._remove,
            usable=self._usable,
        )
        FakeStage.opened.append(self)

    @property
    def facts(self) -> Facts:
        return Facts(self.gates, dict.fromkeys(self.gates, "v1.35.4"))

    async def start(self) -> None:
        if self.cannot_start:
            raise self.cannot_start
        self.started += 1

    async def close(self) -> None:
        self.closed += 1
        self.kept = f"run-{self.name}" if self.keep else ""

    def client(self, _actor: Actor, _user_agent: str, _server: str | None = None) -> FakeClient:
        return FakeClient(self)

    def deaths(self, _namespace: str, _own: Collection[str] = ()) -> list[str]:
        return self.died

    async def lifeless(self, _own: Collection[Any] = ()) -> list[str]:
        return []

    def act(self, verb: str, what: str, name: str) -> None:
        self.asked.append((verb, what, name))
        if error := self.refuse(verb, what, name):
            raise error

    def show(self, pod: Any, kind: Kind) -> Any:
        """Keep this version of a pod and record it as the watch does."""
        metadata = pod["metadata"]
        metadata["resourceVersion"] = str(100 + next(self.numbers))
        key = metadata["namespace"], metadata["name"]
        if kind != Kind.DELETED:
            self.pods[key] = pod
        self.store.append(
            kind,
            source=Source.WATCH,
            cluster=self.name,
            resource="pods",
            namespace=key[0],
            name=key[1],
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            data=copy.deepcopy(pod),
        )
        return pod

    def change(self, pod: Any, *, node: str = "", **status: Any) -> None:
        """A new version of a pod, as if somebody had written it."""
        new = copy.deepcopy(self.pods[pod.namespace, pod.name])
        new["status"] |= status
        new["spec"] |= {"nodeName": node} if node else {}
        self.show(new, Kind.MODIFIED)

    def namespaces(self, verb: str) -> list[str]:
        """Those that were created or deleted."""
        return [name for done, what, name in self.asked if (done, what) == (verb, "namespaces")]

    async def _usable(self, _namespace: str) -> None:
        """At once."""

    async def _remove(self, component: Any) -> None:
        self.act("remove", "component", component.name)


def a_store(folder: Path) -> Store:
    return Store(folder / "history.ndjson")


def not_found() -> NotFound:
    return NotFound(status=404, reason="NotFound", message="no such thing", method="DELETE", path="/")
