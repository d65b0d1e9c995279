"""Faults of installed packages: entered by a scenario by name, undone at its end in reverse order."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any

from hintbound.extensions import Extension, Group, named
from hintbound.history.events import Kind
from hintbound.plugin.loose_ends import aside
from hintbound.protocol import Seconds

if TYPE_CHECKING:
    from hintbound.plugin.arena import Arena

UNDONE_WITHIN: Seconds = 5.0
"""How long the undoing of one fault may take, so that all others have their turn."""

Factory = Callable[..., AbstractAsyncContextManager[Any]]
"""What an entry point of `hintbound.faults` stands for: called with the arena and what the test names. What
it gives is entered in the scenario's task and left in another: it must not hold a TaskGroup or a timeout
open."""


class Faults:
    """Those of one scenario."""

    def __init__(self, record: Callable[[Kind, Mapping[str, Any]], None]) -> None:
        """`record` takes down that one began or ended."""
        self._record = record
        self._entered: list[tuple[str, AsyncExitStack]] = []

    async def begin(self, arena: Arena, name: str, parameters: Mapping[str, Any]) -> Any:
        """Enter one; gives what it gives. Raises CannotStart for one that is none, and what it raises."""
        extension = named(Group.FAULTS, name)
        manager = load(extension)(arena, **parameters)
        if not isinstance(manager, AbstractAsyncContextManager):
            raise extension.wrong(f"gives {type(manager).__name__}, no async context manager.")
        stack = AsyncExitStack()
        plain = {key: _plain(value) for key, value in parameters.items()}
        self._record(Kind.FAULT_BEGAN, {"fault": name, "parameters": plain, "of": extension.distribution})
        try:
            with aside():
                value = await stack.enter_async_context(manager)
        except BaseException as error:
            self._record(Kind.FAULT_ENDED, {"fault": name, "error": f"it could not begin: {error!r}"})
            raise
        self._entered.append((name, stack))
        return value

    def undoing(self) -> list[Callable[[], Awaitable[None]]]:
        """The steps that undo them, the last one entered first."""
        return [functools.partial(self._end, name, stack) for name, stack in reversed(self._entered)]

    async def _end(self, name: str, stack: AsyncExitStack) -> None:
        """Undo one. Raises RuntimeError, which names it, for whatever its undoing raises."""
        failure = "its undoing was broken off"
        limit = asyncio.timeout(UNDONE_WITHIN)
        try:
            async with limit:
                await stack.aclose()
            failure = ""
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise
        except BaseException as error:  # a SystemExit would end the loop
            failure = f"undoing it took longer than {UNDONE_WITHIN:g} s" if limit.expired() else repr(error)
            raise RuntimeError(f"fault {name}: {failure}") from error
        finally:
            self._record(Kind.FAULT_ENDED, {"fault": name} | ({"error": failure} if failure else {}))


def load(extension: Extension) -> Factory:
    """The factory that an entry point stands for. Raises CannotStart."""
    return extension.load_callable("an arena")


def _plain(value: object) -> object:
    """A parameter as the record can hold it; a component by its name."""
    return value if isinstance(value, str | int | float | bool | None) else str(getattr(value, "name", value))
