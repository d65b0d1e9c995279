"""Effects upon objects as they are read: in lists, alone, and in the events of watches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from hintbound.data.documents import Part
from hintbound.proxy.act import Act
from hintbound.proxy.bodies import Edit, edited, edits
from hintbound.proxy.effects.effect import READS, ObjectEffect, effect
from hintbound.proxy.watched import Event, Stream


@effect("editObjects")
@dataclass(frozen=True, slots=True)
class EditObjects(ObjectEffect):
    """Changes objects wherever they are read: the events of watches, a WatchList's first ones too, lists, and
    objects asked for by name."""

    verbs: ClassVar[frozenset[str]] = READS
    needs_object: ClassVar[bool] = True
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        return cls(edits(part))

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        obj = event.object
        if not edited(obj, self.edits):
            return (event,)
        act.hit(f"changed in an event {event.type}")
        return (Event.of(event.type, obj),)

    def listed(self, act: Act, obj: Any) -> Any:
        """See OnObjects."""
        if edited(obj, self.edits):
            act.hit("changed in an answer")
        return obj


@effect("hideObjects")
@dataclass(frozen=True, slots=True)
class HideObjects(ObjectEffect):
    """Leaves objects out of lists and their events out of watches, as if they were not there."""

    verbs: ClassVar[frozenset[str]] = frozenset({"list", "watch"})
    needs_object: ClassVar[bool] = True

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        act.hit(f"an event {event.type} was hidden")
        return ()

    def listed(self, act: Act, obj: Any) -> Any:
        """See OnObjects."""
        act.hit("hidden in a list")
        return None
