"""What Acme's customers saw go wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hintbound.clusters import Component
from hintbound.plugin import Arena


class Stall:
    """A component that stands still; `over` lets it go on before the scenario ends."""

    def __init__(self, component: Component) -> None:
        self._component = component

    def over(self) -> None:
        """It goes on. May be called twice."""
        self._component.resume()


@asynccontextmanager
async def stall(_arena: Arena, *, component: Component) -> AsyncIterator[Stall]:
    """SIGSTOP for a component of the scenario's own, as on a node that is out of memory."""
    component.pause()
    standing = Stall(component)
    try:
        yield standing
    finally:
        standing.over()
