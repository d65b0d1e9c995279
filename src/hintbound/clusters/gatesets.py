"""Sets of feature gates by name, for `--cluster embedded:1.35,@clearing-only` and for the matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hintbound.protocol import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    NOMINATED_NODE_NAME_FOR_EXPECTATION,
)

_ASYNC_API_CALLS: Final = "SchedulerAsyncAPICalls"
_POD_GROUPS: Final = "GenericWorkload"
_ASYNC_PREEMPTION: Final = "SchedulerAsyncPreemption"


@dataclass(frozen=True, slots=True)
class GateSet:
    """Gates that are set together, and the first minor that knows all of them."""

    gates: Mapping[str, bool]
    since: int = 34
    """N of the minor 1.N; an older component would refuse to start, or (pod-groups) offer another API."""


def _nnn(*, expectation: bool, clearing: bool) -> GateSet:
    return GateSet(
        {
            NOMINATED_NODE_NAME_FOR_EXPECTATION: expectation,
            CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING: clearing,
        }
    )


GATE_SETS: Final[Mapping[str, GateSet]] = {
    "default": GateSet({}, since=33),
    "nnn-on": _nnn(expectation=True, clearing=True),
    "nnn-off": _nnn(expectation=False, clearing=False),
    "expectation-only": _nnn(expectation=True, clearing=False),
    "clearing-only": _nnn(expectation=False, clearing=True),
    "async-api-on": GateSet({_ASYNC_API_CALLS: True}),
    "async-api-off": GateSet({_ASYNC_API_CALLS: False}),
    "async-preemption-off": GateSet({_ASYNC_PREEMPTION: False}, since=33),
    "pod-groups": GateSet({_POD_GROUPS: True}, since=37),
}
"""By the name that is written after `@`."""
