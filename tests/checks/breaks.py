"""Records that break a sentence: what each check must find."""

from __future__ import annotations

from collections.abc import Callable

from tests.checks.record import Record

Break = Callable[[Record], None]
BREAKS: dict[str, list[Break]] = {}


def breaks(name: str) -> Callable[[Break], Break]:
    """This does to a record, in which the pod ns/p was created, what a check must find once."""

    def put(function: Break) -> Break:
        BREAKS.setdefault(name, []).append(function)
        return function

    return put
