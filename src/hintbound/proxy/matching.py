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
_KEYS: Final = ("verb", "resource", "namespace", "name", "userAgent", "path", "body", "object", "event")


@dataclass(frozen=True, slots=True)
class Match:
    """Everything that is given must fit; what is empty or None asks nothing."""

    verbs: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    """`pods`, `pods/status`, `pods/*` (any subresource), `*`."""
    namespace: re.Pattern[str] | None = None
    name: re.Pattern[str] | None = None
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
            namespace=glob(found["namespace"]) if "namespace" in found else None,
            name=glob(found["name"]) if "name" in found else None,
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

    def fits_request(self, target: Target, path: str, user_agent: str) -> bool:
        """Whether a request fits, its body aside."""
        if self.user_agent and not self.user_agent.search(user_agent):
            return False
        if self.path and not self.path.search(path):
            return False
        return self._fits(target.namespace, target.name)

    def fits_body(self, body: Any) -> bool:
        """Whether a request's body fits."""
        return all(condition.holds(body) for condition in self.body)

    def fits_stream(self, target: Target, path: str, user_agent: str) -> bool:
        """Whether a list or watch can hold objects that fit: one of all namespaces can."""
        if self.user_agent and not self.user_agent.search(user_agent):
            return False
        if self.path and not self.path.search(path):
            return False
        return (
            not target.namespace or not self.namespace or bool(self.namespace.match(target.namespace))
        ) and (not target.name or not self.name or bool(self.name.match(target.name)))

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
        return (self.namespace is None or bool(self.namespace.match(namespace))) and (
            self.name is None or bool(self.name.match(name))
        )


def glob(part: Part) -> re.Pattern[str]:
    """Read a name, or a list of names, that may hold `*`, `?` and `[...]`. Raises CannotStart."""
    return re.compile("|".join(translate(name) for name in _names(part)))


def _names(part: Part) -> dict[str, Part]:
    """A text, or a list of texts, each with where it stands. Raises CannotStart."""
    parts: Sequence[Part] = part.items() if part.is_list else [part]
    if not parts:
        raise part.wrong(f"{part.name} is empty.", next_step="Write something there, or remove it.")
    return {one.text(): one for one in parts}
