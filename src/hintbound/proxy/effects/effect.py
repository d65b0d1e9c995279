"""What an effect is, and the list of all: a new one is one class with `@effect`, in a file of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar

from hintbound.data.documents import Part
from hintbound.proxy.act import Act
from hintbound.proxy.matching import Match
from hintbound.proxy.messages import Answer, Proceed, Request
from hintbound.proxy.watched import Event, Stream

READS: Final = frozenset({"get", "list", "watch"})
WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
ANY: Final = READS | WRITES


class Effect(Protocol):
    """What a rule does. Its instances hold only what the file says: what happened is the Act's to keep."""

    key: ClassVar[str]
    """As rule files call it."""
    verbs: ClassVar[frozenset[str]]
    """What it can act upon."""

    @classmethod
    def of(cls, part: Part) -> Self:
        """Read what stands behind the key. Raises CannotStart."""


class OnRequest(Effect, Protocol):
    """Acts upon a request, its answer, or both."""

    needs_body: ClassVar[bool]
    """Whether it must have a request's body whole."""
    needs_answer: ClassVar[bool]
    """Whether it reads an answer's body: then the apiserver is not asked to compress it."""
    ends: ClassVar[bool]
    """Whether what comes after it in a rule is never reached."""

    @property
    def also(self) -> Match | None:
        """Earlier requests that it must see, too; None for none."""

    def remember(self, act: Act, request: Request) -> None:
        """See a request of those."""

    async def apply(self, act: Act, request: Request, proceed: Proceed) -> Answer:
        """Do it; `proceed` is the way to the apiserver. Raises Unreadable, Reset, Lost."""


class OnObjects(Effect, Protocol):
    """Acts upon each object that is read: in a watch's events, in lists, alone."""

    needs_object: ClassVar[bool]
    """Whether it must read the object that it acts upon."""
    bookmarks: ClassVar[bool]
    """Whether it acts upon bookmarks and errors, too, where the rule names no types of events."""

    @property
    def upon_events(self) -> bool:
        """Whether it acts upon single events."""

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """What is delivered in place of an event that fits. Raises Unreadable, Reset."""

    async def opened(self, act: Act, stream: Stream) -> None:
        """A watch was opened, or the rule was added while it was open."""

    def asked(self, act: Act, request: Request) -> Request:
        """The request for a list, or for an object, changed where need be."""

    def listed(self, act: Act, obj: Any) -> Any:
        """What stands in place of an object in a list, or of one that was asked for; None to leave it out."""


class _Plain:
    """What takes no options."""

    @classmethod
    def of(cls, part: Part) -> Self:
        """See Effect."""
        part.fields()
        return cls()


class RequestEffect(_Plain):
    """The defaults of OnRequest."""

    key: ClassVar[str]
    verbs: ClassVar[frozenset[str]] = ANY
    needs_body: ClassVar[bool] = False
    needs_answer: ClassVar[bool] = False
    ends: ClassVar[bool] = False

    @property
    def also(self) -> Match | None:
        """See OnRequest."""
        return None

    def remember(self, act: Act, request: Request) -> None:
        """See OnRequest."""


class ObjectEffect(_Plain):
    """The defaults of OnObjects."""

    key: ClassVar[str]
    verbs: ClassVar[frozenset[str]] = frozenset({"watch"})
    needs_object: ClassVar[bool] = False
    bookmarks: ClassVar[bool] = False

    @property
    def upon_events(self) -> bool:
        """See OnObjects."""
        return True

    async def event(self, act: Act, stream: Stream, event: Event) -> Sequence[Event]:
        """See OnObjects."""
        return (event,)

    async def opened(self, act: Act, stream: Stream) -> None:
        """See OnObjects."""

    def asked(self, act: Act, request: Request) -> Request:
        """See OnObjects."""
        return request

    def listed(self, act: Act, obj: Any) -> Any:
        """See OnObjects."""
        return obj


EFFECTS: Final[dict[str, type[Any]]] = {}
"""By key."""
_E = TypeVar("_E")


def effect(key: str) -> Callable[[type[_E]], type[_E]]:
    """Make a class known as the effect of this key."""

    def known(cls: type[_E]) -> type[_E]:
        cls.key = key  # type: ignore[attr-defined]
        EFFECTS[key] = cls
        return cls

    return known
