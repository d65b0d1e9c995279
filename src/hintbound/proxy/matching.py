"""Which requests, and which objects in lists and watches, a rule is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, Final

from hintbound.data.documents import Part
from hintbound.proxy.bodies import Condition, conditions, regex
from hintbound.proxy.target import VERBS, Target

EVENT_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
_GLOB: Final = frozenset("*?[")
_KEYS: Final = ("verb", "resource", "namespace", "name", "userAgent", "path", "body", "object", "event")


@dataclass(frozen=True, slots=True)
class Names:
    """Names as they stand there, and patterns of names."""

    literal: frozenset[str]
    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, part: Part) -> Names:
        """Read a name, or a list of names, that may hold `*`, `?` and `[...]`. Raises CannotStart."""
        names = _names(part)
        globs = [name for name in names if _GLOB & set(name)]
        return cls(
            frozenset(names).difference(globs),
            re.compile("|".join(map(translate, globs))) if globs else None,
        )

    def hold(self, name: str) -> bool:
        """Whether a name is one of them."""
        return name in self.literal or (self.pattern is not None and self.pattern.match(name) is not None)


@dataclass(frozen=True, slots=True)
class Match:
    """Everything that is given must fit; what is empty or None asks nothing."""

    verbs: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    """`pods`, `pods/status`, `pods/*` (any subresource), `*`."""
    namespace: Names | None = None
    name: Names | None = None
    user_agent: re.Pattern[str] | None = None
    path: re.Pattern[str] | None = None
    """Path and query as they were sent."""
    body: tuple[Condition, ...] = ()
    """Of a request."""
    object: tuple[Condition, ...] = ()
    """Of an object in a list or a watch's event."""
    events: frozenset[str] = frozenset()
    """Types of a watch's events."""

    @classmethod
    def of(cls, part: Part) -> Match:
        """Read the mapping `match`. Raises CannotStart."""
        found = part.fields(optional=_KEYS)
        verbs = _names(found["verb"]) if "verb" in found else {}
        for verb, at in verbs.items():
            if verb not in VERBS:
                raise at.none_of("verb", verb, VERBS)
        events = _names(found["event"]) if "event" in found else {}
        for event, at in events.items():
            if event not in EVENT_TYPES:
                raise at.none_of("type of event", event, EVENT_TYPES)
        return cls(
            verbs=frozenset(verbs),
            resources=frozenset(_names(found["resource"])) if "resource" in found else frozenset(),
            namespace=Names.of(found["namespace"]) if "namespace" in found else None,
            name=Names.of(found["name"]) if "name" in found else None,
            user_agent=regex(found["userAgent"]) if "userAgent" in found else None,
            path=regex(found["path"]) if "path" in found else None,
            body=conditions(found["body"]) if "body" in found else (),
            object=conditions(found["object"]) if "object" in found else (),
            events=frozenset(events),
        )

    def may_concern(self, verb: str, resource: str) -> bool:
        """Whether a request of this verb and resource can fit at all; what an index is made by."""
        if self.verbs and verb not in self.verbs:
            return False
        if not self.resources or resource in self.resources:
            return True
        plural, _, sub = resource.partition("/")
        return bool(resource) and ("*" in self.resources or bool(sub and f"{plural}/*" in self.resources))

    def fits_names(self, target: Target) -> bool:
        """Whether a request's namespace and name fit."""
        return self._fits(target.namespace, target.name)

    def fits_sender(self, path: str, user_agent: str) -> bool:
        """Whether a request fits by what else its head says."""
        return (self.user_agent is None or self.user_agent.search(user_agent) is not None) and (
            self.path is None or self.path.search(path) is not None
        )

    def fits_body(self, body: Any) -> bool:
        """Whether a request's body fits."""
        return all(condition.holds(body) for condition in self.body)

    def may_hold(self, target: Target) -> bool:
        """Whether a list or watch can hold objects whose names fit: one of all namespaces can."""
        return (not target.namespace or self.namespace is None or self.namespace.hold(target.namespace)) and (
            not target.name or self.name is None or self.name.hold(target.name)
        )

    @property
    def asks_of_object(self) -> bool:
        """Whether an object must be read to know whether it fits."""
        return bool(self.namespace or self.name or self.object)

    def fits_object(self, obj: Any, kind: str = "") -> bool:
        """Whether an object fits; `kind`: of which type its event is, empty in a list."""
        if self.events and kind and kind not in self.events:
            return False
        metadata = obj.get("metadata") or {} if isinstance(obj, dict) else {}
        if not self._fits(str(metadata.get("namespace") or ""), str(metadata.get("name") or "")):
            return False
        return all(condition.holds(obj) for condition in self.object)

    def _fits(self, namespace: str, name: str) -> bool:
        return (self.namespace is None or self.namespace.hold(namespace)) and (
            self.name is None or self.name.hold(name)
        )


def _names(part: Part) -> dict[str, Part]:
    """A text, or a list of texts, each with where it stands. Raises CannotStart."""
    parts: Sequence[Part] = part.items() if part.is_list else [part]
    if not parts:
        raise part.wrong(f"{part.name} is empty.", next_step="Write something there, or remove it.")
    return {one.text(): one for one in parts}
