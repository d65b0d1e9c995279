"""Quantities of resources, as the API writes them: `250m`, `1.5`, `16Gi`, `1e3`."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache
from typing import Final

_SUFFIXES: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3}(?![a-zA-Z]))?)(?P<suffix>[numkMGTPE]|[KMGTPE]i|)"
)


@lru_cache(maxsize=4096)
def amount(quantity: str) -> Decimal:
    """The exact value of a quantity, in whole units: cores, bytes, pieces. Raises ValueError for what is
    none."""
    found = _QUANTITY.fullmatch(quantity)
    if found is None:
        raise ValueError(f"{quantity!r} is no quantity")
    return Decimal(found["number"]) * _SUFFIXES[found["suffix"]]


def milli(quantity: str) -> int:
    """A quantity in thousandths, rounded up as the scheduler counts cpu. Raises ValueError."""
    return math.ceil(amount(quantity) * 1000)


def units(quantity: str) -> int:
    """A quantity in whole units, rounded up as the scheduler counts all but cpu. Raises ValueError."""
    return math.ceil(amount(quantity))
